package dpuservice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/patch"
)

// prerequisites keeps what all Applications share: Argo CD's Secrets of DPU clusters, and its projects. They exist while there is a
// DPUService or an Application of one.
type prerequisites struct {
	client.Client
	cached, live client.Reader
	Config
}

// theOne is what this controller reconciles.
var theOne = []ctrl.Request{{NamespacedName: types.NamespacedName{Name: "argo-cd"}}}

func (p *prerequisites) setup(mgr ctrl.Manager, options controller.Options) error {
	always := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request { return theOne })
	options.MaxConcurrentReconciles = 1
	err := ctrl.NewControllerManagedBy(mgr).Named("dpuservice-prerequisites").
		Watches(&svcv1.DPUService{}, always).
		Watches(empty(ApplicationKind), always).
		Watches(empty(ProjectKind), always, builder.WithPredicates(isManaged)).
		WatchesMetadata(&corev1.Secret{}, always, builder.WithPredicates(isManaged)).
		WatchesRawSource(p.Clusters.Source(func(_ context.Context, e dpucluster.Event) []ctrl.Request {
			if e.Object != nil {
				return nil
			}
			return theOne
		})).WithOptions(options).Complete(patch.ExpectConflicts(p))
	if err != nil {
		return fmt.Errorf("set up the controller of Argo CD's clusters: %w", err)
	}
	return nil
}

// Reconcile all Secrets and projects.
func (p *prerequisites) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	clusters, err := p.Clusters.All(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	used, namespaces, err := p.used(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	var services svcv1.DPUServiceList
	if err := p.List(ctx, &services); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the DPUServices: %w", err)
	}
	for i := range services.Items {
		namespaces[services.Items[i].Namespace] = true
	}
	if len(namespaces) > 0 {
		namespaces[p.Namespace] = true // an earlier release has put all Applications into its projects
	}
	wanted := used
	if len(services.Items) > 0 {
		for _, c := range clusters {
			if !slices.Contains(wanted, c.Name) {
				wanted = append(wanted, c.Name)
			}
		}
	}
	slices.SortFunc(wanted, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	var problems []error
	for _, c := range clusters {
		if c.Access != nil && slices.Contains(wanted, c.Name) {
			problems = append(problems, p.secret(ctx, c))
		}
	}
	problems = append(problems, p.removeSecrets(ctx, wanted))
	keep := map[string]bool{}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		for _, project := range p.projects(namespace, wanted) {
			keep[project.GetName()] = true
			problems = append(problems, p.project(ctx, project))
		}
	}
	return ctrl.Result{}, joined(append(problems, p.removeProjects(ctx, keep)))
}

// joined errors. Where all are conflicts it is one.
func joined(problems []error) error {
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	if conflictsOnly(problems) {
		return problems[0]
	}
	return errors.Join(problems...)
}

// used are the DPU clusters in which Applications have something, and the namespaces of their DPUServices. For a deletion they are needed,
// too.
func (p *prerequisites) used(ctx context.Context) (clusters []types.NamespacedName, namespaces map[string]bool, _ error) {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(ApplicationKind.GroupVersion().WithKind("ApplicationList"))
	if err := p.cached.List(ctx, all, client.InNamespace(p.Namespace), client.HasLabels{uidLabel}); err != nil {
		return nil, nil, fmt.Errorf("list the Applications of DPUServices: %w", err)
	}
	namespaces = map[string]bool{}
	for i := range all.Items {
		if cluster, ok := applicationCluster(&all.Items[i]); ok && !slices.Contains(clusters, cluster) {
			clusters = append(clusters, cluster)
		}
		if namespace, _, ok := strings.Cut(all.Items[i].GetAnnotations()[serviceAnnotation], "/"); ok {
			namespaces[namespace] = true
		}
	}
	return clusters, namespaces, nil
}

// secret of a cluster, as its kubeconfig is now.
func (p *prerequisites) secret(ctx context.Context, c dpucluster.Cluster) error {
	want, err := clusterSecret(p.Namespace, c.Name, c.Access)
	if err != nil {
		return err
	}
	now := &corev1.Secret{}
	err = p.live.Get(ctx, client.ObjectKeyFromObject(want), now)
	switch {
	case apierrors.IsNotFound(err):
		err = p.Create(ctx, want)
	case err != nil:
	case now.Labels[managedLabel] != managed:
		return fmt.Errorf("Secret %s isn't ours: rename or delete it", client.ObjectKeyFromObject(want)) //nolint:staticcheck // a kind
	case equality.Semantic.DeepEqual(now.Data, want.Data) && now.Labels[SecretTypeLabel] == secretTypeCluster:
		return nil
	default:
		now.Data = want.Data
		now.Labels = with(now.Labels, SecretTypeLabel, secretTypeCluster)
		err = p.Update(ctx, now)
	}
	if err != nil {
		return fmt.Errorf("write Argo CD's Secret of DPU cluster %s: %w", c.Name, err)
	}
	return nil
}

// removeSecrets of clusters that nothing is deployed in any more.
func (p *prerequisites) removeSecrets(ctx context.Context, wanted []types.NamespacedName) error {
	keep := map[string]bool{}
	for _, cluster := range wanted {
		keep[clusterSecretName(cluster)] = true
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	ours := client.MatchingLabels{managedLabel: managed, SecretTypeLabel: secretTypeCluster}
	err := p.cached.List(ctx, secrets, client.InNamespace(p.Namespace), ours)
	if err != nil {
		return fmt.Errorf("list Argo CD's Secrets: %w", err)
	}
	var problems []error
	for i := range secrets.Items {
		if s := &secrets.Items[i]; !keep[s.Name] {
			as := client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}
			problems = append(problems, client.IgnoreNotFound(p.Delete(ctx, s, as)))
		}
	}
	return joined(problems)
}
