package controller

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/patch"
)

const (
	// refillTimeout bounds the wait for ovn-northd before a central is opened.
	refillTimeout = 30 * time.Second

	carriedByFabric = "the network fabric carries this network; Hydrazine records it and touches no DPU"
)

// groupReconciler maintains a central for each group that OVN carries, with the rows of the group and its members.
//
// What it writes follows only from objects in Kubernetes; the agents' reports are in the members' status. So a
// controller that has just started, and can't reach an agent, changes nothing for the host behind it.
type groupReconciler struct {
	client.Client
	live      client.Reader // past the cache
	networks  *networks
	underlays *underlays
	control   *controlPlane
	pace      *pace
	events    events.EventRecorder
	poll      time.Duration
}

// +kubebuilder:rbac:groups=resource.bedplate.dev,resources=resourcegroups,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=resource.bedplate.dev,resources=resourcegroups/status,verbs=patch

// Reconcile a ResourceGroup.
func (r *groupReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	group := &resourcev1.ResourceGroup{}
	if err := r.Get(ctx, request.NamespacedName, group); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !group.DeletionTimestamp.IsZero() {
		return r.delete(ctx, group)
	}
	if err := patch.AddFinalizer(ctx, r.Client, group, resourcev1.ResourceGroupFinalizer); err != nil {
		return ctrl.Result{}, err
	}
	before := group.DeepCopy()
	failed := r.reconcile(ctx, group)
	sumUp(group, resourcev1.CentralReadyCondition, resourcev1.TopologyReadyCondition)
	return ctrl.Result{RequeueAfter: r.poll}, writeStatus(ctx, r.Client, r.events, before, group, failed)
}

// delete a group's central, and say what blocks that. Its members don't: their hosts are isolated because they have no
// group.
func (r *groupReconciler) delete(ctx context.Context, group *resourcev1.ResourceGroup) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(group, resourcev1.ResourceGroupFinalizer) {
		return ctrl.Result{}, nil
	}
	emptied, err := r.emptied(ctx, group)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("look whether the OVN central is to be emptied: %w", err)
	}
	failed := errEmptying
	if emptied {
		failed = r.networks.forget(ctx, group.UID)
	}
	if failed == nil {
		return ctrl.Result{}, patch.RemoveFinalizer(ctx, r.Client, group, resourcev1.ResourceGroupFinalizer)
	}
	before, again := group.DeepCopy(), r.poll
	reason, message := reasonCentralEnding, "the OVN central isn't deleted: "+failed.Error()
	switch {
	case errors.Is(failed, errEmptying):
		failed, again = nil, farewellPoll
	case errors.Is(failed, central.ErrOnItsWay):
		failed = nil // the runtime notifies when it is gone
	default:
		reason, failed = reasonCentralFailed, fmt.Errorf("delete the OVN central: %w", failed)
	}
	unmet(group, resourcev1.CentralReadyCondition, reason, message)
	sumUp(group, resourcev1.CentralReadyCondition, resourcev1.TopologyReadyCondition)
	return ctrl.Result{RequeueAfter: again}, writeStatus(ctx, r.Client, r.events, before, group, failed)
}

func (r *groupReconciler) reconcile(ctx context.Context, group *resourcev1.ResourceGroup) error {
	inGroup, err := members(ctx, r, client.ObjectKeyFromObject(group))
	if err != nil {
		return err
	}
	group.Status.ManagedResourceCount = uint64(len(inGroup))
	if group.Spec.NetworkImplementationType == resourcev1.FabricNetwork {
		return r.record(ctx, group, inGroup)
	}
	if r.networks.find(group.UID) == nil {
		if held, err := r.held(ctx, group); err != nil || !held {
			return err
		}
	}
	network, found, err := r.networks.ensure(ctx, group.UID)
	if errors.Is(err, central.ErrOnItsWay) {
		unmet(group, resourcev1.CentralReadyCondition, reasonCentralStarting, "the OVN central doesn't run yet: "+err.Error())
		return nil // the runtime notifies when it does
	}
	if err != nil {
		unmet(group, resourcev1.CentralReadyCondition, reasonCentralFailed, "the OVN central doesn't run: "+err.Error())
		return err
	}
	in, outside, err := r.surroundings(ctx, group, inGroup)
	if err != nil {
		return err
	}
	wanted, err := overlay.Topology(group, in, outside)
	if err != nil {
		unmet(group, resourcev1.TopologyReadyCondition, overlay.ReasonRefused, err.Error())
		return nil // only a change of the spec helps
	}
	if err := network.apply(ctx, wanted); err != nil {
		unmet(group, resourcev1.TopologyReadyCondition, reasonWriteFailed, "the topology isn't written: "+err.Error())
		return err
	}
	set(group, resourcev1.TopologyReadyCondition, metav1.ConditionTrue, reasonDone, warnings(wanted))
	group.Status.SNATIPs = texts(wanted.SNATIPs())
	return r.open(ctx, group, network, found, wanted)
}

// warnings of what is done as specified, but is probably a mistake.
func warnings(wanted *topology.Topology) string {
	all := slices.Clone(wanted.Warnings[wanted.Group.UID])
	for _, m := range wanted.Members {
		for _, warning := range wanted.Warnings[m.UID] {
			all = append(all, fmt.Sprintf("ManagedResource %s: %s", m.Name, warning))
		}
	}
	return strings.Join(all, "; ")
}

// open the central to the DPUs, once it is complete. One that is only half written would make them remove what is missing.
func (r *groupReconciler) open(
	ctx context.Context, group *resourcev1.ResourceGroup, network *network, found central.Central, wanted *topology.Topology,
) error {
	open, err := network.south.IsOpen(ctx, found.Listen)
	if err == nil && !open {
		if err := r.refill(ctx, group, network, wanted); err != nil {
			unmet(group, resourcev1.CentralReadyCondition, reasonRefilling, "the OVN central isn't complete yet: "+err.Error())
			return err
		}
		err = network.south.Open(ctx, found.Listen)
	}
	if err != nil {
		unmet(group, resourcev1.CentralReadyCondition, reasonCentralFailed, "the OVN central can't be opened to the DPUs: "+err.Error())
		return err
	}
	met(group, resourcev1.CentralReadyCondition)
	group.Status.SoftwareNetworkConfiguration = &resourcev1.SoftwareNetworkConfiguration{
		OvnService: service(group.UID), LogicalNetwork: topology.SwitchName(group.Name), Southbound: found.ForDPUs,
		DHCPCircuitID: topology.RelayInterface(string(group.UID)),
	}
	chassis := map[string]bool{}
	for _, m := range wanted.Members {
		if m.Chassis != "" {
			chassis[m.Chassis] = true
		}
	}
	r.networks.tellRelays(network, wanted)
	return errors.Join(network.removeChassis(ctx, chassis), propagation(ctx, group, network, chassis))
}

// propagation of the last change.
func propagation(ctx context.Context, group *resourcev1.ResourceGroup, network *network, chassis map[string]bool) error {
	p, waiting, err := network.propagation(ctx, chassis)
	if err != nil {
		return fmt.Errorf("look who has the last change: %w", err)
	}
	group.Status.Propagation = &p
	if len(waiting) == 0 {
		met(group, resourcev1.PropagatedCondition)
		return nil
	}
	const most = 5
	names := strings.Join(waiting[:min(most, len(waiting))], ", ")
	if len(waiting) > most {
		names += fmt.Sprintf(" and %d more", len(waiting)-most)
	}
	unmet(group, resourcev1.PropagatedCondition, reasonSpreading, fmt.Sprintf("change %d isn't on these DPUs yet: %s", p.Change, names))
	return nil
}

// refill waits until the southbound database has what was written. A northbound database that was restarted empty meanwhile may
// have lost rows: then it isn't complete.
func (r *groupReconciler) refill(
	ctx context.Context, group *resourcev1.ResourceGroup, network *network, wanted *topology.Topology,
) error {
	ctx, cancel := context.WithTimeout(ctx, refillTimeout)
	defer cancel()
	if err := network.north.Sync(ctx); err != nil {
		return err
	}
	missing, err := network.north.Apply(ctx, string(group.UID), wanted.Rows())
	if err == nil && missing > 0 {
		err = errors.New("rows were lost meanwhile")
	}
	return err
}

// record a group that the fabric itself carries.
func (r *groupReconciler) record(ctx context.Context, group *resourcev1.ResourceGroup, inGroup []resourcev1.ManagedResource) error {
	set(group, resourcev1.CentralReadyCondition, "True", reasonCarriedByFabric, carriedByFabric)
	set(group, resourcev1.TopologyReadyCondition, "True", reasonCarriedByFabric, carriedByFabric)
	group.Status.SNATIPs = nil
	for i := range inGroup {
		accepted, _, err := accept(ctx, r, &inGroup[i], group, inGroup)
		if err != nil {
			return err
		}
		if ips := inGroup[i].Spec.DPUIPs; accepted && len(ips) > 1 {
			group.Status.SNATIPs = append(group.Status.SNATIPs, ips[1:]...)
		}
	}
	slices.Sort(group.Status.SNATIPs)
	return nil
}

// surroundings of a group: those members that are to be on its network, and what else its topology depends on.
func (r *groupReconciler) surroundings(
	ctx context.Context, group *resourcev1.ResourceGroup, inGroup []resourcev1.ManagedResource,
) (in []resourcev1.ManagedResource, outside overlay.Outside, err error) {
	for i := range inGroup {
		accepted, _, err := accept(ctx, r, &inGroup[i], group, inGroup)
		if err != nil {
			return nil, overlay.Outside{}, err
		}
		if accepted {
			in = append(in, inGroup[i])
		}
	}
	underlay, err := r.underlays.all(ctx)
	if err != nil {
		return nil, overlay.Outside{}, err
	}
	// A host and the rule that keeps others away from its DPU are written together, even before all groups know of the
	// DPU.
	outside, err = overlay.LookOutside(ctx, r, overlay.Ascending(slices.Concat(underlay, overlay.DPUAddresses(inGroup))))
	if err != nil {
		return nil, overlay.Outside{}, err
	}
	control, err := r.control.addresses(ctx)
	outside.Site.ControlPlane, outside.Site.Routers = control.all, control.routers
	return in, outside, err
}

func texts(all []netip.Addr) []resourcev1.IPAddress {
	var ips []resourcev1.IPAddress
	for _, a := range all {
		ips = append(ips, resourcev1.IPAddress(a.String()))
	}
	return ips
}

// accept reports whether a resource is to be on the network of its group, and if it can't be, why.
func accept(
	ctx context.Context, c client.Reader, r *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, inGroup []resourcev1.ManagedResource,
) (bool, membership.Problem, error) {
	others, err := neighbours(ctx, c, r, inGroup)
	if err != nil {
		return false, membership.Problem{}, err
	}
	accepted, problem := overlay.Judge(r, group, others)
	return accepted, problem, nil
}

// writeStatus writes what has changed, and records an event when an object has become ready or isn't any more.
func writeStatus(
	ctx context.Context, c client.Client, recorder events.EventRecorder, before, after conditioned, failed error,
) error {
	if !equality.Semantic.DeepEqual(before, after) {
		if err := patchStatus(ctx, c, before, after); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the status of %s: %w", after.GetName(), err)
		}
	}
	if ready := isReady(after); ready != isReady(before) {
		for _, condition := range after.GetConditions() {
			if condition.Type == resourcev1.ReadyCondition {
				kind := corev1.EventTypeNormal
				if !ready {
					kind = corev1.EventTypeWarning
				}
				recorder.Eventf(after, nil, kind, condition.Reason, "Reconcile", "%s", condition.Message)
			}
		}
	}
	return failed
}
