// Package machine reconciles NvidiaBMMMachine: a bare-metal instance, booted with the machine's bootstrap data.
package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmmachines/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=bmm.bedplate.dev,resources=ledgers,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler creates and deletes the instance of an NvidiaBMMMachine.
type Reconciler struct {
	client.Client
	lifecycle.Logins[*bmm.Client]
	// Instances is the state of all instances, without a call for each.
	Instances *inventory.Inventory

	reports instance.Reports
}

// SetupWithManager registers the controller: it watches the object itself and everything that it waits for.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.NvidiaBMMMachine{}, instanceIndex, func(o client.Object) []string {
		return []string{o.(*infrav1.NvidiaBMMMachine).Status.InstanceID}
	})
	if err != nil {
		return fmt.Errorf("index NvidiaBMMMachines by instance: %w", err)
	}
	ofCluster, err := util.ClusterToTypedObjectsMapper(r.Client, &infrav1.NvidiaBMMMachineList{}, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("map Clusters to NvidiaBMMMachines: %w", err)
	}
	toInfrastructure := util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("NvidiaBMMMachine"))
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.NvidiaBMMMachine{}, builder.WithPredicates(graph.ChangedByOthers())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(toInfrastructure), builder.WithPredicates(specChanged)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(specChanged)).
		Watches(&infrav1.NvidiaBMMCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesIn),
			builder.WithPredicates(networksChanged)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.machinesWith)).
		WatchesRawSource(r.Instances.Source(r.machinesOn)).
		WatchesRawSource(r.Engine.Creates.Woken(&infrav1.NvidiaBMMMachine{})).
		WithOptions(options).
		Complete(r)
}

// owners are the objects around an NvidiaBMMMachine. On deletion any of them may be gone already.
type owners struct {
	cluster *clusterv1.Cluster
	machine *clusterv1.Machine
	infra   *infrav1.NvidiaBMMCluster
}

// Reconcile brings one NvidiaBMMMachine a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := &infrav1.NvidiaBMMMachine{}
	if err := r.Get(ctx, req.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	around, err := r.around(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.lifecycle().Reconcile(ctx, object, lifecycle.Steps[*bmm.Client]{
		Stop: func(ctx context.Context) (bool, ctrl.Result, error) {
			return capi.Of(r.lifecycle()).Stop(ctx, object, around.cluster, around.machine != nil && around.cluster != nil)
		},
		Secret: func(ctx context.Context) (types.NamespacedName, error) { return r.secretOf(ctx, around, object) },
		Open: func(ctx context.Context, login *lifecycle.Login[*bmm.Client]) (lifecycle.Graph, error) {
			return r.open(ctx, login.API, login.Secret.String(), around, object)
		},
	})
}

func (r *Reconciler) lifecycle() *lifecycle.Lifecycle[*bmm.Client] {
	return &lifecycle.Lifecycle[*bmm.Client]{
		Client: r.Client, Logins: r.Logins,
		Finalizer: infrav1.MachineFinalizer, LoginCondition: infrav1.ClusterReadyCondition,
		GraphCondition: infrav1.InstanceProvisionedCondition, DeletionCondition: infrav1.InstanceProvisionedCondition,
		StatusFirst: true, // spec.providerID
	}
}

// around fetches the owners, as far as they exist.
func (r *Reconciler) around(ctx context.Context, object *infrav1.NvidiaBMMMachine) (o owners, _ error) {
	infra := &infrav1.NvidiaBMMCluster{}
	machine, cluster, found, err := capi.AroundMachine(ctx, r.Client, object.ObjectMeta, "NvidiaBMMCluster", infra)
	if o = (owners{cluster: cluster, machine: machine}); found {
		o.infra = infra
	}
	return o, err
}

// secretOf names the credentials: those of the cluster, or if it is gone, those that the instance was created with.
func (r *Reconciler) secretOf(
	ctx context.Context, around owners, object *infrav1.NvidiaBMMMachine,
) (none types.NamespacedName, _ error) {
	if around.infra != nil {
		return cluster.SecretOf(around.infra), nil
	}
	ledger, err := ledgers.Of(ctx, r.Client, r.Scheme(), object)
	if err != nil {
		return none, err
	}
	if made := ledgers.SecretOf(object, ledger); made.Name != "" && !object.DeletionTimestamp.IsZero() {
		return made, nil
	}
	return none, capi.NoLogin(object.ObjectMeta, around.cluster, "NvidiaBMMCluster")
}
