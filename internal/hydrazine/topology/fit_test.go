package topology_test

import (
	"fmt"
	"regexp"
	"strings"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// inventory is what rows have that has to be theirs alone, and what they refer to.
type inventory struct {
	Gomega
	seen     map[string]bool
	uuids    map[string]bool
	referred map[string]int
}

// fitTogether: all names, keys, MAC addresses and addresses differ; what is referred to is there, and each row has one place.
func fitTogether(g Gomega, network *topology.Topology) {
	i := inventory{g, map[string]bool{}, map[string]bool{}, map[string]int{}}
	rows := network.Rows()
	for _, row := range rows {
		g.Expect(ids(row)).To(HaveKeyWithValue(ovn.OwnerID, network.Group.UID))
		i.once("key", fmt.Sprintf("%T %s", row, ids(row)[ovn.KeyID]))
		i.take(row)
	}
	for _, row := range rows {
		i.check(row)
	}
	i.Expect(i.referred).To(BeEmpty(), "what isn't there, or has no place")
}

func (i inventory) once(what, value string) {
	i.Expect(i.seen).NotTo(HaveKey(what+" "+value), "it is there twice")
	i.seen[what+" "+value] = true
}

// row has its place in a list of another one, if it is of a kind that needs that.
func (i inventory) row(kind, uuid string) {
	i.Expect(i.uuids).NotTo(HaveKey(uuid))
	i.uuids[uuid] = true
	if kind != "" {
		i.referred[kind+uuid]--
	}
}

func (i inventory) refer(kind string, uuids []string) {
	for _, uuid := range uuids {
		i.referred[kind+uuid]++
	}
}

func (i inventory) take(row model.Model) {
	switch r := row.(type) {
	case *nbdb.LogicalSwitch:
		i.once("switch", r.Name)
		i.row("", r.UUID)
		i.refer("port ", r.Ports)
		i.refer("acl ", r.ACLs)
	case *nbdb.LogicalRouter:
		i.once("router", r.Name)
		i.row("", r.UUID)
		i.refer("router port ", r.Ports)
		i.refer("route ", r.StaticRoutes)
		i.refer("nat ", r.Nat)
	case *nbdb.LogicalSwitchPort:
		i.once("port", r.Name)
		i.row("port ", r.UUID)
	case *nbdb.LogicalRouterPort:
		i.once("port", r.Name)
		i.once("MAC", r.MAC)
		i.row("router port ", r.UUID)
		for _, address := range r.Networks {
			i.once("address", address)
		}
	case *nbdb.PortGroup:
		i.once("@", r.Name)
		i.row("", r.UUID)
		i.refer("acl ", r.ACLs)
		for _, v := range []string{"_ip4", "_ip6"} {
			i.once("$", r.Name+v)
		}
	case *nbdb.AddressSet:
		i.once("$", r.Name)
		i.row("", r.UUID)
		i.Expect(r.Addresses).NotTo(BeEmpty())
	case *nbdb.LogicalRouterStaticRoute:
		i.row("route ", r.UUID)
	case *nbdb.NAT:
		i.row("nat ", r.UUID)
	case *nbdb.ACL:
		i.row("acl ", r.UUID)
	case *nbdb.Copp:
		i.row("", r.UUID)
	case *nbdb.Meter:
		i.once("meter", r.Name)
		i.row("", r.UUID)
		i.refer("band ", r.Bands)
	case *nbdb.MeterBand:
		i.row("band ", r.UUID)
	}
	for key, count := range i.referred {
		if count == 0 {
			delete(i.referred, key)
		}
	}
}

var (
	// token is all that a match may be made of. There is no negation: OVN makes a flow of each combination of bits that differ,
	// a million for a few IPv6 addresses.
	token = regexp.MustCompile(`^(?:"(?:relay_[0-9a-f]{16}|ps-[-.a-z0-9]+_fabric|ls-[-.a-z0-9]+_lr-[-.a-z0-9]+)"|[@$]?[a-z]+_[0-9a-f]{16}(?:_ip[46])?\b|(?:inport|outport|ip|ip4|ip6|tcp|udp|eth|` +
		`icmp4|icmp6|arp|nd|nd_rs|nd_ra|mldv1|mldv2)(?:\.(?:src|dst))?\b|[0-9a-f]*[.:][0-9a-f.:]+(?:/\d+)?|\d+|==|<=|&&|\|\||[(){},]| )`)
	names = regexp.MustCompile(`[@$]\w+`)
)

// check what a row says of others.
func (i inventory) check(row model.Model) {
	switch r := row.(type) {
	case *nbdb.LogicalSwitch:
		i.Expect(i.uuids).To(HaveKey(*r.Copp))
	case *nbdb.LogicalRouter:
		i.Expect(i.uuids).To(HaveKey(*r.Copp))
	case *nbdb.Copp:
		for _, meter := range r.Meters {
			i.Expect(i.seen).To(HaveKey("meter " + meter))
		}
	case *nbdb.LogicalSwitchPort:
		if r.Type == "router" {
			i.Expect(i.seen).To(HaveKey("port " + r.Options["router-port"]))
		}
	case *nbdb.LogicalRouterStaticRoute:
		i.Expect(i.seen).To(HaveKey("port " + *r.OutputPort))
	case *nbdb.PortGroup:
		for _, port := range r.Ports {
			i.Expect(i.uuids).To(HaveKey(port))
		}
	case *nbdb.NAT:
		if r.AllowedExtIPs != nil {
			i.Expect(i.uuids).To(HaveKey(*r.AllowedExtIPs))
		}
	case *nbdb.ACL:
		i.Expect(r.Match).To(MatchRegexp(`^(inport|outport) == ("[^"]+"|@\w+)( && |$)`))
		for _, name := range names.FindAllString(r.Match, -1) {
			i.Expect(i.seen).To(HaveKey(name[:1] + " " + name[1:]))
		}
		for rest := r.Match; rest != ""; {
			next := token.FindString(rest)
			i.Expect(next).NotTo(BeEmpty(), "%s in %s", rest, r.Match)
			rest = rest[len(next):]
		}
		i.Expect(strings.Count(r.Match, "(")).To(Equal(strings.Count(r.Match, ")")))
	}
}
