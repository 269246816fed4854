package sim

import "cmp"

// Quotas limit what exists at a time. Zero is that of DefaultQuotas, and negative ones limit nothing.
type Quotas struct {
	// Workspaces and Buckets are for the account.
	Workspaces int `json:"workspaces,omitempty"`
	Buckets    int `json:"buckets,omitempty"`

	// These are for each workspace.
	DHCPServers int     `json:"dhcpServers,omitempty"`
	Servers     int     `json:"servers,omitempty"`
	Processors  float64 `json:"processors,omitempty"`
	Memory      float64 `json:"memory,omitempty"`

	// These are for each region.
	VPCs            int `json:"vpcs,omitempty"`
	LoadBalancers   int `json:"loadBalancers,omitempty"`
	TransitGateways int `json:"transitGateways,omitempty"`
	// Subnets and SecurityGroups are for each VPC, Rules for each security group.
	Subnets        int `json:"subnets,omitempty"`
	SecurityGroups int `json:"securityGroups,omitempty"`
	Rules          int `json:"rules,omitempty"`
	// Listeners and Pools are for each load balancer, Members for each pool.
	Listeners int `json:"listeners,omitempty"`
	Pools     int `json:"pools,omitempty"`
	Members   int `json:"members,omitempty"`
	// Connections is for each transit gateway.
	Connections int `json:"connections,omitempty"`
}

// DefaultQuotas are about those of a new account.
func DefaultQuotas() Quotas {
	return Quotas{
		Workspaces: 20, Buckets: 100, DHCPServers: 1, Servers: 25, Processors: 100, Memory: 2000,
		VPCs: 10, LoadBalancers: 50, TransitGateways: 10, Subnets: 100, SecurityGroups: 100, Rules: 250,
		Listeners: 10, Pools: 10, Members: 50, Connections: 50,
	}
}

func (q *Quotas) setDefaults() {
	d := DefaultQuotas()
	for _, pair := range []struct {
		value    *int
		fallback int
	}{
		{&q.Workspaces, d.Workspaces}, {&q.Buckets, d.Buckets}, {&q.DHCPServers, d.DHCPServers}, {&q.Servers, d.Servers},
		{&q.VPCs, d.VPCs}, {&q.LoadBalancers, d.LoadBalancers}, {&q.TransitGateways, d.TransitGateways},
		{&q.Subnets, d.Subnets}, {&q.SecurityGroups, d.SecurityGroups}, {&q.Rules, d.Rules},
		{&q.Listeners, d.Listeners}, {&q.Pools, d.Pools}, {&q.Members, d.Members}, {&q.Connections, d.Connections},
	} {
		*pair.value = cmp.Or(*pair.value, pair.fallback)
	}
	q.Processors, q.Memory = cmp.Or(q.Processors, d.Processors), cmp.Or(q.Memory, d.Memory)
}

// exceeded reports whether so much is more than a limit allows.
func exceeded[N int | float64](limit, wanted N) bool { return limit >= 0 && wanted > limit }
