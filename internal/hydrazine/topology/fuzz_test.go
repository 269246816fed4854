package topology_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// FuzzTopology: whatever is asked for, the rows fit together, and no member's depend on another's.
func FuzzTopology(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for i, networks := range [][2]string{
		{"10.10.10.0/24"}, {"10.0.0.0/8"}, {"172.18.0.0/16", "fd10::/64"}, {"fd10::/64", "10.10.10.0/24"}, {"fd10::/120"}, {"2000::/3"}, {"0.0.0.0/0"},
		{"::ffff:10.0.0.0/104"}, {"10.10.10.0/24", "10.10.11.0/24"},
	} {
		blob := make([]byte, 400)
		for i := range blob {
			blob[i] = byte(random.IntN(256))
		}
		blob[1] = byte(i)
		f.Add("blue", networks[0], networks[1], []string{"", "172.19.0.2", "fd19::2"}[i%3], "web", blob)
	}
	f.Add("alone", "fd10::/120", "", "", "web", []byte("00000000100"))
	f.Add("a_b", "10.10.10.0/24", "", "", `x" || 1`, []byte("0123456789"))
	f.Fuzz(func(t *testing.T, name, network, second, server, word string, blob []byte) {
		g := NewWithT(t)
		in := topology.Group{UID: "uid-" + name, Name: name, SecurityGroups: someSecurityGroups(word, blob)}
		for _, text := range []string{network, second} {
			if p, err := netip.ParsePrefix(text); err == nil {
				in.Networks = append(in.Networks, topology.Network{Prefix: p, Gateway: p.Addr().Next()})
			}
		}
		in.Relayed, _ = netip.ParseAddr(server)
		members, site := anybody(in, word, blob), somewhere(network, second, blob)
		all, err := topology.New(in, members, site)
		if err != nil {
			return
		}
		fitTogether(g, all)
		for uid := range all.Refused {
			g.Expect(slices.ContainsFunc(members, func(m topology.Member) bool { return m.UID == uid })).To(BeTrue())
		}
		slices.Reverse(members)
		again, _ := topology.New(in, members, site)
		g.Expect(rowsByKey(again)).To(Equal(rowsByKey(all)), "their order is all the same")
		if len(all.Members) > 0 && !slices.ContainsFunc(in.Networks, func(n topology.Network) bool { return 32-n.Prefix.Bits() >= 13 }) {
			independent(g, all, int(blob[0])%len(all.Members))
		}
	})
}

// anybody creates members whose addresses are often close to each other, or wrong.
func anybody(in topology.Group, word string, blob []byte) []topology.Member {
	var members []topology.Member
	for ; len(blob) >= 10; blob = blob[10:] {
		number, at := binary.BigEndian.Uint16(blob), func(i int, base netip.Addr) netip.Addr {
			if !base.IsValid() {
				return base
			}
			bytes := base.AsSlice()
			bytes[len(bytes)-1] ^= blob[i]
			bytes[len(bytes)-2] ^= blob[i+1] & 3
			a, _ := netip.AddrFromSlice(bytes)
			return a
		}
		m := topology.Member{
			UID: fmt.Sprint("uid-", number%300), Name: fmt.Sprint("host-", number%299), Created: began.Add(time.Duration(blob[2]) * time.Second),
			HostMAC: fmt.Sprintf("02:00:00:00:%02x:%02x", blob[5], blob[0]), Chassis: []string{"", "dpu", "dpu-1"}[blob[6]%3],
			Access:         []resourcev1.HostAccess{"", resourcev1.FabricAccess, resourcev1.PublicAccess, resourcev1.NetworkAccess, "nonsense"}[blob[9]%5],
			SecurityGroups: in.SecurityGroupsOf([][]string{nil, nil, {word}, {"no such"}}[blob[4]%4]),
		}
		if blob[4]&8 != 0 {
			m.DPUAddresses = []netip.Addr{at(5, netip.MustParseAddr("172.18.0.0")), at(5, netip.MustParseAddr("fd18::")), {}}
		}
		for i, n := range in.Networks {
			if i > 0 && blob[7]%3 == 0 {
				break
			}
			fabric, public := "172.18.0.0", "203.0.113.0"
			if n.Prefix.Addr().Is6() != (blob[9]&0xf0 == 0) {
				fabric, public = "fd18::", "2001:db8::"
			}
			a := topology.Address{
				HostIP: at(3, n.Prefix.Addr()), FabricIP: at(6, netip.MustParseAddr(fabric)), FabricBits: int(int8(blob[8])) / 2,
				NextHop: at(7, netip.MustParseAddr(fabric)), PublicIP: at(2, netip.MustParseAddr(public)),
			}
			if blob[9]%7 == 0 {
				a.NextHop = netip.Addr{}
			}
			if blob[9]%11 < 4 {
				a.PublicIP = netip.Addr{}
			}
			m.Addresses = append(m.Addresses, a)
		}
		members = append(members, m)
	}
	return members
}

// someSecurityGroups have a word in every place where there can be one.
func someSecurityGroups(word string, blob []byte) []resourcev1.SecurityGroup {
	if len(blob) < 20 || blob[1]%3 == 0 {
		return nil
	}
	of := resourcev1.SecurityGroup{Name: word}
	for _, b := range blob[10:20] {
		rule := resourcev1.SecurityRule{
			Direction: []resourcev1.SecurityDirection{resourcev1.Ingress, resourcev1.Egress, resourcev1.SecurityDirection(word)}[b%3],
			Protocol:  []resourcev1.SecurityProtocol{"Any", "TCP", "UDP", "ICMP", resourcev1.SecurityProtocol(word)}[b%5],
			Prefixes:  [][]resourcev1.IPPrefix{nil, {"10.0.0.0/8", "fd00::/8"}, {resourcev1.IPPrefix(word)}}[b/4%3],
		}
		if b > 128 {
			rule.Ports = []resourcev1.PortRange{{First: int32(b)}, {First: int32(b) - 140, Last: int32(b)}}
			rule.SecurityGroups = []string{word, "default"}
		}
		of.Rules = append(of.Rules, rule)
	}
	return []resourcev1.SecurityGroup{of, {Name: "default"}}[:1+blob[1]%2]
}

func somewhere(network, second string, blob []byte) topology.Site {
	site := topology.Site{Underlay: []netip.Addr{netip.MustParseAddr("172.18.0.5"), netip.MustParseAddr("fd18::5")}}
	for i, text := range []string{network, second, "0.0.0.0/0", "::/0", "10.0.0.0/8", "172.19.0.0/24"} {
		if p, err := netip.ParsePrefix(text); err == nil && len(blob) > i {
			list := []*[]netip.Prefix{&site.Denied, &site.Shared, &site.FabricPrefixes}[blob[i]%3]
			*list = append(*list, p)
		}
	}
	return site
}

// independent: without one member the others' rows are the same, and the group's but for what hangs on them.
func independent(g Gomega, all *topology.Topology, without int) {
	left := slices.Delete(slices.Clone(all.Members), without, without+1)
	less, err := topology.New(all.Group, left, all.Site)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(less.Members).To(HaveExactElements(left))
	before, gone := rowsByKey(all), all.Members[without]
	for key, row := range rowsByKey(less) {
		g.Expect(alone(row)).To(Equal(alone(before[key])), key)
		delete(before, key)
	}
	relay, _ := all.Relay(gone.Chassis)
	for key := range before {
		key = strings.TrimSuffix(key, "/switch")
		its := strings.HasSuffix(key, "/"+gone.UID) || relay.LogicalPort != "" && strings.HasSuffix(key, "/"+relay.LogicalPort)
		// It may have been the only member of a security group that isn't defined.
		last := len(gone.SecurityGroups) > 0 && len(all.Group.SecurityGroups) == 0
		g.Expect(its || last).To(BeTrue(), "%s is gone too", key)
	}
}

// alone is a row without what hangs on it.
func alone(row model.Model) model.Model {
	switch r := row.(type) {
	case *nbdb.LogicalSwitch:
		c := *r
		c.Ports, c.ACLs = nil, nil
		return &c
	case *nbdb.LogicalRouter:
		c := *r
		c.Ports, c.StaticRoutes = nil, nil
		return &c
	case *nbdb.PortGroup:
		c := *r
		c.Ports = nil
		return &c
	}
	return row
}

func rowsByKey(network *topology.Topology) map[string]model.Model {
	rows := map[string]model.Model{}
	for _, row := range network.Rows() {
		rows[fmt.Sprintf("%T %s", row, ids(row)[ovn.KeyID])] = row
	}
	return rows
}
