package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// isolate a host: at once if its agent can be reached, or by the end of its lease.
func (r *resourceReconciler) isolate(ctx context.Context, resource *resourcev1.ManagedResource) ctrl.Result {
	drop(resource, resourcev1.AgentReadyCondition, resourcev1.PortUpCondition, resourcev1.DHCPReadyCondition,
		resourcev1.PublicIPReadyCondition)
	resource.Status.HostAccessIPs, resource.Status.SecondHostAccessIPs = nil, nil
	result := r.leave(ctx, resource)
	if resource.Spec.State == resourcev1.Isolated && isolated(resource) {
		sumUp(resource, resourcev1.AcceptedCondition) // as wanted
	} else {
		sumUp(resource, resourcev1.AcceptedCondition, resourcev1.AttachedCondition)
	}
	return result
}

// leave the DPU that may have the host on a network. Afterwards the host is isolated, or it is requeued.
func (r *resourceReconciler) leave(ctx context.Context, resource *resourcev1.ManagedResource) ctrl.Result {
	if !attachedByUs(resource) {
		resource.Status.LogicalPortReference = nil
		if c := condition(resource, resourcev1.AttachedCondition); c == nil || c.Reason != reasonIsolated && c.Reason != reasonLeaseExpired {
			unmet(resource, resourcev1.AttachedCondition, reasonIsolated, "the host isn't attached")
		}
		return ctrl.Result{}
	}
	at := place(resource)
	_, _, failed := r.report(at)
	if failed == nil {
		failed = r.confirm(ctx, resource, at)
	}
	left := r.leases.left(resource)
	switch {
	case failed == nil:
		r.left(resource, reasonIsolated, fmt.Sprintf("DPU %s has isolated the host", at))
		return ctrl.Result{}
	case left <= 0:
		if failed = r.ended(ctx, resource); failed == nil {
			r.left(resource, reasonLeaseExpired, fmt.Sprintf("the host's lease on DPU %s ended at %s, and the DPU hasn't confirmed the isolation: "+
				"check that its agent or its timer hydrazine-agent-expire runs", at, resource.Status.LeaseExpires.UTC().Format(time.RFC3339)))
			return ctrl.Result{}
		}
		left = r.poll
	}
	message := fmt.Sprintf("DPU %s hasn't confirmed the isolation; the host is isolated at %s at the latest: %v",
		at, r.leases.latest(resource).UTC().Format(time.RFC3339), failed)
	if errors.Is(failed, errAnswers) {
		message = fmt.Sprintf("DPU %s has isolated the host, but %v: check that ovn-controller on that DPU, which keeps running for other hosts of the group, "+
			"is connected to the southbound database, and that ovs-vswitchd there answers revalidator/wait", at, failed)
	}
	unmet(resource, resourcev1.AttachedCondition, reasonIsolating, message)
	if errors.Is(failed, errBusy) || errors.Is(failed, errAnswers) {
		return ctrl.Result{RequeueAfter: min(r.poll, left, time.Second)} // there is no event, and it takes only moments
	}
	return ctrl.Result{RequeueAfter: min(r.poll, left)}
}

// errBusy means that a DPU hasn't answered other calls yet.
var errBusy = errors.New("other calls to its agent are still running")

// errAnswers means that a DPU has detached a host, and isn't known to have released its address.
var errAnswers = errors.New("OVN there may still answer for")

// confirm that a DPU has isolated a host.
func (r *resourceReconciler) confirm(ctx context.Context, resource *resourcev1.ManagedResource, at resourcev1.IPAddress) error {
	done, free := r.agents.Turn(string(at))
	if !free {
		return errBusy
	}
	defer done()
	answer, err := r.agents.Isolate(ctx, string(at), &agentv1.IsolateRequest{ResourceUid: string(resource.UID)})
	if err != nil {
		return err
	}
	if port := portOf(resource, answer.GetPorts()); port != nil {
		return fmt.Errorf("its agent answered, but the host still has port %s", port.GetName())
	}
	return r.letGo(ctx, resource, answer)
}

// letGo reports whether a DPU that has isolated a host answers for none of its addresses any more. It doesn't if it has left the
// network with its last host. As long as other hosts of the group are behind it, its ovn-controller has to get the removal of the
// address.
func (r *resourceReconciler) letGo(ctx context.Context, resource *resourcev1.ManagedResource, answer *agentv1.Report) error {
	at := resource.Status.LogicalPortReference
	if at == nil || at.GroupUID == "" || !serves(answer, at.GroupUID) {
		return nil
	}
	return r.unanswered(ctx, resource)
}

// unanswered reports whether a host's DPU forwards packets by the removal of all addresses that the host doesn't keep.
func (r *resourceReconciler) unanswered(ctx context.Context, resource *resourcev1.ManagedResource) error {
	at := resource.Status.LogicalPortReference
	stays := resource.DeletionTimestamp.IsZero() && resource.Spec.State == resourcev1.Attached &&
		meta.IsStatusConditionTrue(resource.Status.Conditions, resourcev1.AcceptedCondition)
	for _, ip := range membership.Reached(resource) {
		if stays && slices.Contains(resource.Spec.DPUIPs, ip) {
			continue // it keeps the address
		}
		if !r.networks.forgotten(ctx, at, overlay.Address(ip)) {
			return fmt.Errorf("%w %s", errAnswers, ip)
		}
	}
	return nil
}

// ended reports whether the DPU of a host whose lease has ended answers for none of its addresses any more. The lease is one
// host's; ovn-controller continues for the others of the group.
func (r *resourceReconciler) ended(ctx context.Context, resource *resourcev1.ManagedResource) error {
	serves, err := servesOthers(ctx, r, r.leases, resource)
	if err != nil || !serves {
		return err
	}
	return r.unanswered(ctx, resource)
}

// servesOthers reports whether the DPU of a host may have others of the group on the network: one of them has a lease.
func servesOthers(ctx context.Context, c client.Reader, leases *hostLeases, of *resourcev1.ManagedResource) (bool, error) {
	at := of.Status.LogicalPortReference
	if at == nil || at.GroupUID == "" {
		return false, nil
	}
	behind, err := WithFabricIP(ctx, c, place(of))
	if err != nil {
		return false, err
	}
	for i := range behind {
		other := behind[i].Status.LogicalPortReference
		if behind[i].UID != of.UID && other != nil && other.GroupUID == at.GroupUID && other.DPU == at.DPU && leases.left(&behind[i]) > 0 {
			return true, nil
		}
	}
	return false, nil
}

func (r *resourceReconciler) left(resource *resourcev1.ManagedResource, reason, message string) {
	resource.Status.LeaseExpires, resource.Status.LastReport, resource.Status.LogicalPortReference = nil, nil, nil
	unmet(resource, resourcev1.AttachedCondition, reason, message)
}

// place is the address of the DPU that may have the host on a network.
func place(resource *resourcev1.ManagedResource) resourcev1.IPAddress {
	if at := resource.Status.LogicalPortReference; at != nil && at.Agent != "" {
		return at.Agent
	}
	return resource.Spec.DPUIPs[0]
}
