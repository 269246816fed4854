package machine

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/providerid"
)

// project shows the virtual machine in spec.providerID and in the status. What wasn't seen stays as it was. It isn't complete if the
// machine is ready, and isn't provisioned: Cluster API reads spec.providerID then, which is written after the status.
func (n *node) project() (complete bool) {
	status, named := &n.object.Status, n.object.Spec.ProviderID != ""
	id := n.graph.ID(vmKey)
	status.InstanceID = cmp.Or(id, status.InstanceID)
	if n.in.Zone != "" {
		status.Zone, status.Region = n.in.Zone, ibm.PowerVSRegion(n.in.Zone)
	}
	if id != "" && !named {
		n.object.Spec.ProviderID = providerid.ProviderID{Region: status.Region, Zone: n.in.Zone, Workspace: n.in.ID, VM: id}.String()
	}
	if n.object.Spec.ProviderID != "" { // it is written anyway
		n.graph.MayMove()
	}
	if s := n.server(); s != nil {
		status.InstanceState, status.Health, status.Addresses = s.Status, s.Health.Status, addresses(s)
		if status.Fault = ""; s.Fault.Message+s.Fault.Details != "" {
			status.Fault = cmp.Or(s.Fault.Message, s.Fault.Details)
		}
	}
	if status.Ready = meta.IsStatusConditionTrue(status.Conditions, infrav1.ReadyCondition); !status.Ready {
		return true
	}
	if named {
		status.Initialization.Provisioned = ptr.To(true)
	}
	return named
}

// addresses of a virtual machine, as its node has them: its name, and those in all its networks.
func addresses(s *ibm.Server) []clusterv1.MachineAddress {
	var all []clusterv1.MachineAddress
	add := func(kind clusterv1.MachineAddressType, address string) {
		if address != "" {
			all = append(all, clusterv1.MachineAddress{Type: kind, Address: address})
		}
	}
	add(clusterv1.MachineInternalDNS, s.Name)
	add(clusterv1.MachineHostName, s.Name)
	for _, network := range s.Networks {
		add(clusterv1.MachineInternalIP, network.IP)
		add(clusterv1.MachineExternalIP, network.ExternalIP)
	}
	return all
}
