package machineapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=machine.openshift.io,resources=machines,namespace=openshift-machine-api,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io,resources=machines/status,namespace=openshift-machine-api,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,namespace=openshift-machine-api,verbs=create;patch

// soon is when a Machine that another client has changed meanwhile is requeued.
const soon = time.Second

// Reconciler leads Machines through their phases.
type Reconciler struct {
	client.Client
	// Live reads past the cache: Nodes, which needn't be cached for the few that are drained.
	Live client.Reader
	// Kube cordons and drains Nodes.
	Kube     kubernetes.Interface
	Recorder events.EventRecorder
	Actuator Actuator
	// Ours reports whether a Machine belongs to this provider. Others are left alone completely.
	Ours func(*machinev1.Machine) bool
	// Poll is how often something in progress that sends no events is polled.
	Poll time.Duration

	// cordoning makes sure that of several control plane Nodes only one is seen as the first to be drained.
	cordoning sync.Mutex
}

// SetupWithManager registers the controller. Sources wake Machines for what the actuator waits for.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, sources ...source.Source) error {
	b := ctrl.NewControllerManagedBy(mgr).
		For(&machinev1.Machine{}, builder.WithPredicates(changedByOthers())).
		WithOptions(options)
	for _, s := range sources {
		b = b.WatchesRawSource(s)
	}
	return b.Complete(r)
}

// Reconcile brings one Machine a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	machine := &machinev1.Machine{}
	if err := r.Get(ctx, req.NamespacedName, machine); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Ours(machine) {
		return ctrl.Result{}, nil
	}
	before := machine.DeepCopy()
	result, err := r.reconcile(ctx, machine)
	errs := kerrors.NewAggregate([]error{err, r.write(ctx, before, machine)})
	others := kerrors.FilterOut(errs, apierrors.IsConflict)
	if errs != nil && others == nil {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	return result, others
}

func (r *Reconciler) reconcile(ctx context.Context, machine *machinev1.Machine) (ctrl.Result, error) {
	if handedOver(machine) {
		return ctrl.Result{}, nil
	}
	if !machine.DeletionTimestamp.IsZero() {
		return r.delete(ctx, machine)
	}
	if ptr.Deref(machine.Status.Phase, "") == machinev1.PhaseFailed {
		return ctrl.Result{}, nil
	}
	if machine.Labels[machinev1.MachineClusterIDLabel] == "" {
		r.warn(machine, "FailedValidate", "there is no label "+machinev1.MachineClusterIDLabel+
			", which says what cluster the Machine belongs to: add it")
		return ctrl.Result{}, nil
	}
	if err := patch.AddFinalizer(ctx, r.Client, machine, machinev1.MachineFinalizer); err != nil {
		return ctrl.Result{}, err
	}
	showHooks(machine)
	return r.provision(ctx, machine)
}

// handedOver reports whether Cluster API is responsible for the Machine, or is about to be, and says so. Only where
// OpenShift can migrate Machines has the spec an authoritativeAPI; the status takes it over from there once.
func handedOver(machine *machinev1.Machine) bool {
	status := &machine.Status
	if status.AuthoritativeAPI == "" {
		status.AuthoritativeAPI = machine.Spec.AuthoritativeAPI
	}
	message := fmt.Sprintf("The AuthoritativeAPI status is set to '%s'", status.AuthoritativeAPI)
	switch status.AuthoritativeAPI {
	case "":
		return false
	case machinev1.MachineAuthorityMachineAPI:
		setFalse(machine, PausedCondition, machinev1.ConditionSeverityInfo, notPausedReason, "%s", message)
		return false
	default:
		setCondition(machine, machinev1.Condition{
			Type: PausedCondition, Status: corev1.ConditionTrue, Reason: pausedReason, Message: message,
		})
		return true
	}
}

// write stores what has changed, unless another client has changed the Machine since it was read.
func (r *Reconciler) write(ctx context.Context, before, machine *machinev1.Machine) error {
	if !equality.Semantic.DeepEqual(before.Status, machine.Status) {
		machine.Status.LastUpdated = ptr.To(metav1.Now())
	}
	return patch.All(ctx, r.Client, before, machine)
}

// outcome of a call to the actuator.
func outcome(err error) (ctrl.Result, error) {
	var later *RequeueAfterError
	if errors.As(err, &later) {
		return ctrl.Result{RequeueAfter: later.After, Priority: later.Priority}, nil
	}
	return ctrl.Result{}, err
}

func (r *Reconciler) warn(machine *machinev1.Machine, reason, note string) {
	r.Recorder.Eventf(machine, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", graph.Note(note))
}
