package cluster

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
)

// project shows the ledger in the status. What the ledger names and wasn't read in this reconcile stays as it was.
func (n *networks) project() {
	status := &n.object.Status
	status.SiteID, status.IPBlockID = n.site.ID(), n.ipBlock.ID()
	n.show(&status.VPCID, n.kinds.VPC.Name, n.vpc.ID(), true)
	parentBlock, allocation, group := "", "", ""
	if n.parentBlock != nil {
		parentBlock, allocation = n.parentBlock.ID(), n.allocation.ID()
	}
	if n.group != nil {
		group = n.group.ID()
	}
	n.show(&status.ParentIPBlockID, n.kinds.IPBlock.Name, parentBlock, n.parentBlock != nil)
	n.show(&status.AllocationID, n.kinds.Allocation.Name, allocation, n.parentBlock != nil)
	n.show(&status.NetworkSecurityGroupID, n.kinds.Group.Name, group, n.group != nil)
	status.Subnets = ranges(n.graph, n.kinds.Subnet, status.Subnets, n.subnets, func(s *bmm.Subnet) string {
		return cidr(s.Ipv4Prefix, s.PrefixLength)
	})
	status.VPCPrefixes = ranges(n.graph, n.kinds.Prefix, status.VPCPrefixes, n.prefixes, func(p *bmm.VPCPrefix) string {
		return cidr(p.Prefix, p.PrefixLength)
	})
	var peerings []infrav1.VPCPeeringStatus
	for _, handle := range n.peerings {
		if id := handle.ID(); id != "" {
			peerings = append(peerings, infrav1.VPCPeeringStatus{PeerVPCID: nameIn(handle.Key()), ID: id})
		}
	}
	for _, p := range status.VPCPeerings {
		isShown := func(other infrav1.VPCPeeringStatus) bool { return other.PeerVPCID == p.PeerVPCID }
		if n.graph.Names(n.kinds.Peering.Name, p.ID) && !slices.ContainsFunc(peerings, isShown) {
			peerings = append(peerings, p)
		}
	}
	status.VPCPeerings = peerings
	status.FailureDomains = failureDomains(n.object.Spec.FailureDomains)
	if provisioned(status.Conditions) {
		status.Initialization.Provisioned = ptr.To(true)
		n.graph.MayMove()
	}
}

// show an ID in the status. What left the spec stays until it is gone, and one of unproven ownership until that is known or there is another
// one: otherwise it would be lost with the ledger.
func (n *networks) show(in *string, kind, id string, wanted bool) {
	if id != "" || !n.graph.Unproven(kind, *in) && (wanted || !n.graph.Names(kind, *in)) {
		*in = id
	}
}

// projectLeft removes from the status, during a deletion, what the ledger doesn't have any more.
func (n *networks) projectLeft() {
	status, k := &n.object.Status, n.kinds
	for id, kind := range map[*string]string{
		&status.ParentIPBlockID: k.IPBlock.Name, &status.AllocationID: k.Allocation.Name, &status.NetworkSecurityGroupID: k.Group.Name,
		&status.VPCID: k.VPC.Name,
	} {
		if !n.graph.Names(kind, *id) {
			*id = ""
		}
	}
	status.Subnets = slices.DeleteFunc(status.Subnets, func(s infrav1.SubnetStatus) bool { return !n.graph.Names(k.Subnet.Name, s.ID) })
	status.VPCPrefixes = slices.DeleteFunc(status.VPCPrefixes, func(p infrav1.VPCPrefixStatus) bool { return !n.graph.Names(k.Prefix.Name, p.ID) })
	status.VPCPeerings = slices.DeleteFunc(status.VPCPeerings, func(p infrav1.VPCPeeringStatus) bool { return !n.graph.Names(k.Peering.Name, p.ID) })
}

// provisioned is true when machines can be created. They needn't wait for a peering, which may wait for the owner of the
// other VPC. A group that is pending is attached already.
func provisioned(conditions []metav1.Condition) bool {
	for _, c := range conditions {
		switch c.Type {
		case infrav1.VPCPeeringsReadyCondition, infrav1.ReadyCondition, clusterv1.PausedCondition:
			continue
		}
		if c.Status != metav1.ConditionTrue && (c.Type != infrav1.NSGReadyCondition || c.Reason != groupPending) {
			return false
		}
	}
	return meta.IsStatusConditionTrue(conditions, infrav1.VPCReadyCondition)
}

// ranges shows the subnets or VPC prefixes that exist, those among them that left the spec: a ledger from a backup may lack these, and
// the status is how they are found then. One that wasn't read in this reconcile keeps its CIDR. Each name occurs
// once: the API server refuses the whole status otherwise.
func ranges[S infrav1.SubnetStatus | infrav1.VPCPrefixStatus, T any](
	g *graph.Graph, kind *graph.Kind[T], before []S, handles []*graph.Handle[T], cidrOf func(*T) string,
) []S {
	known := map[string]string{}
	var shown []S
	for _, b := range before {
		known[infrav1.SubnetStatus(b).ID] = infrav1.SubnetStatus(b).CIDR
	}
	for _, handle := range handles {
		if handle.ID() == "" {
			continue
		}
		now := infrav1.SubnetStatus{Name: nameIn(handle.Key()), ID: handle.ID(), CIDR: known[handle.ID()]}
		if object := handle.Object(); object != nil {
			now.CIDR = cidrOf(object)
		}
		shown = append(shown, S(now))
	}
	for _, b := range before {
		isShown := func(s S) bool { return infrav1.SubnetStatus(s).Name == infrav1.SubnetStatus(b).Name }
		if g.Names(kind.Name, infrav1.SubnetStatus(b).ID) && !slices.ContainsFunc(shown, isShown) {
			shown = append(shown, b)
		}
	}
	return shown
}

// failureDomains are those of the spec, in the form of Cluster API's contract.
func failureDomains(specs []infrav1.FailureDomainSpec) []clusterv1.FailureDomain {
	var domains []clusterv1.FailureDomain
	for _, spec := range specs {
		attributes := map[string]string{}
		for name, value := range map[string]string{
			"subnetName": spec.SubnetName, "vpcPrefixName": spec.VPCPrefixName, "instanceTypeID": spec.InstanceTypeID,
		} {
			if value != "" {
				attributes[name] = value
			}
		}
		domains = append(domains, clusterv1.FailureDomain{
			Name: spec.Name, ControlPlane: spec.ControlPlane, Attributes: attributes,
		})
	}
	return domains
}

// nameIn is the NAME of a key KIND/NAME.
func nameIn(key string) string {
	_, name, _ := strings.Cut(key, "/")
	return name
}

// cidr of a range; the BMM API gives the prefix with or without its length.
func cidr(prefix string, length int) string {
	if prefix == "" || strings.Contains(prefix, "/") {
		return prefix
	}
	return fmt.Sprintf("%s/%d", prefix, length)
}
