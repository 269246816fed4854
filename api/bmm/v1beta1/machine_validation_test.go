package v1beta1_test

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	. "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

func validMachine() *NvidiaBMMMachine {
	return &NvidiaBMMMachine{Spec: NvidiaBMMMachineSpec{InstanceSpec: InstanceSpec{
		InstanceType:    InstanceTypeReference{ID: id},
		OperatingSystem: OperatingSystemReference{ID: id},
		Network:         NetworkSpec{NetworkInterface: NetworkInterface{SubnetName: "nodes"}},
	}}}
}

func TestMachine_isCheckedWhenItIsCreated(t *testing.T) {
	t.Parallel()
	checkCreate(t, validMachine, []refusal[*NvidiaBMMMachine]{
		{"a valid one", func(*NvidiaBMMMachine) {}, ""},
		{"a name of one letter", func(m *NvidiaBMMMachine) { m.Name = "a" }, "metadata: Invalid value: the instance gets the name of this object, and the BMM API requires at least two characters"},
		{"of two", func(m *NvidiaBMMMachine) { m.Name = "ab" }, ""},
		{"no instance type", func(m *NvidiaBMMMachine) { m.Spec.InstanceType = InstanceTypeReference{} }, "spec.instanceType: Required value"},
		{"a type and a machine", func(m *NvidiaBMMMachine) { m.Spec.InstanceType.MachineID = "fm1" }, "exactly one of id and machineID must be set"},
		{"a type that is no UUID", func(m *NvidiaBMMMachine) { m.Spec.InstanceType.ID = noID }, "spec.instanceType.id"},
		{"an operating system that is no UUID", func(m *NvidiaBMMMachine) { m.Spec.OperatingSystem.ID = noID }, "spec.operatingSystem.id"},
		{"a machine", func(m *NvidiaBMMMachine) {
			m.Spec.InstanceType = InstanceTypeReference{MachineID: "fm1", AllowUnhealthyMachine: ptr.To(true)}
		}, ""},
		{"an unhealthy machine of a type", func(m *NvidiaBMMMachine) { m.Spec.InstanceType.AllowUnhealthyMachine = ptr.To(true) }, "allowUnhealthyMachine goes with machineID"},
		{"no operating system", func(m *NvidiaBMMMachine) { m.Spec.OperatingSystem = OperatingSystemReference{} }, "spec.operatingSystem: Required value"},
		{"an operating system that only has a name", func(m *NvidiaBMMMachine) {
			m.Spec.OperatingSystem = OperatingSystemReference{Type: "ubuntu", Version: "24.04"}
		},
			"spec.operatingSystem: Invalid value: exactly one of id and ipxeScript must be set"},
		{"a script", func(m *NvidiaBMMMachine) {
			m.Spec.OperatingSystem = OperatingSystemReference{IPXEScript: "#!ipxe\nboot"}
			m.Spec.AlwaysBootWithCustomIpxe = ptr.To(true)
		}, ""},
		{"an operating system and a script", func(m *NvidiaBMMMachine) { m.Spec.OperatingSystem.IPXEScript = "#!ipxe\nboot" }, "exactly one of id and ipxeScript must be set"},
		{"a key group that is no UUID", func(m *NvidiaBMMMachine) { m.Spec.SSHKeyGroups = []string{noID} }, "spec.sshKeyGroups[0]"},
		{"a key group twice", func(m *NvidiaBMMMachine) { m.Spec.SSHKeyGroups = []string{id, id} }, "spec.sshKeyGroups[1]: Duplicate value"},
		{"a label of Bedplate's", func(m *NvidiaBMMMachine) { m.Spec.Labels = ResourceLabels{"bedplate-key": "x"} }, "labels that begin with bedplate- are reserved"},
		{"too many labels", func(m *NvidiaBMMMachine) {
			m.Spec.Labels = ResourceLabels{}
			for i := range 8 {
				m.Spec.Labels[fmt.Sprint("label-", i)] = "x"
			}
		}, "spec.labels: Too many: 8: must have at most 7 items"},
	})
}

// Each row is checked as the first interface and as an additional one.
func TestMachine_eachInterfaceIsChecked(t *testing.T) {
	t.Parallel()
	prefix := func(change func(*NetworkInterface)) NetworkInterface {
		i := NetworkInterface{VPCPrefixName: "nodes"}
		change(&i)
		return i
	}
	device := func(change func(*NetworkInterface)) NetworkInterface {
		i := NetworkInterface{VPCPrefixName: "nodes", Device: "BlueField", DeviceInstance: ptr.To[int32](0), IsPhysical: ptr.To(true)}
		change(&i)
		return i
	}
	odd := ".ipAddress: Invalid value: … ipAddress must be an IPv4 address with an odd last number"
	var first, additional []refusal[*NvidiaBMMMachine]
	for _, row := range []struct {
		name    string
		wanted  NetworkInterface
		message string // behind the path of the interface
	}{
		{"a subnet", NetworkInterface{SubnetName: "nodes"}, ""},
		{"a prefix", prefix(func(*NetworkInterface) {}), ""},
		{"a subnet and a prefix", prefix(func(i *NetworkInterface) { i.SubnetName = "nodes" }),
			": Invalid value: an interface is either in a subnet or in a VPC prefix: remove subnetName or vpcPrefixName"},
		{"an address in a prefix", prefix(func(i *NetworkInterface) { i.IPAddress = "10.0.0.11" }), ""},
		{"an address in a subnet", NetworkInterface{SubnetName: "nodes", IPAddress: "10.0.0.11"},
			".ipAddress: Invalid value: an address can be chosen in a VPC prefix only: remove ipAddress, or use vpcPrefixName"},
		{"an even address", prefix(func(i *NetworkInterface) { i.IPAddress = "10.0.0.10" }), odd},
		{"an address that is none", prefix(func(i *NetworkInterface) { i.IPAddress = "10.0.0.256" }), odd},
		{"an IPv6 address", prefix(func(i *NetworkInterface) { i.IPAddress = "fd00::1" }), odd},

		{"a physical device", device(func(*NetworkInterface) {}), ""},
		{"a virtual function of a device", device(func(i *NetworkInterface) { i.IsPhysical, i.VirtualFunctionID = nil, ptr.To[int32](16) }), ""},
		{"a device without an instance", device(func(i *NetworkInterface) { i.DeviceInstance = nil }), ": Invalid value: device and deviceInstance go together"},
		{"an instance without a device", device(func(i *NetworkInterface) { i.Device = "" }), ": Invalid value: device and deviceInstance go together"},
		{"a device in a subnet", device(func(i *NetworkInterface) { i.SubnetName, i.VPCPrefixName = "nodes", "" }),
			".device: Invalid value: a device can be chosen in a VPC prefix only: remove device and deviceInstance, or use vpcPrefixName"},
		{"a device without a function", device(func(i *NetworkInterface) { i.IsPhysical = nil }),
			": Invalid value: an interface with a device is physical or a virtual function: set isPhysical to true, or virtualFunctionID"},
		{"a negative instance", device(func(i *NetworkInterface) { i.DeviceInstance = ptr.To[int32](-1) }), ".deviceInstance: Invalid value"},
		{"a virtual function", prefix(func(i *NetworkInterface) { i.VirtualFunctionID = ptr.To[int32](1) }), ""},
		{"virtual function 0", prefix(func(i *NetworkInterface) { i.VirtualFunctionID = ptr.To[int32](0) }), ".virtualFunctionID: Invalid value"},
		{"virtual function 17", prefix(func(i *NetworkInterface) { i.VirtualFunctionID = ptr.To[int32](17) }), ".virtualFunctionID: Invalid value"},
		{"a physical virtual function", prefix(func(i *NetworkInterface) { i.VirtualFunctionID, i.IsPhysical = ptr.To[int32](1), ptr.To(true) }),
			".virtualFunctionID: Invalid value: an interface is either physical or a virtual function: remove virtualFunctionID or isPhysical"},
	} {
		at := func(path string) string {
			if row.message == "" {
				return ""
			}
			return path + row.message
		}
		first = append(first, refusal[*NvidiaBMMMachine]{row.name, func(m *NvidiaBMMMachine) {
			m.Spec.Network = NetworkSpec{NetworkInterface: row.wanted}
		}, at("spec.network")})
		additional = append(additional, refusal[*NvidiaBMMMachine]{row.name, func(m *NvidiaBMMMachine) {
			m.Spec.Network = NetworkSpec{AdditionalInterfaces: []NetworkInterface{row.wanted}}
			if row.wanted.Device != "" { // all interfaces name one, or none does
				m.Spec.Network.NetworkInterface = device(func(i *NetworkInterface) { i.DeviceInstance = ptr.To[int32](1) })
			}
		}, at("spec.network.additionalInterfaces[0]")})
	}
	t.Run("first", func(t *testing.T) { checkCreate(t, validMachine, first) })
	t.Run("additional", func(t *testing.T) { checkCreate(t, validMachine, additional) })
}

func TestMachine_itsInterfacesFitTogether(t *testing.T) {
	t.Parallel()
	interfaces := func(first NetworkInterface, additional ...NetworkInterface) func(*NvidiaBMMMachine) {
		return func(m *NvidiaBMMMachine) {
			m.Spec.Network = NetworkSpec{NetworkInterface: first, AdditionalInterfaces: additional}
		}
	}
	subnet, prefix := NetworkInterface{SubnetName: "storage"}, NetworkInterface{VPCPrefixName: "storage"}
	physical := func(name string) NetworkInterface {
		return NetworkInterface{SubnetName: name, IsPhysical: ptr.To(true)}
	}
	device := func(instance, function int32) NetworkInterface {
		i := NetworkInterface{VPCPrefixName: "storage", Device: "BlueField", DeviceInstance: &instance}
		if i.VirtualFunctionID = &function; function == 0 {
			i.VirtualFunctionID, i.IsPhysical = nil, ptr.To(true)
		}
		return i
	}
	function := func(n int32) NetworkInterface { return NetworkInterface{SubnetName: "storage", VirtualFunctionID: &n} }
	mixed := "spec.network: Invalid value: the interfaces of an instance are either all in subnets or all in VPC prefixes"
	twice := "spec.network: Invalid value: two interfaces name the same device and function: each can be used once"
	checkCreate(t, validMachine, []refusal[*NvidiaBMMMachine]{
		{"three in subnets", interfaces(subnet, subnet, subnet), ""},
		{"the first in the subnet of its role", interfaces(NetworkInterface{}, subnet), ""},
		{"the first anywhere", func(m *NvidiaBMMMachine) { m.Spec.Network = NetworkSpec{} }, ""},
		{"the first anywhere with an address", interfaces(NetworkInterface{IPAddress: "10.0.0.11"}), ""},
		{"a security group of our own", func(m *NvidiaBMMMachine) { m.Spec.Network.NetworkSecurityGroupID = id }, ""},
		{"a security group that is no UUID", func(m *NvidiaBMMMachine) { m.Spec.Network.NetworkSecurityGroupID = noID }, "spec.network.networkSecurityGroupID"},
		{"one without a network", interfaces(subnet, NetworkInterface{}), "spec.network.additionalInterfaces[0]: Invalid value: exactly one of subnetName and vpcPrefixName must be set"},
		{"one with two networks", interfaces(subnet, NetworkInterface{SubnetName: "a", VPCPrefixName: "a"}), "spec.network.additionalInterfaces[0]: Invalid value: an interface is either"},
		{"a subnet and a prefix", interfaces(subnet, prefix), mixed},
		{"a prefix and a subnet behind the one of its role", interfaces(NetworkInterface{}, prefix, subnet), mixed},
		{"too many", interfaces(subnet, make([]NetworkInterface, 16)...), "spec.network.additionalInterfaces: Too many: 16: must have at most 15 items"},
		{"one of them physical", interfaces(subnet, physical("storage")), ""},
		{"two of them physical", interfaces(physical("nodes"), physical("storage")), "spec.network: Invalid value: only one interface of an instance can be physical, unless all name their devices"},
		{"two physical devices", interfaces(device(0, 0), device(1, 0)), ""},
		{"devices and none", interfaces(device(0, 0), prefix), "spec.network: Invalid value: either all interfaces of an instance name a device, or none does"},
		{"functions of one device", interfaces(device(0, 0), device(0, 1), device(0, 2)), ""},
		{"a device twice", interfaces(device(0, 0), device(0, 0)), twice},
		{"a function of a device twice", interfaces(device(0, 0), device(0, 1), device(0, 1)), twice},
		{"virtual functions", interfaces(subnet, function(1), function(2)), ""},
		{"a virtual function twice", interfaces(function(1), function(2), function(1)), twice},
	})
}

func TestMachine_itsOtherDevicesAreChecked(t *testing.T) {
	t.Parallel()
	infiniBand := func(interfaces ...InfiniBandInterface) func(*NvidiaBMMMachine) {
		return func(m *NvidiaBMMMachine) { m.Spec.InfiniBandInterfaces = interfaces }
	}
	nvlink := func(interfaces ...NVLinkInterface) func(*NvidiaBMMMachine) {
		return func(m *NvidiaBMMMachine) { m.Spec.NVLinkInterfaces = interfaces }
	}
	services := func(services ...DPUExtensionService) func(*NvidiaBMMMachine) {
		return func(m *NvidiaBMMMachine) { m.Spec.DPUExtensionServices = services }
	}
	checkCreate(t, validMachine, []refusal[*NvidiaBMMMachine]{
		{"two InfiniBand devices", infiniBand(InfiniBandInterface{PartitionID: id, Device: "ConnectX"}, InfiniBandInterface{PartitionID: id, Device: "ConnectX", DeviceInstance: ptr.To[int32](1)}), ""},
		{"an InfiniBand device twice", infiniBand(InfiniBandInterface{PartitionID: id, Device: "ConnectX"}, InfiniBandInterface{PartitionID: otherID, Device: "ConnectX"}), "spec.infiniBandInterfaces[1]: Duplicate value"},
		{"an InfiniBand partition that is no UUID", infiniBand(InfiniBandInterface{PartitionID: noID, Device: "ConnectX"}), "spec.infiniBandInterfaces[0].partitionID"},
		{"no InfiniBand device", infiniBand(InfiniBandInterface{PartitionID: id}), "spec.infiniBandInterfaces[0].device: Required value"},
		{"an InfiniBand device with a negative index", infiniBand(InfiniBandInterface{PartitionID: id, Device: "ConnectX", DeviceInstance: ptr.To[int32](-1)}), "spec.infiniBandInterfaces[0].deviceInstance"},
		{"a virtual InfiniBand device", infiniBand(InfiniBandInterface{PartitionID: id, Device: "ConnectX", IsPhysical: ptr.To(false)}),
			"spec.infiniBandInterfaces[0].isPhysical: Invalid value: … isPhysical must be true: the BMM API has no virtual functions of InfiniBand devices"},
		{"four GPUs", nvlink(NVLinkInterface{LogicalPartitionID: id}, NVLinkInterface{id, ptr.To[int32](1)}, NVLinkInterface{id, ptr.To[int32](2)}, NVLinkInterface{id, ptr.To[int32](3)}), ""},
		{"a GPU twice", nvlink(NVLinkInterface{id, ptr.To[int32](1)}, NVLinkInterface{otherID, ptr.To[int32](1)}), "spec.nvlinkInterfaces[1]: Duplicate value"},
		{"a GPU with a negative index", nvlink(NVLinkInterface{id, ptr.To[int32](-1)}), "spec.nvlinkInterfaces[0].deviceInstance"},
		{"a GPU without a partition", nvlink(NVLinkInterface{DeviceInstance: ptr.To[int32](0)}), "spec.nvlinkInterfaces[0].logicalPartitionID: Required value"},
		{"a GPU that isn't there", nvlink(NVLinkInterface{id, ptr.To[int32](4)}), "spec.nvlinkInterfaces[0].deviceInstance"},
		{"an NVLink partition that is no UUID", nvlink(NVLinkInterface{LogicalPartitionID: noID}), "spec.nvlinkInterfaces[0].logicalPartitionID"},
		{"two services", services(DPUExtensionService{id, "v1"}, DPUExtensionService{otherID, "v1"}), ""},
		{"a service twice", services(DPUExtensionService{id, "v1"}, DPUExtensionService{id, "v1"}), "spec.dpuExtensionServices[1]: Duplicate value"},
		{"a service without a version", services(DPUExtensionService{ServiceID: id}), "spec.dpuExtensionServices[0].version: Required value"},
		{"a service that is no UUID", services(DPUExtensionService{noID, "v1"}), "spec.dpuExtensionServices[0].serviceID"},
	})
}

func TestMachine_isCheckedWhenItIsChanged(t *testing.T) {
	t.Parallel()
	bound := func() *NvidiaBMMMachine {
		m := validMachine()
		m.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id
		return m
	}
	checkUpdate(t, bound, []refusal[*NvidiaBMMMachine]{
		{"another provider ID", func(m *NvidiaBMMMachine) { m.Spec.ProviderID = "nvidia-bmm://other" }, "Bedplate sets providerID when the instance exists"},
		{"no provider ID", func(m *NvidiaBMMMachine) { m.Spec.ProviderID = "" }, "providerID is immutable once it is set"},
		{"another type", func(m *NvidiaBMMMachine) { m.Spec.InstanceType = InstanceTypeReference{MachineID: "fm1"} },
			"spec.instanceType: Invalid value: instanceType is immutable: the instance gets it when it is created. Make another machine"},
		{"another system", func(m *NvidiaBMMMachine) { m.Spec.OperatingSystem.ID = otherID }, "spec.operatingSystem: Invalid value: operatingSystem is immutable"},
		{"another way to boot", func(m *NvidiaBMMMachine) { m.Spec.AlwaysBootWithCustomIpxe = ptr.To(true) }, "spec.alwaysBootWithCustomIpxe: Invalid value: alwaysBootWithCustomIpxe is immutable"},
		{"phone-home", func(m *NvidiaBMMMachine) { m.Spec.PhoneHomeEnabled = ptr.To(true) }, "spec.phoneHomeEnabled: Invalid value: phoneHomeEnabled is immutable"},
		{"another network", func(m *NvidiaBMMMachine) { m.Spec.Network.SubnetName = "other" }, "spec.network: Invalid value: network is immutable"},
		{"no network", func(m *NvidiaBMMMachine) { m.Spec.Network = NetworkSpec{} }, "network is immutable"},
		{"InfiniBand", func(m *NvidiaBMMMachine) {
			m.Spec.InfiniBandInterfaces = []InfiniBandInterface{{PartitionID: id, Device: "ConnectX"}}
		}, "spec.infiniBandInterfaces: Invalid value: infiniBandInterfaces are immutable"},
		{"NVLink", func(m *NvidiaBMMMachine) { m.Spec.NVLinkInterfaces = []NVLinkInterface{{LogicalPartitionID: id}} }, "spec.nvlinkInterfaces: Invalid value: nvlinkInterfaces are immutable"},
		{"services", func(m *NvidiaBMMMachine) { m.Spec.DPUExtensionServices = []DPUExtensionService{{id, "v1"}} }, "spec.dpuExtensionServices: Invalid value: dpuExtensionServices are immutable"},
		{"new labels", func(m *NvidiaBMMMachine) { m.Spec.Labels = ResourceLabels{"a": "b"} }, "spec.labels: Invalid value: labels are immutable"},
		{"new key groups", func(m *NvidiaBMMMachine) { m.Spec.SSHKeyGroups = []string{id} }, "spec.sshKeyGroups: Invalid value: sshKeyGroups are immutable"},
		{"a new description", func(m *NvidiaBMMMachine) { m.Spec.Description = "x" }, "spec.description: Invalid value: description is immutable"},
	})
	made := func() *NvidiaBMMMachine {
		m := validMachine()
		m.Status.InstanceID = id
		return m
	}
	checkUpdate(t, made, []refusal[*NvidiaBMMMachine]{
		{"the provider ID of its instance", func(m *NvidiaBMMMachine) { m.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id }, ""},
		{"that of another", func(m *NvidiaBMMMachine) { m.Spec.ProviderID = "nvidia-bmm://" + id + "/" + otherID }, "Bedplate sets providerID"},
	})
	checkUpdate(t, validMachine, []refusal[*NvidiaBMMMachine]{
		{"a provider ID before there is an instance", func(m *NvidiaBMMMachine) { m.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id }, "Bedplate sets providerID"},
	})
}
