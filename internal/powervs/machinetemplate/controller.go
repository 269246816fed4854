// Package machinetemplate reconciles IBMPowerVSMachineTemplate: it says what a machine of the template will have, so that the cluster
// autoscaler can scale from zero.
package machinetemplate

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsmachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsmachinetemplates/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconciler fills in the status of IBMPowerVSMachineTemplates.
type Reconciler struct {
	client.Client
	// Poll is how often to check whether a Cluster is paused no more.
	Poll time.Duration
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).For(&infrav1.IBMPowerVSMachineTemplate{}).WithOptions(options).Complete(r)
}

// Reconcile writes the capacity of a template's machines once: a template never changes.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.IBMPowerVSMachineTemplate{}
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
	before := template.DeepCopy()
	template.Status.Capacity = capacity(&template.Spec.Template.Spec)
	template.Status.NodeInfo = infrav1.NodeInfo{OperatingSystem: "linux", Architecture: infrav1.ArchitecturePPC64LE}
	return ctrl.Result{}, patch.All(ctx, r.Client, before, template)
}
