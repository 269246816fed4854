package drawing

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// Texts of both kinds of drawing.

func networks(g topology.Group) string {
	return join(g.Networks, func(n topology.Network) string { return n.Prefix.String() })
}

func gateways(g topology.Group) string {
	return join(g.Networks, func(n topology.Network) string { return n.Gateway.String() })
}

func hostIPs(m topology.Member) string {
	return join(m.Addresses, func(a topology.Address) string { return a.HostIP.String() })
}

func links(t *topology.Topology, m topology.Member) string {
	return join(m.Routed(), func(a topology.Address) string { return t.Link(a).String() })
}

func join[T any](all []T, text func(T) string) string {
	var texts []string
	for _, one := range all {
		texts = append(texts, text(one))
	}
	return strings.Join(texts, ", ")
}

func same[T fmt.Stringer](one T) string { return one.String() }

func dpu(m topology.Member) string {
	if m.Chassis == "" {
		return "a DPU not known yet"
	}
	return m.Chassis
}

// groups are the security groups of a member.
func groups(m topology.Member) string {
	if len(m.SecurityGroups) == 0 {
		return ""
	}
	return "in " + strings.Join(m.SecurityGroups, ", ")
}

// uplinks are the fabric's side of a gateway router.
func uplinks(m topology.Member) (all []string) {
	for _, a := range m.Routed() {
		uplink := fmt.Sprintf("%s/%d", a.FabricIP, a.FabricBits)
		if a.NextHop.IsValid() {
			uplink += " via " + a.NextHop.String()
		}
		all = append(all, uplink)
	}
	return all
}

// translations are what the gateway router does to addresses.
func translations(t *topology.Topology, m topology.Member) (rules []string) {
	add := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	for _, a := range m.Routed() {
		inDataCentre := func(p netip.Prefix) bool { return p.Addr().BitLen() == a.HostIP.BitLen() }
		switch {
		case !m.Public(a):
			add("SNAT %s → %s", a.HostIP, a.FabricIP)
		case slices.ContainsFunc(t.Site.FabricPrefixes, inDataCentre):
			add("SNAT %s → %s to the fabric", a.HostIP, a.FabricIP)
			fallthrough
		default:
			add("SNAT %s → %s", a.HostIP, a.PublicIP)
			add("DNAT %s → %s", a.PublicIP, a.HostIP)
		}
		if m.Reachable() {
			add("DNAT %s → %s", a.FabricIP, a.HostIP)
		}
	}
	return rules
}

// sentence describes a rule of a security group.
func sentence(r resourcev1.SecurityRule) string {
	words := []string{string(r.Direction)}
	if r.Protocol != "" && r.Protocol != resourcev1.AnyProtocol {
		words = append(words, string(r.Protocol))
	}
	if len(r.Ports) > 0 {
		words = append(words, join(r.Ports, func(p resourcev1.PortRange) string {
			if p.Last > p.First {
				return fmt.Sprintf("%d-%d", p.First, p.Last)
			}
			return fmt.Sprint(p.First)
		}))
	}
	far := "from"
	if r.Direction == resourcev1.Egress {
		far = "to"
	}
	who := append([]string(nil), r.SecurityGroups...)
	for _, p := range r.Prefixes {
		who = append(who, string(p))
	}
	if who == nil {
		who = []string{"everybody"}
	}
	return strings.Join(append(words, far, strings.Join(who, ", ")), " ")
}
