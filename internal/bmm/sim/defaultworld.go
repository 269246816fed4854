package sim

import (
	"net/netip"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// What DefaultWorld contains.
const (
	DefaultOrg               = "acme"
	DefaultToken             = "simulator-token"
	DefaultProviderID        = "9407ede5-0000-4000-8000-000000000001"
	DefaultTenantID          = "7e4a0000-0000-4000-8000-000000000001"
	DefaultSiteID            = "517e0000-0000-4000-8000-000000000001"
	DefaultIPBlockID         = "1b10c000-0000-4000-8000-000000000001"
	DefaultInstanceTypeID    = "17fe0000-0000-4000-8000-000000000001"
	DefaultOperatingSystemID = "05000000-0000-4000-8000-000000000001"
	DefaultSSHKeyGroupID     = "55e40000-0000-4000-8000-000000000001"
)

// DefaultWorld is one site with one /16 IP block and eight machines of one type. Tests and the lab start from it.
func DefaultWorld() Config {
	return Config{
		Org: DefaultOrg, APIName: Carbide, Tokens: []string{DefaultToken},
		Tenant: Tenant{ID: DefaultTenantID, Name: "acme", TargetedInstanceCreation: true},
		Sites: []Site{{
			ID: DefaultSiteID, Name: "site-1", Location: "Zurich", SerialConsole: "console.site-1.example.com",
			NetworkSecurityGroup: true,
		}},
		IPBlocks: []IPBlock{{
			ID: DefaultIPBlockID, Name: "block-1", SiteID: DefaultSiteID, TenantID: DefaultTenantID,
			Prefix: netip.MustParseAddr("127.100.0.0"), PrefixLength: 16,
		}},
		InstanceTypes: []InstanceType{{
			ID: DefaultInstanceTypeID, Name: "cpu.large", SiteID: DefaultSiteID, Machines: 8,
			Capabilities: DefaultCapabilities(),
		}},
		OperatingSystems: []OperatingSystem{{ID: DefaultOperatingSystemID, Name: "ubuntu-24.04"}},
		SSHKeyGroups:     []SSHKeyGroup{{ID: DefaultSSHKeyGroupID, Name: "operators"}},
		Speed:            1,
		Seed:             1,
		Times:            DefaultTimes(),
	}
}

// DefaultCapabilities are those of the machines of DefaultWorld: 2 CPUs of 28 cores, 512 GB, a disk, 2 DPUs.
func DefaultCapabilities() []api.MachineCapability {
	return []api.MachineCapability{
		{Type: api.MachineCapabilityTypeCPU, Name: "Intel(R) Xeon(R) Gold 6330", Count: 2, Cores: 28, Threads: 56},
		{Type: api.MachineCapabilityTypeMemory, Name: "DDR4", Count: 16, Capacity: "32GB"},
		{Type: api.MachineCapabilityTypeStorage, Name: "NVMe SSD", Count: 1, Capacity: "1.92TB"},
		{Type: api.MachineCapabilityTypeNetwork, Name: DefaultDPU, Count: 2, DeviceType: api.MachineCapabilityDeviceTypeDPU},
	}
}

// DefaultDPU is the name of the network device of DefaultCapabilities.
const DefaultDPU = "MT43244 BlueField-3 integrated ConnectX-7 network controller"
