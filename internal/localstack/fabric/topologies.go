package fabric

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Servers of the ready-made topologies. Control is where managers and OVN's centrals run; it is on the first subnet with
// DPUs. DC and Internet have subnets of their own.
const (
	Control  = "control"
	DC       = "dc"
	Internet = "internet"
)

// Servers that WithServices adds: those that announce public addresses to the Router, a gRPC proxy, a DHCP server; and in a
// network of their own, what no tenant is to reach, and a storage that all tenants are.
const (
	Speaker1 = "speaker1"
	Speaker2 = "speaker2"
	Proxy    = "proxy"
	DHCP     = "dhcp"
	BMC      = "bmc"
	Storage  = "storage"
)

// MaxDPUs is how many DPUs the ready-made topologies have addresses for.
const MaxDPUs = 48

// Flat has its DPUs dpu1, dpu2, … in one subnet, 172.18.0.0/24, each with one host: host1 is behind dpu1. The first DPUs
// have 172.18.0.5 and 172.18.0.7, and their hosts' fabric IPs are 172.18.0.105 and 172.18.0.107.
func Flat(dpus int) Topology { return across(1, dpus) }

// Routed is Flat over two subnets, 172.18.0.0/24 and 172.18.1.0/24, with the DPUs in turn in one and the other.
func Routed(dpus int) Topology { return across(2, dpus) }

// Bonded is Flat with two NICs for each DPU.
func Bonded(dpus int) Topology {
	t := Flat(dpus)
	for i := range t.Subnets[0].DPUs {
		t.Subnets[0].DPUs[i].NICs = 2
	}
	return t
}

// Jumbo is Flat over a fabric with an MTU of 9000.
func Jumbo(dpus int) Topology {
	t := Flat(dpus)
	t.MTU = 9000
	return t
}

// TwoPorts is Flat with two hosts behind each DPU: host1 and host2 behind dpu1, host3 and host4 behind dpu2.
func TwoPorts(dpus int) Topology {
	t := Flat(dpus)
	for i := range t.Subnets[0].DPUs {
		t.Subnets[0].DPUs[i].Hosts = []Host{host(2*i, 0, 105+2*i), host(2*i+1, 0, 106+2*i)}
	}
	return t
}

// WithServices is a topology with the servers of a whole service. Those of the first subnet have 172.18.0.3, 172.18.0.4 and
// 172.18.0.6, the DHCP server has 172.19.0.11, and the new subnet is 172.20.0.0/24.
func WithServices(t Topology) Topology {
	t.Subnets = slices.Clone(t.Subnets)
	for i := range t.Subnets {
		s := &t.Subnets[i]
		switch {
		case i == 0:
			s.Servers = append(slices.Clone(s.Servers), server(Speaker1, rackAddress(0, 3)), server(Speaker2, rackAddress(0, 4)),
				server(Proxy, rackAddress(0, 6)))
		case s.Name == DC:
			s.Servers = append(slices.Clone(s.Servers), server(DHCP, netip.AddrFrom4([4]byte{172, 19, 0, 11})))
		}
	}
	t.Subnets = append(t.Subnets, Subnet{
		Name: "mgmt", Gateways: gateway(netip.AddrFrom4([4]byte{172, 20, 0, 1})),
		Servers: []Server{
			server(BMC, netip.AddrFrom4([4]byte{172, 20, 0, 10})), server(Storage, netip.AddrFrom4([4]byte{172, 20, 0, 20})),
		},
	})
	return t
}

// DualStack is a topology whose subnets, DPUs and servers have IPv6 addresses beside the others: fd00:1::, fd00:2:: and so on,
// with the last byte of the others.
func DualStack(t Topology) Topology {
	t.Subnets = slices.Clone(t.Subnets)
	for i := range t.Subnets {
		s := &t.Subnets[i]
		base := netip.MustParseAddr(fmt.Sprintf("fd00:%d::", i+1))
		s.Gateways = append(slices.Clone(s.Gateways), netip.PrefixFrom(IPv6(base, s.Gateways[0].Addr()), 64))
		s.Servers, s.DPUs = slices.Clone(s.Servers), slices.Clone(s.DPUs)
		for j := range s.Servers {
			s.Servers[j].Addresses = append(slices.Clone(s.Servers[j].Addresses), IPv6(base, s.Servers[j].Addresses[0]))
		}
		for j := range s.DPUs {
			s.DPUs[j].Addresses = append(slices.Clone(s.DPUs[j].Addresses), IPv6(base, s.DPUs[j].Addresses[0]))
		}
	}
	return t
}

// IPv6 is an address of a network with the last byte of an IPv4 one.
func IPv6(network, last netip.Addr) netip.Addr {
	b, four := network.As16(), last.As4()
	b[15] = four[3]
	return netip.AddrFrom16(b)
}

// across spreads DPUs over racks, which are subnets.
func across(racks, dpus int) Topology {
	var t Topology
	for rack := range racks {
		t.Subnets = append(t.Subnets, Subnet{Name: fmt.Sprintf("rack%d", rack+1), Gateways: gateway(rackAddress(rack, 1))})
	}
	t.Subnets[0].Servers = []Server{server(Control, rackAddress(0, 2))}
	for i := range dpus {
		rack := i % racks
		t.Subnets[rack].DPUs = append(t.Subnets[rack].DPUs, DPU{
			Name:      fmt.Sprintf("dpu%d", i+1),
			Addresses: []netip.Addr{rackAddress(rack, 5+2*i)},
			Hosts:     []Host{host(i, rack, 105+2*i)},
		})
	}
	return Topology{Subnets: append(t.Subnets,
		Subnet{Name: DC, Gateways: gateway(netip.AddrFrom4([4]byte{172, 19, 0, 1})),
			Servers: []Server{server(DC, netip.AddrFrom4([4]byte{172, 19, 0, 10}))}},
		Subnet{Name: Internet, Gateways: gateway(netip.AddrFrom4([4]byte{198, 51, 100, 1})),
			Servers: []Server{server(Internet, netip.AddrFrom4([4]byte{198, 51, 100, 10}))}},
	)}
}

func rackAddress(rack, last int) netip.Addr {
	return netip.AddrFrom4([4]byte{172, 18, byte(rack), byte(last)}) //nolint:gosec // below MaxDPUs, these are bytes
}

func gateway(address netip.Addr) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(address, 24)} }

func server(name string, address netip.Addr) Server {
	return Server{Name: name, Addresses: []netip.Addr{address}}
}

func host(index, rack, fabricIP int) Host {
	return Host{
		Name:     fmt.Sprintf("host%d", index+1),
		MAC:      net.HardwareAddr{2, 0, 0, 0, 1, byte(index + 1)}, //nolint:gosec // below twice MaxDPUs, this is a byte
		FabricIP: rackAddress(rack, fabricIP),
	}
}
