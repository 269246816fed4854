package dpucluster

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/apiserver"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=kamaji.clastix.io,resources=tenantcontrolplanes,verbs=get
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// recheck is after how many intervals it is asked whether a cluster is still allowed.
const recheck = 6

// Setup registers the controller of the clusters' connections.
func Setup(mgr ctrl.Manager, config Config, options controller.Options) (*Clusters, error) {
	if config.ProbeInterval == 0 {
		config.ProbeInterval = DefaultProbeInterval
	}
	c := &Clusters{config: config, metadata: mgr.GetCache(), live: mgr.GetAPIReader(), members: map[types.NamespacedName]*member{}}
	kamajis := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return labels.SelectorFromSet(labels.Set(kubeconfigs)).Matches(labels.Set(o.GetLabels()))
	})
	// Events of old and new matter: a Secret that loses its labels is no kubeconfig any more, and the predicate would hide that.
	lost := predicate.Or(kamajis,
		predicate.NewPredicateFuncs(func(o client.Object) bool { return c.member(client.ObjectKeyFromObject(o)) != nil }))
	err := ctrl.NewControllerManagedBy(mgr).Named("dpu-cluster").
		For(&corev1.Secret{}, builder.OnlyMetadata, builder.WithPredicates(lost)).WithOptions(options).Complete(c)
	if err != nil {
		return nil, fmt.Errorf("set up the controller of DPU clusters: %w", err)
	}
	return c, mgr.Add(c)
}

func (c *Clusters) member(secret types.NamespacedName) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[secret]
}

// Start implements manager.Runnable: it ends all connections at shutdown.
func (c *Clusters) Start(ctx context.Context) error {
	<-ctx.Done()
	c.mu.Lock()
	for _, m := range c.members {
		m.end()
	}
	c.members = nil
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

// Reconcile connects to the cluster of a Secret, with another kubeconfig again, and disconnects when the Secret is gone.
func (c *Clusters) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	err := c.live.Get(ctx, req.NamespacedName, secret)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read the kubeconfig of a DPU cluster: %w", err) // what is known stays
	}
	is := labels.SelectorFromSet(labels.Set(kubeconfigs)).Matches(labels.Set(secret.Labels))
	if apierrors.IsNotFound(err) || !is || secret.DeletionTimestamp != nil || secret.Labels[NameLabel] == "" {
		c.replace(ctx, req.NamespacedName, nil)
		return ctrl.Result{}, nil
	}
	refusal, err := c.refusal(ctx, secret)
	if err != nil {
		return ctrl.Result{}, err // likewise
	}
	now := c.member(req.NamespacedName)
	if refusal != nil { // nothing tells when its owner comes, or the label of its namespace
		if now == nil || !now.refused || now.err.Error() != refusal.Error() {
			refused := newMember(c, nameOf(secret), nil, nil, refusal)
			refused.refused = true
			c.replace(ctx, req.NamespacedName, refused)
		}
		return ctrl.Result{RequeueAfter: c.config.ProbeInterval}, nil
	}
	again := ctrl.Result{RequeueAfter: recheck * c.config.ProbeInterval} // nothing tells when the label goes, either
	data := secret.Data[KubeconfigKey]
	if now != nil && !now.refused && bytes.Equal(now.kubeconfig, data) && now.name == nameOf(secret) {
		if now.version != secret.ResourceVersion {
			now.version = secret.ResourceVersion
			c.notify(Event{Cluster: now.name}) // its labels may have changed
		}
		return again, nil
	}
	access, err := read(data)
	next := newMember(c, nameOf(secret), data, access, err)
	next.version = secret.ResourceVersion
	c.replace(ctx, req.NamespacedName, next)
	return again, nil
}

// refusal says why a Secret isn't Kamaji's. Labels prove nothing: who may create Secrets could name a cluster of their own by them, and would
// get pull secrets and the values of charts. What Kamaji writes is named after the TenantControlPlane, so that there can be one only, and
// has it as controller.
func (c *Clusters) refusal(ctx context.Context, secret *corev1.Secret) (refusal, _ error) {
	name, owner := nameOf(secret), metav1.GetControllerOf(secret)
	foreign := fmt.Errorf("its Secret %s has Kamaji's labels, but isn't the one that TenantControlPlane %s controls: delete it",
		secret.Name, name)
	kind := tenantControlPlane
	if owner == nil || owner.APIVersion != kind.GroupVersion().String() || owner.Kind != kind.Kind || owner.Name != name.Name ||
		secret.Name != SecretName(name.Name) {
		return foreign, nil
	}
	tenant := &metav1.PartialObjectMetadata{}
	tenant.SetGroupVersionKind(kind)
	err := c.live.Get(ctx, name, tenant)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || err == nil && tenant.UID != owner.UID {
		return foreign, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the owner of a kubeconfig: %w", err)
	}
	return c.notAllowed(ctx, name.Namespace)
}

// notAllowed says what is missing of a namespace: by a TenantControlPlane of their own users would get the pull secrets, and the services.
func (c *Clusters) notAllowed(ctx context.Context, name string) (refusal, _ error) {
	if name == operatorv1.Namespace {
		return nil, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := c.live.Get(ctx, client.ObjectKey{Name: name}, namespace); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the namespace of a kubeconfig: %w", err)
	}
	if namespace.Labels[AllowedLabel] == allowed {
		return nil, nil
	}
	return fmt.Errorf("%w: kubectl label namespace %s %s=%s", ErrNotAllowed, name, AllowedLabel, allowed), nil
}

func read(data []byte) (*rest.Config, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("its Secret has no key %q with a kubeconfig", KubeconfigKey)
	}
	access, err := apiserver.Config(data)
	if err != nil {
		return nil, fmt.Errorf("its kubeconfig can't be used: %w", err)
	}
	return access, nil
}

// replace what is connected for a Secret; nil is nothing.
func (c *Clusters) replace(ctx context.Context, secret types.NamespacedName, next *member) {
	c.mu.Lock()
	before := c.members[secret]
	if c.members == nil { // shutdown
		c.mu.Unlock()
		return
	}
	delete(c.members, secret)
	if next != nil {
		c.members[secret] = next
		// The connection lives longer than this reconcile.
		lifetime, end := context.WithCancel(context.WithoutCancel(ctx))
		next.end = end
		if next.access != nil {
			c.running.Go(func() { next.run(lifetime) })
		}
	}
	c.mu.Unlock()
	if before != nil {
		before.end()
		c.notify(Event{Cluster: before.name})
	}
	if next != nil {
		c.notify(Event{Cluster: next.name})
	}
}
