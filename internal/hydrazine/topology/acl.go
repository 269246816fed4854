package topology

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// A match that OVN can't parse is left out, and what it would have dropped passes. So matches are built only from addresses,
// numbers and names of our own; sets that a match names are rows that are written together with it.

// Priorities of ACLs. Those on a switch of its own are compared with none of the others.
const (
	sharedPriority   = 2000
	deniedPriority   = 1900
	basicsPriority   = 1800
	securityPriority = 1500
	nothingPriority  = 1000 // drops what nothing above has let through
	fabricPriority   = 1000 // on public switches
	ownPriority      = 3000 // ports of relays, and of the router
)

// rule is an ACL.
type rule struct {
	key       string
	direction nbdb.ACLDirection
	priority  int
	action    nbdb.ACLAction
	match     string
}

// rule adds an ACL to those of a switch or a port group.
func (r *rows) rule(to *[]string, a rule) {
	r.all = append(r.all, &nbdb.ACL{
		UUID: ovn.Ref(a.key), ExternalIDs: r.mark(a.key), Priority: a.priority, Direction: a.direction, Action: a.action, Match: a.match,
	})
	*to = append(*to, ovn.Ref(a.key))
}

// direction is how a match describes traffic in one direction: the port in question, and the address at the other end.
type direction struct {
	name      string // for keys
	direction nbdb.ACLDirection
	port, far string
}

func directions() []direction {
	return []direction{
		{"out", nbdb.ACLDirectionFromLport, "inport", "dst"},
		{"in", nbdb.ACLDirectionToLport, "outport", "src"},
	}
}

// version is how OVN's matches call an IP version.
func version(a netip.Addr) string {
	if a.Is4() {
		return "ip4"
	}
	return "ip6"
}

// versions of a group's networks.
func (g Group) versions() (all []string) {
	for _, n := range g.Networks {
		all = append(all, version(n.Gateway))
	}
	return all
}

func either(matches []string) string { return "(" + strings.Join(matches, " || ") + ")" }

func oneOf[T any](all []T) string {
	var texts []string
	for _, one := range all {
		texts = append(texts, fmt.Sprint(one))
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// addressSets are the names of sets of addresses, by IP version, as a match has them. There is none for a version without
// addresses.
type addressSets map[string]string

// addressSets writes the addresses of a list that have the group's IP versions.
func (r *rows) addressSets(kind string, prefixes []netip.Prefix) addressSets {
	sets := addressSets{}
	for _, v := range r.Group.versions() {
		var addresses []string
		for _, p := range prefixes {
			if plain(p.Addr()) && version(p.Addr()) == v {
				addresses = append(addresses, p.String())
			}
		}
		if len(addresses) == 0 {
			continue
		}
		key, name := r.setKey(kind, v), identifier(kind, r.Group.UID)+"_"+v
		r.all = append(r.all, &nbdb.AddressSet{UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: name, Addresses: addresses})
		sets[v] = "$" + name
	}
	return sets
}

func (r *rows) setKey(kind, version string) string {
	return "address-set-" + kind + "-" + version + "/" + r.Group.UID
}

// match says that one end of a packet, src or dst, is in the sets. It is empty if nothing is in them.
func (s addressSets) match(end string) string {
	var matches []string
	for _, v := range []string{"ip4", "ip6"} {
		if s[v] != "" {
			matches = append(matches, fmt.Sprintf("%s.%s == %s", v, end, s[v]))
		}
	}
	if matches == nil {
		return ""
	}
	return either(matches)
}
