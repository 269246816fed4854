package overlay

import (
	"net/netip"
	"slices"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

const (
	servedPort = 8080 // of the servers of Settle
	otherPort  = 8081 // where hosts that are in security groups serve too
	genevePort = 6081 // where DPUs hear each other
	// southboundPort is the first of the manager's for the databases of centrals.
	southboundPort = 16640
)

// surroundings are what hosts speak to beside each other.
type surroundings struct {
	servers map[string][]netip.Addr
	dpus    []fabric.DPU
	policy  networkfabricv1.FabricPolicySpec
}

// flows are those of the design's traffic analysis: within a network, between networks, to and from the data centre and the
// internet, and to what no host may reach.
func flows(members []member, around surroundings) []Flow {
	a := analysis{members: members, surroundings: around}
	for i, from := range members {
		a.toMembers(from)
		a.toGateways(from)
		for _, server := range []string{fabric.DC, fabric.BMC, fabric.Storage} {
			a.toServer(from, server)
		}
		if from.addresses[0].publicIP.IsValid() {
			a.toServer(from, fabric.Internet)
			a.hairpin(from)
		}
		if n := len(a.dpus); n > 0 {
			a.toDPU(from, a.dpus[(i+1)%n])
		}
		a.toManager(from)
	}
	for _, to := range members {
		a.fromFabric(to)
	}
	for _, to := range members {
		a.fromInternet(to)
	}
	return a.flows
}

type analysis struct {
	members []member
	surroundings
	flows []Flow
}

func (a *analysis) add(from, to string, address netip.Addr, protocol probe.Protocol, port uint16, passes bool, source netip.Addr) {
	if !passes {
		source = netip.Addr{}
	}
	a.flows = append(a.flows, Flow{From: from, To: to, Address: address, Protocol: protocol, Port: port, Passes: passes, Source: source})
}

func (a *analysis) toMembers(from member) {
	for _, to := range a.members {
		if to.host.Name == from.host.Name {
			continue
		}
		for _, there := range to.addresses {
			here, both := from.version(there.ip)
			own := slices.ContainsFunc(a.members, func(m member) bool {
				return m.group == from.group && slices.ContainsFunc(m.addresses, func(other address) bool { return other.ip == there.ip })
			})
			switch {
			case !both:
			case to.group == from.group:
				a.within(from, to, here, there, probe.ICMP, 0)
				if len(to.securityGroups) > 0 {
					a.within(from, to, here, there, probe.TCP, servedPort)
					a.within(from, to, here, there, probe.TCP, otherPort)
				}
			case !own: // otherwise the address means a host of its own network
				a.add(from.host.Name, to.host.Name, there.ip, probe.ICMP, 0, false, netip.Addr{})
			}
		}
	}
}

// within one network.
func (a *analysis) within(from, to member, here, there address, protocol probe.Protocol, port uint16) {
	passes := from.lets(resourcev1.Egress, protocol, port, there.ip, to.securityGroups) &&
		to.lets(resourcev1.Ingress, protocol, port, here.ip, from.securityGroups)
	source := here.ip
	if protocol == probe.ICMP {
		source = netip.Addr{} // the kernel answers, and doesn't say
	}
	a.add(from.host.Name, to.host.Name, there.ip, protocol, port, passes, source)
}

func (a *analysis) toGateways(from member) {
	for _, here := range from.addresses {
		a.add(from.host.Name, "gateway of "+from.group, here.gateway, probe.ICMP, 0,
			from.lets(resourcev1.Egress, probe.ICMP, 0, here.gateway, nil), netip.Addr{})
	}
}

// toServer is seen as the site's policy says.
func (a *analysis) toServer(from member, server string) {
	for _, there := range a.servers[server] {
		here, both := from.version(there)
		if !both {
			continue
		}
		source := here.fabricIP
		if here.publicIP.IsValid() && !within(a.policy.FabricPrefixes, there) {
			source = here.publicIP
		}
		shared := within(a.policy.SharedServices, there)
		passes := here.fabricIP.IsValid() && (shared ||
			!within(a.policy.DeniedPrefixes, there) && from.lets(resourcev1.Egress, probe.TCP, servedPort, there, nil))
		a.add(from.host.Name, server, there, probe.TCP, servedPort, passes, source)
	}
}

// hairpin is from a host to public addresses, one of which is its own.
func (a *analysis) hairpin(from member) {
	here := from.addresses[0]
	for _, to := range a.members {
		there := to.addresses[0].publicIP
		if there.BitLen() != here.ip.BitLen() {
			continue
		}
		passes := from.lets(resourcev1.Egress, probe.TCP, servedPort, there, nil) &&
			to.lets(resourcev1.Ingress, probe.TCP, servedPort, here.publicIP, nil)
		a.add(from.host.Name, "public IP of "+to.host.Name, there, probe.TCP, servedPort, passes, here.publicIP)
	}
}

// toDPU is never let through, not even where tunnels end.
func (a *analysis) toDPU(from member, dpu fabric.DPU) {
	for _, there := range dpu.Addresses {
		if _, both := from.version(there); both {
			a.add(from.host.Name, dpu.Name, there, probe.ICMP, 0, false, netip.Addr{})
			a.add(from.host.Name, dpu.Name, there, probe.UDP, genevePort, false, netip.Addr{})
		}
	}
}

// toManager is never let through, not even where DPUs are.
func (a *analysis) toManager(from member) {
	for _, there := range a.servers[fabric.Control] {
		if _, both := from.version(there); both {
			a.add(from.host.Name, "manager", there, probe.TCP, southboundPort, false, netip.Addr{})
		}
	}
}

func (a *analysis) fromFabric(to member) {
	for _, here := range a.servers[fabric.DC] {
		there, both := to.version(here)
		if !both || !there.fabricIP.IsValid() {
			continue
		}
		passes := to.reachable && !within(a.policy.DeniedPrefixes, here) && to.lets(resourcev1.Ingress, probe.TCP, servedPort, here, nil)
		a.add(fabric.DC, to.host.Name, there.fabricIP, probe.TCP, servedPort, passes, here)
	}
}

func (a *analysis) fromInternet(to member) {
	there := to.addresses[0]
	for _, here := range a.servers[fabric.Internet] {
		if there.publicIP.BitLen() != here.BitLen() {
			continue
		}
		for _, port := range []uint16{servedPort, otherPort} {
			if port == servedPort || len(to.securityGroups) > 0 {
				a.add(fabric.Internet, to.host.Name, there.publicIP, probe.TCP, port, to.lets(resourcev1.Ingress, probe.TCP, port, here, nil), here)
			}
		}
	}
}
