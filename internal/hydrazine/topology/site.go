package topology

import (
	"net/netip"
	"slices"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// site is what all groups have in common. What it allows and denies holds at the members' own ports, where OVN knows
// connections: connections of a member to a shared service are answered, although the service may open none.
//
// The group's own networks, and what hosts need to be on them, are never meant, whatever the site says.
func (r *rows) site() {
	// The links are in no data centre. With them the set, which rules refer to, is never empty.
	r.addressSets("fabric", append(slices.Clone(r.Site.FabricPrefixes), linksIPv4, linksIPv6))
	own := r.Group.inside()
	shared := r.addressSets("shared", subtract(r.Site.Shared, own))
	denied := r.addressSets("denied", subtract(r.Site.Denied, own))
	if len(shared)+len(denied) == 0 {
		return
	}
	all := r.portGroup("hosts", r.Members)
	for _, d := range directions() {
		port := d.port + " == @" + all.Name + " && "
		if to := shared.match(d.far); to != "" && d.direction == nbdb.ACLDirectionFromLport {
			r.rule(&all.ACLs, rule{"shared-" + d.name + "/" + r.Group.UID, d.direction, sharedPriority, nbdb.ACLActionAllowRelated, port + to})
		}
		if far := denied.match(d.far); far != "" {
			r.rule(&all.ACLs, rule{"denied-" + d.name + "/" + r.Group.UID, d.direction, deniedPriority, nbdb.ACLActionDrop, port + far})
		}
	}
}

// underlay is what no host ever reaches: the DPUs themselves, and those programs that make the networks, unless the operator shares
// what is there with all hosts.
func (s Site) underlay() []netip.Prefix {
	all := slices.DeleteFunc(slices.Concat(s.Underlay, s.unshared(s.ControlPlane)), func(a netip.Addr) bool { return within(s.DPUs, a) })
	slices.SortFunc(all, netip.Addr.Compare)
	return append(slices.Clone(s.DPUs), each(slices.Compact(all))...)
}

// unshared are those addresses that Shared doesn't mean.
func (s Site) unshared(all []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return within(s.Shared, a) })
}

// each address as a network.
func each(all []netip.Addr) []netip.Prefix {
	networks := make([]netip.Prefix, 0, len(all))
	for _, a := range all {
		networks = append(networks, alone(a))
	}
	return networks
}

func within(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(n netip.Prefix) bool { return n.Contains(a) })
}

// portGroup is a set of members' ports, which a match names with an @.
func (r *rows) portGroup(name string, members []Member) *nbdb.PortGroup {
	key := "port-group-" + name + "/" + r.Group.UID
	group := &nbdb.PortGroup{UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: r.Group.portGroup(name)}
	for _, m := range members {
		group.Ports = append(group.Ports, ovn.Ref("host/"+m.UID))
	}
	r.all = append(r.all, group)
	return group
}

// inside are the addresses of the group's networks, and those without meaning beyond them.
func (g Group) inside() []netip.Prefix {
	inside := []netip.Prefix{
		relaysIPv4, netip.MustParsePrefix("255.255.255.255/32"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
	}
	for _, n := range g.Networks {
		inside = append(inside, n.Prefix)
	}
	return inside
}

// subtract returns networks without those parts of them that are in holes.
func subtract(networks, holes []netip.Prefix) []netip.Prefix {
	var left []netip.Prefix
	for _, n := range networks {
		left = append(left, without(n, holes)...)
	}
	return left
}

func without(n netip.Prefix, holes []netip.Prefix) []netip.Prefix {
	for _, hole := range holes {
		switch {
		case !hole.Overlaps(n):
		case hole.Bits() <= n.Bits():
			return nil
		default:
			low, high := halves(n)
			return append(without(low, holes), without(high, holes)...)
		}
	}
	return []netip.Prefix{n.Masked()}
}

// halves of a network of more than one address.
func halves(n netip.Prefix) (low, high netip.Prefix) {
	low = netip.PrefixFrom(n.Masked().Addr(), n.Bits()+1)
	bytes := low.Addr().AsSlice()
	bytes[n.Bits()/8] |= 0x80 >> (n.Bits() % 8)
	a, _ := netip.AddrFromSlice(bytes)
	return low, netip.PrefixFrom(a, n.Bits()+1)
}
