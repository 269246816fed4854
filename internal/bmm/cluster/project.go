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

// project shows the ledger in the status. What the ledger names and wasn't looked at in this reconcile stays as it was.
func (n *networks) project() {
	status := &n.object.Status
	status.SiteID, status.IPBlockID = n.site.ID(), n.ipBlock.ID()
	n.show(&status.VPCID, n.vpc.ID())
	parentBlock, allocation, group := "", "", ""
	if n.parentBlock != nil {
		parentBlock, allocation = n.parentBlock.ID(), n.allocation.ID()
	}
	if n.group != nil {
		group = n.group.ID()
	}
	n.show(&status.ParentIPBlockID, parentBlock)
	n.show(&status.AllocationID, allocation)
	n.show(&status.NetworkSecurityGroupID, group)
	status.Subnets = ranges(n.graph, status.Subnets, n.subnets, func(s *bmm.Subnet) string {
		return cidr(s.Ipv4Prefix, s.PrefixLength)
	})
	status.VPCPrefixes = ranges(n.graph, status.VPCPrefixes, n.prefixes, func(p *bmm.VPCPrefix) string {
		return cidr(p.Prefix, p.PrefixLength)
	})
	status.VPCPeerings = slices.DeleteFunc(status.VPCPeerings, func(p infrav1.VPCPeeringStatus) bool { return !n.graph.Unproven(p.ID) })
	for _, handle := range n.peerings {
		if id := handle.ID(); id != "" {
			status.VPCPeerings = append(status.VPCPeerings, infrav1.VPCPeeringStatus{PeerVPCID: nameIn(handle.Key()), ID: id})
		}
	}
	status.FailureDomains = failureDomains(n.object.Spec.FailureDomains)
	if provisioned(status.Conditions) {
		status.Initialization.Provisioned = ptr.To(true)
		n.graph.MayMove()
	}
}

// show an ID in the status. What it shows and nothing says whose it is stays until that is known: then it would be lost.
func (n *networks) show(in *string, id string) {
	if !n.graph.Unproven(*in) {
		*in = id
	}
}

// projectLeft takes out of the status, during a deletion, what the ledger has no more.
func (n *networks) projectLeft() {
	status := &n.object.Status
	for _, id := range []*string{&status.ParentIPBlockID, &status.AllocationID, &status.NetworkSecurityGroupID, &status.VPCID} {
		if !n.graph.Names(*id) {
			*id = ""
		}
	}
	status.Subnets = slices.DeleteFunc(status.Subnets, func(s infrav1.SubnetStatus) bool { return !n.graph.Names(s.ID) })
	status.VPCPrefixes = slices.DeleteFunc(status.VPCPrefixes, func(p infrav1.VPCPrefixStatus) bool { return !n.graph.Names(p.ID) })
	status.VPCPeerings = slices.DeleteFunc(status.VPCPeerings, func(p infrav1.VPCPeeringStatus) bool { return !n.graph.Names(p.ID) })
}

// provisioned is true when machines can be made. A peering may wait for the owner of the other VPC, and nobody else has to. A
// group that is pending is attached already.
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

// ranges shows the subnets or VPC prefixes that exist. One that wasn't looked at in this reconcile keeps its CIDR.
func ranges[S infrav1.SubnetStatus | infrav1.VPCPrefixStatus, T any](
	g *graph.Graph, before []S, handles []*graph.Handle[T], cidrOf func(*T) string,
) []S {
	known := map[string]string{}
	var shown []S
	for _, b := range before {
		if known[infrav1.SubnetStatus(b).ID] = infrav1.SubnetStatus(b).CIDR; g.Unproven(infrav1.SubnetStatus(b).ID) {
			shown = append(shown, b)
		}
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
	return shown
}

// failureDomains are those of the spec, in the words of Cluster API's contract.
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
