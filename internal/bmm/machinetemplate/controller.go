// Package machinetemplate reconciles NvidiaBMMMachineTemplate: it says what a machine of the template will have, so that
// the cluster autoscaler can scale from zero.
package machinetemplate

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmmachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmmachinetemplates/status,verbs=patch

// Reconciler fills in the status of NvidiaBMMMachineTemplates.
type Reconciler struct {
	client.Client
	Clients *credentials.Cache[*bmm.Client]
	// Poll is how often to check whether the cluster has found its site.
	Poll time.Duration
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).For(&infrav1.NvidiaBMMMachineTemplate{}).WithOptions(options).Complete(r)
}

// Reconcile reads the capacity of a template's machines once: a template never changes.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.NvidiaBMMMachineTemplate{}
	if err := r.Get(ctx, req.NamespacedName, template); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !template.DeletionTimestamp.IsZero() || len(template.Status.Capacity) > 0 {
		return ctrl.Result{}, nil
	}
	owner, result, err := capi.UserOfTemplate(ctx, r.Client, template, r.Poll)
	if owner == nil {
		return result, err
	}
	infra := &infrav1.NvidiaBMMCluster{}
	name := types.NamespacedName{Namespace: template.Namespace, Name: owner.Spec.InfrastructureRef.Name}
	if err := r.Get(ctx, name, infra); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get NvidiaBMMCluster %s: %w", name, err)
	}
	if infra.Status.SiteID == "" {
		return ctrl.Result{RequeueAfter: r.Poll}, nil
	}
	machineType, err := r.instanceType(ctx, infra, template.Spec.Template.Spec.InstanceType)
	if fault.ClassOf(err) == fault.Transient {
		return ctrl.Result{}, err
	}
	if err != nil { // The machines' own conditions say what to do about it.
		ctrl.LoggerFrom(ctx).Info("The capacity of the template's machines isn't known", "reason", err.Error())
		return ctrl.Result{RequeueAfter: 10 * r.Poll}, nil
	}
	before := template.DeepCopy()
	template.Status.Capacity = capacity(machineType.MachineCapabilities)
	template.Status.NodeInfo = infrav1.NodeInfo{OperatingSystem: "linux", Architecture: architecture(machineType.MachineCapabilities)}
	return ctrl.Result{}, patch.All(ctx, r.Client, before, template)
}

// instanceType of the machines of a template, which may name one machine in place of a type.
func (r *Reconciler) instanceType(ctx context.Context, infra *infrav1.NvidiaBMMCluster, ref infrav1.InstanceTypeReference) (*bmm.InstanceType, error) {
	api, err := r.Clients.Client(ctx, cluster.SecretOf(infra))
	if err != nil {
		return nil, err
	}
	id := ref.ID
	if id == "" {
		machine, err := api.Machine(ctx, infra.Status.SiteID, ref.MachineID)
		if err != nil {
			return nil, err
		}
		id = machine.InstanceTypeID
	}
	return api.InstanceType(ctx, infra.Status.SiteID, id)
}
