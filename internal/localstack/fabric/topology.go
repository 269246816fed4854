package fabric

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
)

// Router is the node that stands for the fabric's own devices: it has a bridge for each subnet and routes among them.
const Router = "fabric"

// Topology is a network of nodes, each a network namespace. Nodes have names of at most 10 lower-case letters and digits.
type Topology struct {
	MTU     int // of all links of the fabric, in bytes; 0 means 1500
	Subnets []Subnet
}

// Subnet is a layer 2 network of the fabric. All others are reached through its gateways.
type Subnet struct {
	Name     string
	Gateways []netip.Prefix // the router's addresses, with the subnet's prefix length
	Servers  []Server
	DPUs     []DPU
}

// Server is a node that belongs to no tenant, with one link eth0.
type Server struct {
	Name      string
	Addresses []netip.Addr
}

// DPU is a node with Open vSwitch, with uplinks p0, p1, … and host ports pf0hpf, pf1hpf, … Its addresses are on p0, and
// its Open vSwitch has no bridge: the rest is the agent's.
type DPU struct {
	Name      string
	Addresses []netip.Addr
	NICs      int // uplinks; 0 means 1
	Hosts     []Host
}

// Host is a bare-metal host behind a port of a DPU. Its link eth0 is up, but has no address: see Fabric.Configure.
type Host struct {
	Name string
	MAC  net.HardwareAddr
	MTU  int // in bytes; 0 means as much as the fabric carries within Geneve
	// FabricIP is reserved for the host on the subnet of its DPU, and configured nowhere.
	FabricIP netip.Addr
}

// Port returns the name of the DPU's interface that leads to its host of that index.
func Port(host int) string { return fmt.Sprintf("pf%dhpf", host) }

// NIC returns the name of the DPU's uplink of that index.
func NIC(index int) string { return fmt.Sprintf("p%d", index) }

const (
	defaultMTU     = 1500
	geneveOverhead = 58 // IPv4, UDP, Geneve with OVN's option, and the inner Ethernet header
)

func (t Topology) mtu() int {
	if t.MTU == 0 {
		return defaultMTU
	}
	return t.MTU
}

func (t Topology) hostMTU(host Host) int {
	if host.MTU == 0 {
		return t.mtu() - geneveOverhead
	}
	return host.MTU
}

func (d DPU) nics() int { return max(1, d.NICs) }

// DPUs returns all DPUs, in order.
func (t Topology) DPUs() []DPU {
	var all []DPU
	for _, subnet := range t.Subnets {
		all = append(all, subnet.DPUs...)
	}
	return all
}

// Hosts returns all hosts, in the order of their DPUs.
func (t Topology) Hosts() []Host {
	var all []Host
	for _, dpu := range t.DPUs() {
		all = append(all, dpu.Hosts...)
	}
	return all
}

// Nodes returns the names of all nodes.
func (t Topology) Nodes() []string {
	names := []string{Router}
	for _, subnet := range t.Subnets {
		for _, server := range subnet.Servers {
			names = append(names, server.Name)
		}
	}
	for _, dpu := range t.DPUs() {
		names = append(names, dpu.Name)
	}
	for _, host := range t.Hosts() {
		names = append(names, host.Name)
	}
	return names
}

// usesIPv6 reports whether any node of the fabric has an IPv6 address.
func (t Topology) usesIPv6() bool {
	return slices.ContainsFunc(t.Subnets, func(s Subnet) bool {
		return slices.ContainsFunc(s.Gateways, func(p netip.Prefix) bool { return p.Addr().Is6() })
	})
}

// on returns the address with the length of the subnet's prefix, and the gateway.
func (s Subnet) on(address netip.Addr) (netip.Prefix, netip.Addr, error) {
	for _, gateway := range s.Gateways {
		if gateway.Contains(address) && gateway.Addr() != address {
			return netip.PrefixFrom(address, gateway.Bits()), gateway.Addr(), nil
		}
	}
	return netip.Prefix{}, netip.Addr{}, fmt.Errorf("%s is no host's address of subnet %s", address, s.Name)
}

// The router's interfaces are called after what they lead to, such as control-eth0, in at most 15 bytes.
var validName = regexp.MustCompile(`^[a-z][a-z0-9]{0,9}$`)

// Validate says what is wrong with a topology.
func (t Topology) Validate() error {
	var problems []error
	seen := map[string]bool{}
	for _, name := range t.Nodes() {
		if !validName.MatchString(name) || seen[name] {
			problems = append(problems, fmt.Errorf("node name %q is malformed or taken", name))
		}
		seen[name] = true
	}
	for _, subnet := range t.Subnets {
		if !validName.MatchString(subnet.Name) {
			problems = append(problems, fmt.Errorf("subnet name %q is malformed", subnet.Name))
		}
		for _, address := range subnet.addresses() {
			if _, _, err := subnet.on(address); err != nil || seen[address.String()] {
				problems = append(problems, fmt.Errorf("%s is no free address of subnet %s", address, subnet.Name))
			}
			seen[address.String()] = true
		}
	}
	return errors.Join(problems...)
}

func (s Subnet) addresses() []netip.Addr {
	var all []netip.Addr
	for _, server := range s.Servers {
		all = append(all, server.Addresses...)
	}
	for _, dpu := range s.DPUs {
		all = append(all, dpu.Addresses...)
		for _, host := range dpu.Hosts {
			if host.FabricIP.IsValid() {
				all = append(all, host.FabricIP)
			}
		}
	}
	return all
}
