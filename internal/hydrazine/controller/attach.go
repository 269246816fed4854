package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// maxFormer bounds the addresses in a status that a host's DPU isn't known to have released. With one more, the host is isolated
// first.
const maxFormer = 16

// attach a host to the network of its group, or keep it there. A problem with its public address doesn't keep it off
// the network.
func (r *resourceReconciler) attach(
	ctx context.Context, resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, inGroup []resourcev1.ManagedResource,
) (ctrl.Result, error) {
	defer sumUp(resource, conditionsOf(resource, group)...)
	resource.Status.HostAccessIPs, resource.Status.SecondHostAccessIPs = access(resource), secondAccess(resource)
	result, failed := r.settle(ctx, resource, group, inGroup)
	return result, errors.Join(failed, r.public(ctx, resource))
}

func (r *resourceReconciler) settle(
	ctx context.Context, resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, inGroup []resourcev1.ManagedResource,
) (ctrl.Result, error) {
	report, reason, failed := r.report(resource.Spec.DPUIPs[0])
	if to := r.destination(resource, group, report); to != "" { // the old place first, so that the host is in one only
		result := r.leave(ctx, resource)
		if attachedByUs(resource) {
			moving(resource, to)
			return result, nil
		}
	}
	if errors.Is(failed, agents.ErrUnheard) { // its last known state counts, until it reports or is lost
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	if failed != nil {
		r.unknown(ctx, resource, reason, failed)
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	unproven, err := r.learn(ctx, resource, report)
	if err != nil {
		return ctrl.Result{}, err
	}
	port, reference, reason, failed := seat(resource, group, inGroup, report)
	if failed != nil {
		r.unknown(ctx, resource, reason, failed)
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	if ip, what, err := r.reserved(ctx, resource, report); what != "" || err != nil {
		if err == nil {
			r.unknown(ctx, resource, reasonReserved, fmt.Errorf("%s is %s: replace it in dpuIPs", ip, what))
		}
		return ctrl.Result{RequeueAfter: r.poll}, err
	}
	foreign, err := r.foreign(ctx, resource, report, unproven)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.tell(resource, report, foreign, unproven)
	if !serves(report.Report, group.UID) && r.networks.lingers(group.UID, report.GetChassis(), resource, inGroup) {
		return r.outdated(resource, group, report), nil
	}
	if reference.FormerFabricIPs = r.former(ctx, resource, reference); len(reference.FormerFabricIPs) > maxFormer {
		result := r.leave(ctx, resource)
		if attachedByUs(resource) {
			moving(resource, "another address")
		}
		return result, nil
	}
	resource.Status.LogicalPortReference = reference
	result, err := r.assign(ctx, resource, group, report, port)
	if err == nil && len(reference.FormerFabricIPs) > 0 && (result.RequeueAfter == 0 || result.RequeueAfter > r.poll) {
		result.RequeueAfter = r.poll // no event says when the DPU has released them
	}
	return result, err
}

// conditionsOf a host that is to be attached, in the order in which they are met.
func conditionsOf(resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup) []string {
	kinds := []string{resourcev1.AcceptedCondition, resourcev1.AgentReadyCondition, resourcev1.AttachedCondition, resourcev1.PortUpCondition}
	if group.Spec.DHCPServer != "" {
		kinds = append(kinds, resourcev1.DHCPReadyCondition)
	}
	if resource.Spec.HostAccess == resourcev1.PublicAccess {
		kinds = append(kinds, resourcev1.PublicIPReadyCondition)
	}
	return kinds
}

// public gives a host its public address, and reports whether that leads to it. One that isn't attached yet gets none:
// addresses aren't reserved for hosts that don't exist.
func (r *resourceReconciler) public(ctx context.Context, resource *resourcev1.ManagedResource) error {
	if resource.Spec.HostAccess != resourcev1.PublicAccess {
		drop(resource, resourcev1.PublicIPReadyCondition)
		return nil
	}
	ip, err := r.pool.of(ctx, resource)
	if ip == nil && err == nil && !attachedByUs(resource) {
		set(resource, resourcev1.PublicIPReadyCondition, metav1.ConditionUnknown, reasonPending, "the host gets a PublicIP when it is attached")
		return nil
	}
	if ip == nil && err == nil {
		ip, err = r.pool.allocate(ctx, resource)
	}
	if err != nil {
		set(resource, resourcev1.PublicIPReadyCondition, metav1.ConditionUnknown, reasonPending, err.Error())
		return err
	}
	if ip == nil {
		unmet(resource, resourcev1.PublicIPReadyCondition, reasonExhausted, fmt.Sprintf(
			"no PublicIP of the IP version of %s is free: make another one, or give another host less than PublicAccess", resource.Spec.HostIP))
		return nil
	}
	resource.Status.HostAccessIPs.PublicIP = ip.Spec.IPAddress
	if ready := condition(ip, resourcev1.ReadyCondition); ready == nil || ready.Reason == reasonAvailable {
		set(resource, resourcev1.PublicIPReadyCondition, metav1.ConditionUnknown, reasonPending, "PublicIP "+ip.Name+" is assigned to the host and isn't announced yet")
	} else {
		set(resource, resourcev1.PublicIPReadyCondition, ready.Status, ready.Reason, ready.Message)
	}
	return nil
}

// destination of a host that is attached in another place than it is to be, or "".
func (r *resourceReconciler) destination(
	resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, report agents.Report,
) string {
	if !attachedByUs(resource) {
		return ""
	}
	to, name := resource.Spec.DPUIPs[0], resource.Spec.Identifier
	if place(resource) != to {
		return "DPU " + string(to)
	}
	if at := resource.Status.LogicalPortReference; at != nil && at.GroupUID != "" && at.GroupUID != group.UID {
		return "ResourceGroup " + group.Name
	}
	if port := portOf(resource, report.GetPorts()); port != nil && name != "" && port.GetName() != name {
		return "port " + name
	}
	return ""
}

// portOf a resource, by the agent's report.
func portOf(resource *resourcev1.ManagedResource, ports []*agentv1.Port) *agentv1.Port {
	for _, port := range ports {
		if port.GetAssignment().GetResourceUid() == string(resource.UID) {
			return port
		}
	}
	return nil
}

// former are the addresses of the fabric that the host had before, and that its DPU isn't known to have released.
func (r *resourceReconciler) former(
	ctx context.Context, resource *resourcev1.ManagedResource, now *resourcev1.LogicalPortReference,
) (former []resourcev1.IPAddress) {
	for _, ip := range membership.Reached(resource) {
		before := resource.Status.LogicalPortReference
		if ip != now.FabricIP && ip != now.SecondFabricIP && !slices.Contains(former, ip) &&
			!r.networks.forgotten(ctx, before, overlay.Address(ip)) {
			former = append(former, ip)
		}
	}
	return former
}

func moving(resource *resourcev1.ManagedResource, to string) {
	unmet(resource, resourcev1.AttachedCondition, reasonMoving, "the host is being moved to "+to+": "+
		condition(resource, resourcev1.AttachedCondition).Message)
}

// unknown is the state of a host that can't be controlled through its agent, as long as its lease runs.
func (r *resourceReconciler) unknown(ctx context.Context, resource *resourcev1.ManagedResource, reason string, failed error) {
	unmet(resource, resourcev1.AgentReadyCondition, reason, failed.Error())
	if !attachedByUs(resource) {
		unmet(resource, resourcev1.AttachedCondition, reasonIsolated, "the host isn't attached")
		return
	}
	expires := resource.Status.LeaseExpires.Time
	if r.leases.left(resource) <= 0 {
		r.freed(ctx, resource)
	}
	if r.now().After(expires) {
		unmet(resource, resourcev1.AttachedCondition, reasonLeaseExpired,
			fmt.Sprintf("the lease ended at %s: the DPU has isolated the host, unless neither its agent nor its timer hydrazine-agent-expire runs; check them",
				expires.UTC().Format(time.RFC3339)))
		return
	}
	set(resource, resourcev1.AttachedCondition, metav1.ConditionUnknown, reason,
		fmt.Sprintf("the DPU keeps the host attached until %s", expires.UTC().Format(time.RFC3339)))
}

// freed are the addresses that a host doesn't ask for any more, when its lease has ended: its DPU may never come back. While the DPU
// still serves other hosts of the group, those are freed that it is known to have released.
func (r *resourceReconciler) freed(ctx context.Context, resource *resourcev1.ManagedResource) {
	at := resource.Status.LogicalPortReference
	if at == nil {
		return
	}
	serves, err := servesOthers(ctx, r, r.leases, resource)
	held := func(ip resourcev1.IPAddress) bool {
		return (serves || err != nil) && !r.networks.forgotten(ctx, at, overlay.Address(ip))
	}
	at.FormerFabricIPs = slices.DeleteFunc(at.FormerFabricIPs, func(ip resourcev1.IPAddress) bool { return !held(ip) })
	if at.FabricIP != "" && !slices.Contains(resource.Spec.DPUIPs, at.FabricIP) && !held(at.FabricIP) {
		at.FabricIP, at.FabricPrefixLength, at.FabricGateway = "", 0, ""
	}
	if at.SecondFabricIP != "" && !slices.Contains(resource.Spec.DPUIPs, at.SecondFabricIP) && !held(at.SecondFabricIP) {
		at.SecondFabricIP, at.SecondFabricPrefixLength, at.SecondFabricGateway = "", 0, ""
	}
}

// assign the port to the host, or renew its lease.
func (r *resourceReconciler) assign(
	ctx context.Context, resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, report agents.Report, port *agentv1.Port,
) (ctrl.Result, error) {
	southbound := group.Status.SoftwareNetworkConfiguration
	if southbound == nil || southbound.Southbound == "" {
		unmet(resource, resourcev1.AttachedCondition, reasonNoCentral, fmt.Sprintf("ResourceGroup %s has no OVN central yet", group.Name))
		return ctrl.Result{}, nil // the change of its status enqueues the host
	}
	wanted := &agentv1.Assignment{
		ResourceUid: string(resource.UID), GroupUid: string(group.UID), Southbound: southbound.Southbound,
		LogicalPort: resource.Status.LogicalPortReference.LogicalPort, EncapIp: string(resource.Spec.DPUIPs[0]),
	}
	if report.GetLevel() >= agentv1.LevelHosts {
		wanted.HostMac, wanted.HostIps = strings.ToLower(string(resource.Spec.HostMAC)), []string{string(resource.Spec.HostIP)}
		if second := resource.Spec.SecondHostIP; second != "" {
			wanted.HostIps = append(wanted.HostIps, string(second))
		}
	}
	if !r.secure(resource, report, wanted) {
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	relayKnown := false
	if report.GetLevel() >= agentv1.LevelDHCP {
		wanted.DhcpRelay, relayKnown = r.relayFor(group, report.GetChassis(), port)
	}
	defer relayed(resource, group, report, wanted.GetDhcpRelay(), relayKnown, r.networks.notRelayed(group.UID))
	left := r.remaining(resource, report, port)
	if !serves(report.Report, group.UID) && !r.networks.current(ctx, group.UID) {
		return r.outdated(resource, group, report), nil
	}
	if !proto.Equal(port.GetAssignment(), wanted) || left <= r.renewal() {
		answered, result, err := r.renew(ctx, resource, report, port, wanted)
		if answered == nil {
			return result, err
		}
		port, left = answered, report.Received.Add(r.lease).Sub(r.now())
	}
	if problem := port.GetProblem(); problem != "" {
		unmet(resource, resourcev1.AttachedCondition, reasonPortProblem, fmt.Sprintf("port %s: %s", port.GetName(), problem))
	} else {
		met(resource, resourcev1.AttachedCondition)
	}
	again := max(left-r.renewal(), time.Second)
	if !r.bound(resource, group, port) {
		again = min(again, r.poll)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// outdated is the state of a host whose DPU can't come to the network yet.
func (r *resourceReconciler) outdated(resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, report agents.Report) ctrl.Result {
	unmet(resource, resourcev1.AttachedCondition, reasonNoCentral, fmt.Sprintf("the OVN central of ResourceGroup %s can't be reached now, or "+
		"hasn't removed yet what DPU %s has given up: if that lasts, check that its ovn-northd runs", group.Name, report.GetChassis()))
	return ctrl.Result{RequeueAfter: min(r.poll, time.Second)} // there is no event, and it takes only moments
}

// renewal is how much of a lease is left when it is renewed: even after the time that this takes, two thirds. It is less than
// the three quarters that a new lease has at least, whose report was one heartbeat old.
func (r *resourceReconciler) renewal() time.Duration { return r.lease * 7 / 10 }

// remaining is what is left of a lease.
func (r *resourceReconciler) remaining(
	resource *resourcev1.ManagedResource, report agents.Report, port *agentv1.Port,
) time.Duration {
	if !attachedByUs(resource) {
		return 0
	}
	return leaseEnds(resource, report, port).Sub(r.now())
}

// leaseEnds is when the lease of an attached host ends, by what its agent says: both times are of the DPU's clock, whatever it is
// set to. It is never later than what was promised, which is all that is known of an agent of level 2: a promise is written before
// each attempt, so there a failed renewal looks like a successful one.
func leaseEnds(resource *resourcev1.ManagedResource, report agents.Report, port *agentv1.Port) time.Time {
	promised := resource.Status.LeaseExpires.Time
	if port.GetLeaseEnds() == nil {
		return promised
	}
	if said := report.Received.Add(port.GetLeaseEnds().AsTime().Sub(report.AsOf.AsTime())); said.Before(promised) {
		return said
	}
	return promised
}

// renew a lease, or start one. It returns the port as it is now, or nil.
func (r *resourceReconciler) renew(
	ctx context.Context, resource *resourcev1.ManagedResource, report agents.Report, port *agentv1.Port,
	wanted *agentv1.Assignment,
) (*agentv1.Port, ctrl.Result, error) {
	done, free := r.agents.Turn(string(resource.Spec.DPUIPs[0]))
	if !free {
		return nil, ctrl.Result{RequeueAfter: time.Second}, nil
	}
	defer done()
	if err := r.promise(ctx, resource, report.Received); err != nil {
		return nil, ctrl.Result{}, err
	}
	answer, err := r.agents.Attach(ctx, string(resource.Spec.DPUIPs[0]), &agentv1.AttachRequest{
		Port: port.GetName(), Generation: port.GetGeneration(), Assignment: wanted, Lease: durationpb.New(r.lease), AsOf: report.AsOf,
	})
	if status.Code(err) == codes.Aborted { // a newer report is about to come
		return nil, ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if err == nil {
		now := portOf(resource, answer.GetPorts())
		if now.GetName() == port.GetName() && proto.Equal(now.GetAssignment(), wanted) {
			return now, ctrl.Result{}, nil
		}
		err = fmt.Errorf("the agent answered, but didn't assign port %s", port.GetName())
	}
	again := ctrl.Result{RequeueAfter: r.poll}
	if code := status.Code(err); portOf(resource, report.GetPorts()) != nil && (code == codes.DeadlineExceeded || code == codes.Canceled) {
		r.unknown(ctx, resource, reasonUnreachable, err) // it isn't a refusal, and the previous lease runs
		return nil, again, nil
	}
	unmet(resource, resourcev1.AttachedCondition, reasonRefusedBy, err.Error())
	return nil, again, nil
}

// promise writes until when the host may be attached, counted from the last report, before the agent is called to attach it.
func (r *resourceReconciler) promise(ctx context.Context, resource *resourcev1.ManagedResource, received time.Time) error {
	ends := received.Add(r.lease)
	resource.Status.LastReport = &metav1.Time{Time: received.Truncate(time.Second)}
	resource.Status.LeaseExpires = &metav1.Time{Time: ends.Truncate(time.Second).Add(time.Second)} // the API has whole seconds
	base := resource.DeepCopy()
	// Everything that the group's rows depend on is written in one patch, so that they are computed once.
	base.Status.LeaseExpires, base.Status.LogicalPortReference, base.Status.LastReport = nil, nil, nil
	base.Status.DPUAddresses, base.Status.UnprovenDPUAddresses = nil, nil
	if err := patchStatus(ctx, r.Client, base, resource); err != nil {
		return fmt.Errorf("write until when the host may be attached: %w", err)
	}
	return nil
}

// bound reports whether OVN has the port on the DPU. It returns false if that isn't known yet.
func (r *resourceReconciler) bound(resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, port *agentv1.Port) bool {
	name, dpu := resource.Status.LogicalPortReference.LogicalPort, resource.Status.LogicalPortReference.DPU
	binding, known := r.networks.binding(group.UID, name)
	if !known { // the last known state counts, while the central isn't reported as failed
		central := meta.IsStatusConditionTrue(group.Status.Conditions, resourcev1.CentralReadyCondition)
		if !central || condition(resource, resourcev1.PortUpCondition) == nil {
			set(resource, resourcev1.PortUpCondition, metav1.ConditionUnknown, reasonNoCentral, "the OVN central can't be reached now")
		}
		return false
	}
	switch {
	case binding.Chassis != dpu:
		unmet(resource, resourcev1.PortUpCondition, reasonNotUp, fmt.Sprintf("OVN has not bound the port %s on DPU %s yet", name, dpu))
	case !binding.Up || !port.GetInstalled():
		unmet(resource, resourcev1.PortUpCondition, reasonNotUp, fmt.Sprintf("the flows of port %s are not all on DPU %s yet", name, dpu))
	case !port.GetUp():
		unmet(resource, resourcev1.PortUpCondition, reasonNotUp, fmt.Sprintf("the host's port %s of DPU %s has no link", port.GetName(), dpu))
	default:
		met(resource, resourcev1.PortUpCondition)
	}
	return true
}
