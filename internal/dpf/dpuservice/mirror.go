package dpuservice

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/patch"
)

const (
	// PullSecretLabel is on pull secrets of the host cluster that DPU clusters get, too, in a namespace of the same name: those of the
	// operator's namespace, and of namespaces with a DPUService for DPU clusters.
	PullSecretLabel = "dpu.nvidia.com/image-pull-secret" //nolint:gosec // the name of a label
	// mirroredLabel is on the copies.
	mirroredLabel, mirrored = "svc.dpu.nvidia.com/mirrored", "true"
	// mirrorInterval is how often the copies of a cluster are looked at: nothing tells of their changes.
	mirrorInterval = 10 * time.Minute
)

// Copies selects the copies in a DPU cluster.
var Copies = client.MatchingLabels{mirroredLabel: mirrored}

// IsCopy says whether a Secret in a DPU cluster is a copy.
func IsCopy(o client.Object) bool { return o.GetLabels()[mirroredLabel] == mirrored }

// mirror copies pull secrets into DPU clusters: its requests are these. What is missing, differs, or is an orphan is found by comparing, so
// that nothing is missed while a cluster or the manager is away.
type mirror struct {
	client.Client
	cached, live client.Reader
	events       events.EventRecorder
	Config
}

func (m *mirror) setup(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("dpuservice-pull-secrets").
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(m.affected)).
		Watches(&svcv1.DPUService{}, handler.EnqueueRequestsFromMapFunc(m.all), builder.WithPredicates(comesAndGoes)).
		WatchesRawSource(m.Clusters.Source(func(_ context.Context, e dpucluster.Event) []ctrl.Request {
			if e.Object != nil {
				return nil
			}
			return []ctrl.Request{{NamespacedName: e.Cluster}}
		})).WithOptions(options).Complete(patch.ExpectConflicts(m))
	if err != nil {
		return fmt.Errorf("set up the controller of pull secrets: %w", err)
	}
	return nil
}

// comesAndGoes: where a DPUService is deployed can't be changed.
var comesAndGoes = predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}

// affected are all clusters where a Secret has the label. Of a change the old and the new Secret are asked for.
func (m *mirror) affected(ctx context.Context, secret client.Object) []ctrl.Request {
	if _, is := secret.GetLabels()[PullSecretLabel]; !is {
		return nil
	}
	return m.all(ctx, secret)
}

func (m *mirror) all(ctx context.Context, _ client.Object) (requests []ctrl.Request) {
	clusters, err := m.Clusters.All(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the DPU clusters for their pull secrets")
	}
	for _, c := range clusters {
		requests = append(requests, ctrl.Request{NamespacedName: c.Name})
	}
	return requests
}

// Reconcile the copies in one cluster.
func (m *mirror) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	clusters, err := m.Clusters.All(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	for _, c := range clusters {
		if c.Name != req.NamespacedName || c.Client == nil {
			continue // when it answers again, there is an event
		}
		if err := m.compare(ctx, c); err != nil {
			return ctrl.Result{}, fmt.Errorf("copy pull secrets into DPU cluster %s: %w", c.Name, err)
		}
		return ctrl.Result{RequeueAfter: wait.Jitter(mirrorInterval, 0.1)}, nil
	}
	return ctrl.Result{}, nil
}

func (m *mirror) compare(ctx context.Context, c dpucluster.Cluster) error {
	originals, err := m.originals(ctx)
	if err != nil {
		return err
	}
	var copies corev1.SecretList
	if err := c.Client.List(ctx, &copies, Copies); err != nil {
		return fmt.Errorf("list the copies: %w", err)
	}
	if len(copies.Items) > 0 { // they may be of an installation that had another record
		if err := NoteCopies(ctx, m.Client, m.live, m.Namespace, c.Name); err != nil {
			return err
		}
	}
	var problems []error
	orphans := map[types.NamespacedName]*corev1.Secret{}
	for i := range copies.Items {
		orphans[client.ObjectKeyFromObject(&copies.Items[i])] = &copies.Items[i]
	}
	for _, key := range originals {
		original := &corev1.Secret{}
		err := m.live.Get(ctx, key, original)
		if apierrors.IsNotFound(err) || err == nil && !isPullSecret(original) {
			continue
		}
		if err == nil {
			err = m.put(ctx, c, original, orphans[key])
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", key, err))
		}
		delete(orphans, key)
	}
	for _, orphan := range orphans {
		problems = append(problems, removeCopy(ctx, c.Client, orphan))
	}
	return joined(problems)
}

// originals are the Secrets with the label, of namespaces that have something in DPU clusters. Those of the operator's namespace have it
// from the operator.
func (m *mirror) originals(ctx context.Context) (keys []types.NamespacedName, _ error) {
	var services svcv1.DPUServiceList
	if err := m.cached.List(ctx, &services); err != nil {
		return nil, fmt.Errorf("list the DPUServices: %w", err)
	}
	deployed := map[string]bool{m.Namespace: true}
	for i := range services.Items {
		if s := &services.Items[i]; !s.Spec.DeployInCluster {
			deployed[s.Namespace] = true
		}
	}
	var labelled metav1.PartialObjectMetadataList
	labelled.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := m.cached.List(ctx, &labelled, client.HasLabels{PullSecretLabel}); err != nil {
		return nil, fmt.Errorf("list the pull secrets: %w", err)
	}
	for i := range labelled.Items {
		if key := client.ObjectKeyFromObject(&labelled.Items[i]); deployed[key.Namespace] {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// isPullSecret as it is now: another Secret isn't copied, whatever its labels are.
func isPullSecret(s *corev1.Secret) bool {
	_, labelled := s.Labels[PullSecretLabel]
	return labelled && s.DeletionTimestamp == nil && s.Type == corev1.SecretTypeDockerConfigJson
}

func removeCopy(ctx context.Context, c client.Client, s *corev1.Secret) error {
	err := c.Delete(ctx, s, client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}) // it may be a user's by now
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the copy %s: %w", client.ObjectKeyFromObject(s), err)
	}
	return nil
}

// RemovePullSecrets deletes all copies from a DPU cluster, at the end of an installation. This package's controllers must be gone before.
func RemovePullSecrets(ctx context.Context, c client.Client) error {
	var copies corev1.SecretList
	if err := c.List(ctx, &copies, Copies); err != nil {
		return fmt.Errorf("list the copies: %w", err)
	}
	var problems []error
	for i := range copies.Items {
		problems = append(problems, removeCopy(ctx, c, &copies.Items[i]))
	}
	return joined(problems)
}

// put a copy, as the original is now.
func (m *mirror) put(ctx context.Context, c dpucluster.Cluster, original, now *corev1.Secret) error {
	if now != nil && now.Type != original.Type { // it can't be changed
		if err := removeCopy(ctx, c.Client, now); err != nil {
			return err
		}
		now = nil
	}
	if now != nil {
		if equality.Semantic.DeepEqual(now.Data, original.Data) {
			return nil
		}
		now.Data = original.Data
		if err := c.Client.Update(ctx, now); err != nil {
			return fmt.Errorf("change the copy: %w", err)
		}
		return nil
	}
	if err := NoteCopies(ctx, m.Client, m.live, m.Namespace, c.Name); err != nil {
		return err
	}
	if err := dpucluster.EnsureNamespace(ctx, c.Client, original.Namespace); err != nil {
		return err
	}
	err := c.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: original.Namespace, Name: original.Name, Labels: map[string]string{mirroredLabel: mirrored, PullSecretLabel: ""},
		},
		Type: original.Type, Data: original.Data,
	})
	if apierrors.IsAlreadyExists(err) { // it isn't ours
		m.events.Eventf(original, nil, corev1.EventTypeWarning, "NotMirrored", "Mirror",
			"DPU cluster %s has a Secret of this name that isn't a copy: rename one of them", c.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("create the copy: %w", err)
	}
	return nil
}
