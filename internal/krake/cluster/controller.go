// Package cluster reconciles Cluster: one infrastructure that an infrastructure manager makes of a TOSCA template in the cloud that the
// Cluster is bound to. The steps of a reconcile are those of Krake's infrastructure controller; none of them holds a worker.
package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
)

// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clusters/status,verbs=patch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clouds;globalclouds;infrastructureproviders;globalinfrastructureproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=ledgers,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list

// Config of the controller.
type Config struct {
	// GlobalNamespace has the Secrets of Global kinds (--global-namespace).
	GlobalNamespace string
	// Imports are what templates may import (--tosca-imports).
	Imports tosca.Imports
	// CreateDeadline is how long an infrastructure may be in progress until it is reconfigured (--create-deadline).
	CreateDeadline time.Duration
	// Keep what a Cluster is made on and with, before anything is made of it: the finalizers of cloud, provider and Secrets. Optional.
	Keep func(context.Context, *Place) error
}

// Reconciler makes, changes and deletes the infrastructure of a Cluster.
type Reconciler struct {
	client.Client
	Engine  *graph.Engine
	Clients *Clients
	Config
}

// Reconcile brings one Cluster a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := &krakev1.Cluster{}
	if err := r.Get(ctx, req.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var on *Place
	return r.lifecycle().Reconcile(ctx, object, lifecycle.Steps[Manager]{
		Stop: func(ctx context.Context) (bool, ctrl.Result, error) { return r.stop(ctx, object) },
		Login: func(ctx context.Context) (_ *lifecycle.Login[Manager], err error) {
			if on, err = r.place(ctx, object); err != nil {
				return nil, err
			}
			return r.login(ctx, on)
		},
		Open: func(ctx context.Context, login *lifecycle.Login[Manager]) (lifecycle.Graph, error) {
			return r.open(ctx, login.API, on, object)
		},
		Show: func() { show(object) },
	})
}

func (r *Reconciler) lifecycle() *lifecycle.Lifecycle[Manager] {
	return &lifecycle.Lifecycle[Manager]{
		Client: r.Client, Logins: lifecycle.Logins[Manager]{Engine: r.Engine}, Finalizer: krakev1.ClusterFinalizer,
		LoginCondition: krakev1.InfrastructureReadyCondition, GraphCondition: krakev1.InfrastructureReadyCondition,
		DeletionCondition: krakev1.InfrastructureReadyCondition,
	}
}

// stop says which Clusters are left alone: those that are paused, registered by a kubeconfig, not bound yet, or abandoned.
func (r *Reconciler) stop(ctx context.Context, object *krakev1.Cluster) (bool, ctrl.Result, error) {
	deleted := !object.DeletionTimestamp.IsZero()
	switch {
	case object.Spec.Paused:
		r.Engine.Leave(object)
		result, err := r.Engine.LetMove(ctx, object)
		return true, result, err
	case deleted && object.Annotations[krakev1.AbandonAnnotation] == "true":
		return true, ctrl.Result{}, r.abandon(ctx, object)
	}
	return !deleted && (object.Spec.TOSCA == "" || object.Status.ScheduledTo == nil), ctrl.Result{}, nil
}

// place where the infrastructure is or, before there is one, is to be.
func (r *Reconciler) place(ctx context.Context, object *krakev1.Cluster) (*Place, error) {
	cloud, err := madeOn(ctx, r.Client, r.Scheme(), object)
	if err != nil {
		return nil, err
	}
	if cloud == nil {
		cloud = object.Status.ScheduledTo
	}
	if cloud == nil {
		return nil, fault.Invalidf("the Cluster isn't bound to a cloud")
	}
	return r.places().Of(ctx, object.Namespace, *cloud)
}

func (r *Reconciler) places() Places { return Places{r.Client, r.GlobalNamespace} }

func (r *Reconciler) login(ctx context.Context, on *Place) (*lifecycle.Login[Manager], error) {
	api, err := r.Clients.Of(ctx, on)
	if err != nil {
		return nil, err
	}
	return &lifecycle.Login[Manager]{API: api, Secret: on.Login, Keep: func(ctx context.Context) error {
		if r.Keep == nil {
			return nil
		}
		return r.Keep(ctx, on)
	}}, nil
}

// CloudOf what a ledger, which may be nil, says was made.
func CloudOf(ledger *ledgerv1.Ledger) (cloud krakev1.CloudReference, known bool) {
	for _, e := range owned(ledger) {
		if cloud, known = cloudOf(e.Params); known {
			break
		}
	}
	return cloud, known
}

// owned are the entries of a ledger, which may be nil, that may exist.
func owned(ledger *ledgerv1.Ledger) (all []ledgerv1.Entry) {
	if ledger == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ledger.Spec.Entries), func(e ledgerv1.Entry) bool { return !e.Owned() })
}

// abandon a deleted Cluster: its infrastructure stays, and its ledger, which names it, so that `bedplate orphans` does.
func (r *Reconciler) abandon(ctx context.Context, object *krakev1.Cluster) error {
	ledger, err := ledgers.Of(ctx, r.Engine.Live, r.Scheme(), object)
	if err != nil {
		return err
	}
	for _, e := range owned(ledger) {
		r.Engine.Recorder.Eventf(object, nil, "Warning", "Abandoned", "Abandon", "%s", graph.Note(fmt.Sprintf(
			"%s %s on %s is left: ledger %s names it", e.Kind, e.ID, e.Params[cloudParam], ledger.Name)))
	}
	return r.Engine.Release(ctx, object, krakev1.ClusterFinalizer)
}

// secrets of a place, as ledgers name them.
func (p *Place) secrets() []string {
	names := []string{p.Login.String()}
	if p.CloudLogin != (types.NamespacedName{}) {
		names = append(names, p.CloudLogin.String())
	}
	return names
}
