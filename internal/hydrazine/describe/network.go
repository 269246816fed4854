// Package describe shows networks of tenants, the hosts on them and their public addresses.
package describe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/describe"
)

// Kinds that can be described.
var Kinds = []describe.Kind{
	{
		Names: []string{"resourcegroup", "rg"}, Read: ResourceGroup,
		Shows: `the network of a tenant: its OVN central, how far its last change has come, and its members with their
addresses, DPUs and leases. Hosts that wait come first`,
	},
	{Names: []string{"managedresource", "mr"}, Read: ManagedResource, Shows: "one host of a network, with its addresses, DPU and lease"},
	{Names: []string{"publicip"}, Read: PublicIP, Shows: "a public address: which host has it, and the state of the BGP sessions"},
}

// ResourceGroup reads a network with its members and their public addresses. Objects that wait come first.
func ResourceGroup(ctx context.Context, c client.Client, namespace, name string) (*describe.Object, error) {
	group := &resourcev1.ResourceGroup{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, group); err != nil {
		return nil, fmt.Errorf("read ResourceGroup %s/%s: %w", namespace, name, err)
	}
	list := &resourcev1.ManagedResourceList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("read the members of ResourceGroup %s/%s: %w", namespace, name, err)
	}
	members := slices.DeleteFunc(list.Items, func(r resourcev1.ManagedResource) bool { return r.Spec.ResourceGroup != name })
	ips, hidden, err := publicIPs(ctx, c)
	if err != nil {
		return nil, err
	}
	root := object("ResourceGroup", group)
	root.Details = append(root.Details, ofGroup(group, members)...)
	root.Details = append(root.Details, hidden...)
	for i := range members {
		root.Children = append(root.Children, member(&members[i], ips))
	}
	slices.SortStableFunc(root.Children, func(a, b *describe.Object) int {
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(a.Name, b.Name))
	})
	return root, nil
}

// ManagedResource reads a host with its public address.
func ManagedResource(ctx context.Context, c client.Client, namespace, name string) (*describe.Object, error) {
	resource := &resourcev1.ManagedResource{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, resource); err != nil {
		return nil, fmt.Errorf("read ManagedResource %s/%s: %w", namespace, name, err)
	}
	ips, hidden, err := publicIPs(ctx, c)
	if err != nil {
		return nil, err
	}
	root := member(resource, ips)
	root.Details = append([]describe.Detail{{Name: "group", Text: resource.Spec.ResourceGroup}}, root.Details...)
	root.Details = append(root.Details, hidden...)
	return root, nil
}

// publicIPs that there are. Not every user who may read a network may read them: then only that is said.
func publicIPs(ctx context.Context, c client.Reader) ([]networkfabricv1.PublicIP, []describe.Detail, error) {
	list := &networkfabricv1.PublicIPList{}
	switch err := c.List(ctx, list); {
	case apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		return nil, []describe.Detail{{Name: "PublicIPs not shown:", Text: err.Error()}}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read the PublicIPs: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b networkfabricv1.PublicIP) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil, nil
}

// conditioned is an object of Hydrazine's.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

func object(kind string, from conditioned) *describe.Object {
	o := &describe.Object{
		Kind: kind, Name: from.GetName(), Conditions: slices.Clone(from.GetConditions()),
		Apart: []string{resourcev1.PropagatedCondition},
	}
	slices.SortFunc(o.Conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	o.State = meta.FindStatusCondition(o.Conditions, resourcev1.ReadyCondition)
	if o.State == nil { // not reconciled yet
		o.State = &metav1.Condition{Type: resourcev1.ReadyCondition, Status: metav1.ConditionUnknown}
	}
	if at := from.GetDeletionTimestamp(); at != nil {
		o.Details = append(o.Details, describe.Detail{Name: "deleted", Time: at})
	}
	return o
}

// urgency of an object: what isn't as wanted comes first.
func urgency(o *describe.Object) int {
	for _, child := range o.Children {
		if urgency(child) == 0 {
			return 0
		}
	}
	if o.State.Status != metav1.ConditionTrue || len(o.Waiting()) > 0 {
		return 0
	}
	return 1
}

func ofGroup(group *resourcev1.ResourceGroup, members []resourcev1.ManagedResource) []describe.Detail {
	details := []describe.Detail{{Name: "network", Text: network(group.Spec.Network)}}
	if second := group.Spec.SecondNetwork; second != nil {
		details = append(details, describe.Detail{Name: "second network", Text: network(second)})
	}
	if group.Spec.NetworkImplementationType == resourcev1.FabricNetwork {
		details = append(details, describe.Detail{Name: "carried by", Text: "the fabric"})
	}
	if group.Spec.DHCPServer != "" {
		text := string(group.Spec.DHCPServer)
		if at := group.Status.SoftwareNetworkConfiguration; at != nil && at.DHCPCircuitID != "" {
			text += ", which knows the group as " + at.DHCPCircuitID
		}
		details = append(details, describe.Detail{Name: "DHCP server", Text: text})
	}
	if at := group.Status.SoftwareNetworkConfiguration; at != nil {
		details = append(details, describe.Detail{Name: "OVN central", Text: at.OvnService + ", for DPUs at " + at.Southbound})
	}
	if p := group.Status.Propagation; p != nil {
		details = append(details, describe.Detail{Name: "propagation", Text: fmt.Sprintf("%d of %s have change %d", p.Current, count(int(p.DPUs), "DPU"), p.Change)})
	}
	for _, s := range group.Spec.SecurityGroups {
		details = append(details, describe.Detail{Name: "security group", Text: fmt.Sprintf("%s, %s, %s", s.Name,
			count(len(s.Rules), "rule"), count(inSecurityGroup(s.Name, members), "member"))})
	}
	return details
}

func network(n *resourcev1.IPNet) string {
	if n == nil {
		return "none"
	}
	text := fmt.Sprintf("%s/%d", n.IP, n.PrefixLength)
	if _, gateway, err := n.Parse(); err == nil {
		text += ", gateway " + gateway.String()
	}
	return text
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// inSecurityGroup counts the members that name a security group, or none where it is the one for those.
func inSecurityGroup(name string, members []resourcev1.ManagedResource) (n int) {
	for i := range members {
		named := members[i].Spec.SecurityGroups
		if slices.Contains(named, name) || len(named) == 0 && name == resourcev1.DefaultSecurityGroup {
			n++
		}
	}
	return n
}

func member(r *resourcev1.ManagedResource, ips []networkfabricv1.PublicIP) *describe.Object {
	o := object("ManagedResource", r)
	o.Details = append(o.Details, describe.Detail{Name: "addresses", Text: addresses(r.Spec.HostIP, r.Status.HostAccessIPs)})
	if r.Spec.SecondHostIP != "" {
		o.Details = append(o.Details, describe.Detail{Name: "second addresses", Text: addresses(r.Spec.SecondHostIP, r.Status.SecondHostAccessIPs)})
	}
	o.Details = append(o.Details, describe.Detail{Name: "DPU", Text: dpu(r)})
	if len(r.Spec.SecurityGroups) > 0 {
		o.Details = append(o.Details, describe.Detail{Name: "in security groups", Text: strings.Join(r.Spec.SecurityGroups, ", ")})
	}
	if r.Spec.State == resourcev1.Isolated {
		o.Details = append(o.Details, describe.Detail{Name: "to be isolated"})
	}
	if at := r.Status.LeaseExpires; at != nil {
		o.Details = append(o.Details, describe.Detail{Name: "lease ends", Time: at})
	}
	if at := r.Status.LastReport; at != nil { // all of the status is as old, where it isn't renewed
		o.Details = append(o.Details, describe.Detail{Name: "last report", Time: at})
	}
	for i := range ips {
		if of := ips[i].Status.ManagedResource; of != nil && of.UID == r.UID {
			o.Children = append(o.Children, publicIP(&ips[i]))
		}
	}
	return o
}

// addresses that a host is reached by. Its own it has in any case.
func addresses(host resourcev1.IPAddress, ips *resourcev1.IPAssociation) string {
	text := "host " + string(host)
	if ips != nil && ips.FabricIP != "" {
		text += ", fabric " + string(ips.FabricIP)
	}
	if ips != nil && ips.PublicIP != "" {
		text += ", public " + string(ips.PublicIP)
	}
	return text
}

// dpu that a host is at, or is to be.
func dpu(r *resourcev1.ManagedResource) string {
	if at := r.Status.LogicalPortReference; at != nil {
		return fmt.Sprintf("%s at %s, logical port %s", at.DPU, cmp.Or(at.Agent, r.Spec.DPUIPs[0]), at.LogicalPort)
	}
	return "at " + string(r.Spec.DPUIPs[0])
}
