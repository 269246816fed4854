package sim

import (
	"net/netip"
	"slices"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// Tenant is a customer of the provider. Config.Tenant is that of the organisation.
type Tenant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// TargetedInstanceCreation lets the tenant choose the machine of an instance.
	TargetedInstanceCreation bool `json:"targetedInstanceCreation,omitempty"`
}

// tenant reports whether there is such a tenant.
func (c Config) tenant(id string) bool {
	return c.Tenant.ID == id || slices.ContainsFunc(c.OtherTenants, func(t Tenant) bool { return t.ID == id })
}

// Site is a data centre.
type Site struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Location string `json:"location,omitempty"`
	// SerialConsole is the host that instances' serial consoles are at.
	SerialConsole string `json:"serialConsole,omitempty"`
	// NativeNetworking makes FNN possible, and the default of new VPCs.
	NativeNetworking     bool `json:"nativeNetworking,omitempty"`
	NetworkSecurityGroup bool `json:"networkSecurityGroup,omitempty"`
	NVLinkPartition      bool `json:"nvLinkPartition,omitempty"`
}

// IPBlock is a range of addresses. That of a tenant is what subnets and VPC prefixes are cut from; one without a tenant
// is the provider's, and what allocations are cut from.
type IPBlock struct {
	ID           string     `json:"id"`
	Name         string     `json:"name"`
	SiteID       string     `json:"siteId"`
	TenantID     string     `json:"tenantId,omitempty"`
	Prefix       netip.Addr `json:"prefix"`
	PrefixLength int        `json:"prefixLength"`
}

func (b IPBlock) prefix() netip.Prefix { return netip.PrefixFrom(b.Prefix, b.PrefixLength) }

// InstanceType is a kind of machine.
type InstanceType struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	SiteID string `json:"siteId"`
	// Machines is the number of machines of this type.
	Machines int `json:"machines"`
	// MaxInstances is what the tenant has been allocated; 0 means that only the machines limit it.
	MaxInstances int `json:"maxInstances,omitempty"`
	// Unallocated means that the tenant has nothing but what a client allocates.
	Unallocated  bool                    `json:"unallocated,omitempty"`
	Capabilities []api.MachineCapability `json:"machineCapabilities,omitempty"`
}

// OperatingSystem is what instances can boot.
type OperatingSystem struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Image says that it is an image, not an iPXE script.
	Image bool `json:"image,omitempty"`
	// NoOverride means that instances can't bring their own user data.
	NoOverride bool `json:"noOverride,omitempty"`
	// Inactive means that no new instance can boot it.
	Inactive bool `json:"inactive,omitempty"`
}

// SSHKeyGroup is a group of SSH keys of the tenant.
type SSHKeyGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Partition is an InfiniBand partition or an NVLink logical partition.
type Partition struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	SiteID string `json:"siteId"`
	// TenantID is Config.Tenant's if empty.
	TenantID string `json:"tenantId,omitempty"`
}

// DPUExtensionService is software that runs on the DPUs of instances.
type DPUExtensionService struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	SiteID string `json:"siteId"`
	// Versions can be deployed; the last one is the latest.
	Versions []string `json:"versions"`
}

// byID returns the element with the ID.
func byID[T any](items []T, id func(T) string, wanted string) (T, bool) {
	if i := slices.IndexFunc(items, func(item T) bool { return id(item) == wanted }); i >= 0 {
		return items[i], true
	}
	var none T
	return none, false
}
