package overlay

import (
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
)

// ReasonRefused is the reason if OVN can't have a network, or a host on it.
const ReasonRefused = "TopologyRefused"

// Judge whether a resource is to be on the network of its group beside others, and if it can't be, why.
func Judge(
	r *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, others []resourcev1.ManagedResource,
) (bool, membership.Problem) {
	problem := membership.Of(r, group, others)
	if problem.Reason == "" {
		problem = Expressible(r, group)
	}
	return problem.Reason == "" && r.DeletionTimestamp.IsZero() && r.Spec.State == resourcev1.Attached, problem
}

// Accepted are those of all resources that are to be on the network of a group.
func Accepted(group *resourcev1.ResourceGroup, all []resourcev1.ManagedResource) (in []resourcev1.ManagedResource) {
	for i := range all {
		if all[i].Namespace != group.Namespace || all[i].Spec.ResourceGroup != group.Name {
			continue
		}
		if accepted, _ := Judge(&all[i], group, all); accepted {
			in = append(in, all[i])
		}
	}
	return in
}

// Expressible reports whether OVN can have a host on its group's network, with its agent's report of the fabric.
func Expressible(r *resourcev1.ManagedResource, group *resourcev1.ResourceGroup) membership.Problem {
	t, err := Topology(group, []resourcev1.ManagedResource{*r}, Outside{})
	if err != nil {
		return membership.Problem{} // the group says so
	}
	if refused := t.Refused[string(r.UID)]; refused != nil {
		return membership.Problem{Reason: ReasonRefused, Message: "OVN can't have this host on the network: " + refused.Error()}
	}
	return membership.Problem{}
}
