package machine

import (
	"cmp"
	"slices"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// networkOf finds what an interface is attached to: for the first one, what the failure domain names; else what the
// interface names itself; else the network of the machine's role; else the only one. The phase says what is wrong, if it
// isn't ready.
func (n *node) networkOf(i infrav1.NetworkInterface, first bool) (instance.NetworkID, phases.Phase) {
	subnet, prefix := i.SubnetName, i.VPCPrefixName
	if domain, known := n.failureDomain(); first && known && domain.Name != "" {
		subnet, prefix = domain.SubnetName, domain.VPCPrefixName
	}
	if subnet == "" && prefix == "" {
		names := n.defaultNetworks()
		if len(names) != 1 {
			return instance.NetworkID{}, phases.Failed("NvidiaBMMCluster %s has %d networks for a machine that names none: replace this "+
				"machine by one with network.subnetName or network.vpcPrefixName, or give the networks roles",
				n.infra.Name, len(names)).Because("NoSuchNetwork")
		}
		subnet, prefix = names[0].Subnet, names[0].Prefix
	}
	return n.networkNamed(subnet, prefix)
}

// defaultNetworks are the names of the networks of the machine's role, or all where none has that.
func (n *node) defaultNetworks() []instance.NetworkID {
	role := infrav1.WorkerRole
	if n.isControlPlane() {
		role = infrav1.ControlPlaneRole
	}
	var all, ofRole []instance.NetworkID
	add := func(r infrav1.NetworkRole, name instance.NetworkID) {
		all = append(all, name)
		if r == role {
			ofRole = append(ofRole, name)
		}
	}
	for _, s := range n.infra.Spec.Subnets {
		add(s.Role, instance.NetworkID{Subnet: s.Name})
	}
	for _, p := range n.infra.Spec.VPCPrefixes {
		add(p.Role, instance.NetworkID{Prefix: p.Name})
	}
	if len(ofRole) > 0 {
		return ofRole
	}
	return all
}

// networkNamed is the network of a name, as the cluster's status has it. One that left the spec is being deleted.
func (n *node) networkNamed(subnet, prefix string) (instance.NetworkID, phases.Phase) {
	asked := slices.ContainsFunc(n.infra.Spec.Subnets, func(s infrav1.SubnetSpec) bool { return s.Name == subnet }) ||
		slices.ContainsFunc(n.infra.Spec.VPCPrefixes, func(p infrav1.VPCPrefixSpec) bool { return p.Name == prefix })
	for _, s := range n.infra.Status.Subnets {
		if asked && subnet != "" && s.Name == subnet {
			return instance.NetworkID{Subnet: s.ID}, phases.Ready()
		}
	}
	for _, p := range n.infra.Status.VPCPrefixes {
		if asked && prefix != "" && p.Name == prefix {
			return instance.NetworkID{Prefix: p.ID}, phases.Ready()
		}
	}
	what, field := "subnet", "network.subnetName"
	if prefix != "" {
		what, field = "VPC prefix", "network.vpcPrefixName"
	}
	return instance.NetworkID{}, phases.Failed("NvidiaBMMCluster %s has no %s %q: add it there, or replace this machine by one with "+
		"another %s", n.infra.Name, what, cmp.Or(subnet, prefix), field).Because("NoSuchNetwork")
}

// failureDomain is the one that Cluster API has chosen for the machine, as the cluster's spec has it; known is false if the
// cluster has none of that name.
func (n *node) failureDomain() (domain infrav1.FailureDomainSpec, known bool) {
	name := n.machine.Spec.FailureDomain
	for _, d := range n.infra.Spec.FailureDomains {
		if d.Name == name {
			return d, true
		}
	}
	return infrav1.FailureDomainSpec{}, name == ""
}

// networks of the interfaces, in the order of the spec.
func (n *node) networks() ([]instance.NetworkID, phases.Phase) {
	var networks []instance.NetworkID
	for index, i := range n.object.Spec.Network.Interfaces() {
		network, phase := n.networkOf(i, index == 0)
		if phase.State != phases.StateReady {
			return nil, phase
		}
		networks = append(networks, network)
	}
	return networks, phases.Ready()
}

// SecurityGroup is the one that is attached to the instance itself. A VPC of our own has the cluster's group, so that its
// instances need none; one of the user's own isn't touched. It isn't known until the cluster has found or created the group
// in its spec: until then no instance loses the one that it has. One that left the spec may still be in the status.
func (n *node) SecurityGroup() (id string, known bool) {
	if own := n.object.Spec.Network.NetworkSecurityGroupID; own != "" {
		return own, true
	}
	if n.infra == nil {
		return "", false
	}
	if n.infra.Spec.VPC.NetworkSecurityGroup == nil {
		return "", true
	}
	group := n.infra.Status.NetworkSecurityGroupID
	if n.infra.Spec.VPC.ID != "" {
		id = group
	}
	return id, group != ""
}
