package cluster

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// project shows the ledger in the status. What the ledger names and wasn't looked at in this reconcile stays as it was.
func (n *networks) project() {
	status := &n.object.Status
	status.SiteID, status.IPBlockID, status.VPCID = n.site.ID(), n.ipBlock.ID(), n.vpc.ID()
	status.ParentIPBlockID, status.AllocationID, status.NetworkSecurityGroupID = "", "", ""
	if n.parentBlock != nil {
		status.ParentIPBlockID, status.AllocationID = n.parentBlock.ID(), n.allocation.ID()
	}
	if n.group != nil {
		status.NetworkSecurityGroupID = n.group.ID()
	}
	n.projectSubnets(status)
	n.projectPrefixes(status)
	status.VPCPeerings = nil
	for _, handle := range n.peerings {
		if handle.ID() != "" {
			status.VPCPeerings = append(status.VPCPeerings, infrav1.VPCPeeringStatus{PeerVPCID: nameIn(handle.Key()), ID: handle.ID()})
		}
	}
	status.FailureDomains = failureDomains(n.object.Spec.FailureDomains)
	if provisioned(status.Conditions) {
		status.Initialization.Provisioned = ptr.To(true)
	}
}

// provisioned is true when machines can be made. A peering may wait for the owner of the other VPC, and nobody else has to.
func provisioned(conditions []metav1.Condition) bool {
	for _, c := range conditions {
		waits := c.Type == infrav1.VPCPeeringsReadyCondition || c.Type == infrav1.ReadyCondition || c.Type == clusterv1.PausedCondition
		if c.Status != metav1.ConditionTrue && !waits {
			return false
		}
	}
	return meta.IsStatusConditionTrue(conditions, infrav1.VPCReadyCondition)
}

func (n *networks) projectSubnets(status *infrav1.NvidiaBMMClusterStatus) {
	known := map[string]infrav1.SubnetStatus{}
	for _, s := range status.Subnets {
		known[s.ID] = s
	}
	status.Subnets = nil
	for _, handle := range n.subnets {
		if handle.ID() == "" {
			continue
		}
		s := known[handle.ID()]
		s.Name, s.ID = nameIn(handle.Key()), handle.ID()
		if subnet := handle.Object(); subnet != nil {
			s.CIDR = cidr(subnet.Ipv4Prefix, subnet.PrefixLength)
		}
		status.Subnets = append(status.Subnets, s)
	}
}

func (n *networks) projectPrefixes(status *infrav1.NvidiaBMMClusterStatus) {
	known := map[string]infrav1.VPCPrefixStatus{}
	for _, p := range status.VPCPrefixes {
		known[p.ID] = p
	}
	status.VPCPrefixes = nil
	for _, handle := range n.prefixes {
		if handle.ID() == "" {
			continue
		}
		p := known[handle.ID()]
		p.Name, p.ID = nameIn(handle.Key()), handle.ID()
		if prefix := handle.Object(); prefix != nil {
			p.CIDR = cidr(prefix.Prefix, prefix.PrefixLength)
		}
		status.VPCPrefixes = append(status.VPCPrefixes, p)
	}
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
		domains = append(domains, clusterv1.FailureDomain{Name: spec.Name, ControlPlane: spec.ControlPlane, Attributes: attributes})
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
