// Package machine reconciles IBMPowerVSMachine: a virtual machine, booted with the machine's bootstrap data, and its places in the pools of
// the cluster's load balancers.
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

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/powervs/inventory"
	"github.com/bedplate/bedplate/internal/powervs/takeover"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsmachines/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsclusters;ibmpowervsimages,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=powervs.bedplate.dev,resources=ledgers,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler creates and deletes the virtual machine of an IBMPowerVSMachine.
type Reconciler struct {
	client.Client
	lifecycle.Logins[*ibm.Client]
	// Default is the Secret of clusters that name none.
	Default types.NamespacedName
	// VMs is the state of all virtual machines, without a call for each.
	VMs *inventory.Inventory
}

// SetupWithManager registers the controller: it watches the object itself and everything that it waits for.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.IBMPowerVSMachine{}, vmIndex, func(o client.Object) []string {
		return []string{o.(*infrav1.IBMPowerVSMachine).Status.InstanceID}
	})
	if err != nil {
		return fmt.Errorf("index IBMPowerVSMachines by virtual machine: %w", err)
	}
	ofCluster, err := util.ClusterToTypedObjectsMapper(r.Client, &infrav1.IBMPowerVSMachineList{}, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("map Clusters to IBMPowerVSMachines: %w", err)
	}
	toInfrastructure := util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("IBMPowerVSMachine"))
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.IBMPowerVSMachine{}, builder.WithPredicates(graph.ChangedByOthers())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(toInfrastructure), builder.WithPredicates(specOrNodeChanged)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(specChanged)).
		Watches(&infrav1.IBMPowerVSCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesIn), builder.WithPredicates(clusterChanged)).
		Watches(&infrav1.IBMPowerVSImage{}, handler.EnqueueRequestsFromMapFunc(r.machinesFrom), builder.WithPredicates(imageChanged)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.machinesWith)).
		WatchesRawSource(r.VMs.Source(r.machinesOn)).
		WatchesRawSource(r.Engine.Creates.Woken(&infrav1.IBMPowerVSMachine{})).
		WithOptions(options).
		Complete(r)
}

// owners are the objects around an IBMPowerVSMachine. On deletion any of them may be gone already.
type owners struct {
	cluster *clusterv1.Cluster
	machine *clusterv1.Machine
	infra   *infrav1.IBMPowerVSCluster
}

// Reconcile brings one IBMPowerVSMachine a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := &infrav1.IBMPowerVSMachine{}
	if err := r.Get(ctx, req.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	around, err := r.around(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.lifecycle().Reconcile(ctx, object, lifecycle.Steps[*ibm.Client]{
		Stop: func(ctx context.Context) (bool, ctrl.Result, error) {
			takeover.DropOldConditions(object)
			return capi.Of(r.lifecycle()).Stop(ctx, object, around.cluster, around.machine != nil && around.cluster != nil)
		},
		Secret: func(ctx context.Context) (types.NamespacedName, error) { return r.secretOf(ctx, around, object) },
		Open: func(ctx context.Context, login *lifecycle.Login[*ibm.Client]) (lifecycle.Graph, error) {
			n, secret := r.node(login.API, around, object), login.Secret.String()
			return takeover.Open(ctx, r.Engine, secret, object, n.kinds(), n.shown, func() (*node, error) {
				return r.open(ctx, login.API, secret, around, object)
			})
		},
	})
}

func (r *Reconciler) lifecycle() *lifecycle.Lifecycle[*ibm.Client] {
	return &lifecycle.Lifecycle[*ibm.Client]{
		Client: r.Client, Logins: r.Logins,
		Finalizer: infrav1.MachineFinalizer, LoginCondition: infrav1.ClusterReadyCondition,
		GraphCondition: infrav1.InstanceReadyCondition, DeletionCondition: infrav1.InstanceReadyCondition,
		StatusFirst: true, // spec.providerID
	}
}

// around fetches the owners, as far as they exist.
func (r *Reconciler) around(ctx context.Context, object *infrav1.IBMPowerVSMachine) (o owners, _ error) {
	infra := &infrav1.IBMPowerVSCluster{}
	machine, cluster, found, err := capi.AroundMachine(ctx, r.Client, object.ObjectMeta, "IBMPowerVSCluster", infra)
	if o = (owners{cluster: cluster, machine: machine}); found {
		o.infra = infra
	}
	return o, err
}

// secretOf names the credentials: those of the cluster, or if it is gone, those that the virtual machine was created with.
func (r *Reconciler) secretOf(
	ctx context.Context, around owners, object *infrav1.IBMPowerVSMachine,
) (none types.NamespacedName, _ error) {
	if around.infra != nil {
		return cluster.Login(r.Default, around.infra)
	}
	ledger, err := ledgers.Of(ctx, r.Client, r.Scheme(), object)
	if err != nil {
		return none, err
	}
	if made := cluster.LoginOf(r.Default, object, ledger); made.Name != "" && !object.DeletionTimestamp.IsZero() {
		return made, nil
	}
	return none, capi.NoLogin(object.ObjectMeta, around.cluster, "IBMPowerVSCluster")
}
