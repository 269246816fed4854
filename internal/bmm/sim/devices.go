package sim

import (
	"fmt"
	"slices"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

func (s *Server) capabilities(typeID string) []api.MachineCapability {
	instanceType, _ := s.instanceType(typeID) // of the world, like its machines
	return instanceType.Capabilities
}

// devices returns how many devices a machine has of each name.
func devices(
	all []api.MachineCapability, kind api.MachineCapabilityType, deviceType api.MachineCapabilityDeviceType,
) map[string]int {
	counts := map[string]int{}
	for _, c := range all {
		if c.Type == kind && (deviceType == "" || c.DeviceType == deviceType) {
			counts[c.Name] = c.Count
		}
	}
	return counts
}

// checkDevices checks the DPUs that interfaces name.
func checkDevices(wanted []api.InterfaceCreateRequest, capabilities []api.MachineCapability) error {
	dpus := devices(capabilities, api.MachineCapabilityTypeNetwork, api.MachineCapabilityDeviceTypeDPU)
	seen := map[string]bool{}
	for _, r := range wanted {
		if r.Device == "" {
			return nil // then none does
		}
		if len(dpus) == 0 {
			return bad("Device and Device Instance cannot be specified if Instance Type doesn't have " +
				"Network Capability with DPU device type")
		}
		if err := checkDevice(r.Device, *r.DeviceInstance, dpus); err != nil {
			return err
		}
		use := fmt.Sprintf("%s %d %t %d", r.Device, *r.DeviceInstance, r.IsPhysical, r.VirtualFunctionID)
		if r.IsPhysical {
			use = fmt.Sprintf("%s %d physical", r.Device, *r.DeviceInstance)
		}
		if seen[use] {
			return badField("deviceInstance", "%d is used by more than one Interface", *r.DeviceInstance)
		}
		seen[use] = true
	}
	return nil
}

func checkDevice(name string, number int, have map[string]int) error {
	count, known := have[name]
	switch {
	case !known:
		return badField("device", "Device: %s is not among the Machine Capabilities", name)
	case number >= count:
		return badField("deviceInstance", "%d exceeds the number of devices: %d", number, count)
	}
	return nil
}

func (s *Server) checkInfiniBand(
	m maker, wanted []api.InfiniBandInterfaceCreateRequest, capabilities []api.MachineCapability, siteID string,
) error {
	cards := devices(capabilities, api.MachineCapabilityTypeInfiniBand, "")
	seen := map[string]bool{}
	for _, r := range wanted {
		switch {
		case !r.IsPhysical:
			return badField("isPhysical", "must be true: virtual functions are not supported for InfiniBand Interfaces")
		case r.VirtualFunctionID != 0:
			return badField("virtualFunctionId", "cannot be specified for physical InfiniBand Interfaces")
		case len(cards) == 0:
			return bad("InfiniBand Interfaces cannot be specified if Instance Type doesn't have InfiniBand Capability")
		}
		err := s.checkPartition(s.config.InfiniBandPartitions, "InfiniBand Partition", r.PartitionID, m.tenantID, siteID)
		if err != nil {
			return err
		}
		if err := checkDevice(r.Device, r.DeviceInstance, cards); err != nil {
			return err
		}
		use := fmt.Sprintf("%s %d", r.Device, r.DeviceInstance)
		if seen[use] {
			return badField("deviceInstance", "%d is used by more than one InfiniBand Interface", r.DeviceInstance)
		}
		seen[use] = true
	}
	return nil
}

// nvLinks checks the interfaces of a request. Without any, all GPUs join the partition of the VPC, if it has one.
func (s *Server) nvLinks(
	m maker, wanted []api.NVLinkInterfaceCreateRequest, capabilities []api.MachineCapability, v *vpc,
) ([]api.NVLinkInterfaceCreateRequest, error) {
	gpus := 0
	for _, n := range devices(capabilities, api.MachineCapabilityTypeGPU, api.MachineCapabilityDeviceTypeNVLink) {
		gpus += n
	}
	if len(wanted) == 0 && v.partitionID != "" {
		for gpu := range gpus {
			wanted = append(wanted, api.NVLinkInterfaceCreateRequest{
				NVLinkLogicalPartitionID: v.partitionID, DeviceInstance: gpu,
			})
		}
		return wanted, nil
	}
	var seen []int
	site, _ := s.site(v.siteID) // sites don't go
	for _, r := range wanted {
		partition := r.NVLinkLogicalPartitionID
		if gpus == 0 {
			return nil, bad("NVLink Interfaces cannot be specified if Instance Type doesn't have " +
				"GPU Capability with NVLink device type")
		}
		if err := s.checkLogicalPartition(partition, m.tenantID, site); err != nil {
			return nil, err
		}
		switch {
		case v.partitionID != "" && v.partitionID != partition:
			return nil, bad("NVLink Logical Partition: %s specified in request does not match with VPC", partition)
		case r.DeviceInstance >= gpus:
			return nil, badField("deviceInstance", "%d exceeds the number of GPUs: %d", r.DeviceInstance, gpus)
		case slices.Contains(seen, r.DeviceInstance):
			return nil, badField("deviceInstance", "%d is used by more than one NVLink Interface", r.DeviceInstance)
		}
		seen = append(seen, r.DeviceInstance)
	}
	return wanted, nil
}
