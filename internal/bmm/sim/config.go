package sim

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Config is the world that a simulator starts with, and how fast time passes in it.
type Config struct {
	// Org and APIName are segments of every path.
	Org     string `json:"org"`
	APIName string `json:"apiName"`
	// Tokens are the bearer tokens that are valid at first.
	Tokens []string `json:"tokens"`
	Tenant Tenant   `json:"tenant"`
	// FirstUse means that the organisation has no tenant until someone asks for the current one.
	FirstUse      bool           `json:"firstUse,omitempty"`
	Sites         []Site         `json:"sites"`
	IPBlocks      []IPBlock      `json:"ipBlocks"`
	InstanceTypes []InstanceType `json:"instanceTypes"`
	SSHKeyGroups  []SSHKeyGroup  `json:"sshKeyGroups,omitempty"`
	// Speed is the number of simulated seconds per real second; 1 is real time.
	Speed float64 `json:"speed,omitempty"`
	// Seed makes the spread of provisioning times repeatable.
	Seed  uint64 `json:"seed,omitempty"`
	Times Times  `json:"times,omitzero"`
}

// Tenant is the only tenant of the organisation.
type Tenant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Site is a data centre.
type Site struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Location string `json:"location,omitempty"`
	// NativeNetworking makes FNN possible, and the default of new VPCs.
	NativeNetworking bool `json:"nativeNetworking,omitempty"`
}

// IPBlock is a range that subnets are cut from.
type IPBlock struct {
	ID           string     `json:"id"`
	Name         string     `json:"name"`
	SiteID       string     `json:"siteId"`
	TenantID     string     `json:"tenantId"`
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
	// MaxInstances is the quota of the tenant; 0 means that only the machines limit it.
	MaxInstances int `json:"maxInstances,omitempty"`
}

// SSHKeyGroup is a group of SSH keys of the tenant.
type SSHKeyGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Times are simulated durations. A zero value means that of DefaultTimes.
type Times struct {
	// Create is how long a create blocks between its check that the name is free and its commit.
	Create metav1.Duration `json:"create,omitzero"`
	// VPC and Subnet are the times from creation to Ready.
	VPC    metav1.Duration `json:"vpc,omitzero"`
	Subnet metav1.Duration `json:"subnet,omitzero"`
	// InstanceMin and InstanceMax bound the time from creation to Ready.
	InstanceMin metav1.Duration `json:"instanceMin,omitzero"`
	InstanceMax metav1.Duration `json:"instanceMax,omitzero"`
	// The times from a DELETE to 404.
	VPCDelete      metav1.Duration `json:"vpcDelete,omitzero"`
	SubnetDelete   metav1.Duration `json:"subnetDelete,omitzero"`
	InstanceDelete metav1.Duration `json:"instanceDelete,omitzero"`
}

// DefaultTimes are about those of the real service.
func DefaultTimes() Times {
	seconds := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
	return Times{
		Create: seconds(1),
		VPC:    seconds(30), Subnet: seconds(10), InstanceMin: seconds(5 * 60), InstanceMax: seconds(15 * 60),
		VPCDelete: seconds(15), SubnetDelete: seconds(10), InstanceDelete: seconds(3 * 60),
	}
}

// Load reads a world from a YAML file. Unknown fields are an error.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read simulator configuration: %w", err)
	}
	var config Config
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		return Config{}, fmt.Errorf("read simulator configuration %s: %w", path, err)
	}
	if _, err := config.complete(); err != nil {
		return Config{}, fmt.Errorf("simulator configuration %s: %w", path, err)
	}
	return config, nil
}

// complete fills in defaults and checks that the parts fit together.
func (c Config) complete() (Config, error) {
	if c.APIName == "" {
		c.APIName = "carbide"
	}
	if c.Speed == 0 {
		c.Speed = 1
	}
	c.Times.setDefaults()
	if c.Org == "" || c.Tenant.ID == "" || len(c.Tokens) == 0 || len(c.Sites) == 0 {
		return c, errors.New("org, tenant, tokens and sites must be set")
	}
	if c.Speed < 0 || c.Times.InstanceMax.Duration < c.Times.InstanceMin.Duration {
		return c, errors.New("speed must be positive and instanceMax at least instanceMin")
	}
	sites := map[string]bool{}
	for _, site := range c.Sites {
		sites[site.ID] = true
	}
	for _, block := range c.IPBlocks {
		prefix := block.prefix()
		isNetwork := prefix.IsValid() && prefix.Addr().Is4() && prefix == prefix.Masked()
		if !sites[block.SiteID] || !isNetwork {
			return c, fmt.Errorf("IP block %q must be an IPv4 network at a known site", block.Name)
		}
	}
	for _, instanceType := range c.InstanceTypes {
		if !sites[instanceType.SiteID] {
			return c, fmt.Errorf("instance type %q must be at a known site", instanceType.Name)
		}
	}
	return c, nil
}

func (t *Times) setDefaults() {
	defaults := DefaultTimes()
	for _, pair := range []struct{ value, fallback *metav1.Duration }{
		{&t.Create, &defaults.Create},
		{&t.VPC, &defaults.VPC}, {&t.Subnet, &defaults.Subnet},
		{&t.InstanceMin, &defaults.InstanceMin}, {&t.InstanceMax, &defaults.InstanceMax},
		{&t.VPCDelete, &defaults.VPCDelete}, {&t.SubnetDelete, &defaults.SubnetDelete},
		{&t.InstanceDelete, &defaults.InstanceDelete},
	} {
		if pair.value.Duration == 0 {
			*pair.value = *pair.fallback
		}
	}
}
