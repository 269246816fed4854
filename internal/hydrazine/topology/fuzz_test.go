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
	for _, network := range []string{"10.10.10.0/24", "10.0.0.0/8", "172.18.0.0/16", "fd10::/64", "fd10::/120", "2000::/3", "0.0.0.0/0", "::ffff:10.0.0.0/104"} {
		blob := make([]byte, 200)
		for i := range blob {
			blob[i] = byte(random.IntN(256))
		}
		p := netip.MustParsePrefix(network)
		f.Add("blue", network, p.Addr().Next().String(), blob)
	}
	f.Add("a_b", "10.10.10.0/24", "", []byte("0123456789"))
	f.Fuzz(func(t *testing.T, name, network, gateway string, blob []byte) {
		g := NewWithT(t)
		var in topology.Group
		in.UID, in.Name = "uid-"+name, name
		in.Network, _ = netip.ParsePrefix(network)
		in.Gateway, _ = netip.ParseAddr(gateway)
		members := anybody(in, blob)
		all, err := topology.New(in, members)
		if err != nil {
			return
		}
		fitTogether(g, all)
		for uid := range all.Refused {
			g.Expect(slices.ContainsFunc(members, func(m topology.Member) bool { return m.UID == uid })).To(BeTrue())
		}
		slices.Reverse(members)
		again, _ := topology.New(in, members)
		g.Expect(rowsByKey(again)).To(Equal(rowsByKey(all)), "their order is all the same")
		if len(all.Members) > 0 && 32-in.Network.Bits() < 14 {
			independent(g, all, int(blob[0])%len(all.Members))
		}
	})
}

// anybody makes members whose addresses are often close to each other, or wrong.
func anybody(in topology.Group, blob []byte) []topology.Member {
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
		fabric := netip.MustParseAddr("172.18.0.0")
		if in.Network.Addr().Is6() != (blob[9]&0xf0 == 0) {
			fabric = netip.MustParseAddr("fd18::")
		}
		m := topology.Member{
			UID: fmt.Sprint("uid-", number%300), Name: fmt.Sprint("host-", number%299), Created: began.Add(time.Duration(blob[2]) * time.Second),
			HostIP: at(3, in.Network.Addr()), HostMAC: fmt.Sprintf("02:00:00:00:%02x:%02x", blob[5], blob[0]),
			Chassis: []string{"", "dpu", "dpu-1"}[blob[6]%3], FabricIP: at(6, fabric), FabricBits: int(int8(blob[8])) / 2,
			NextHop: at(7, fabric), Access: []resourcev1.HostAccess{"", resourcev1.FabricAccess, resourcev1.NetworkAccess, "nonsense"}[blob[9]%4],
		}
		if blob[9]%7 == 0 {
			m.NextHop = netip.Addr{}
		}
		members = append(members, m)
	}
	return members
}

// fitTogether: all names, keys, MAC addresses and addresses differ; what is referred to is there, and each row has one place.
func fitTogether(g Gomega, network *topology.Topology) {
	seen, ports, referred := map[string]bool{}, map[string]bool{}, map[string]int{}
	once := func(what, value string) {
		g.Expect(seen[what+value]).To(BeFalse(), "%s %s is there twice", what, value)
		seen[what+value] = true
	}
	refer := func(kind string, uuids []string) {
		for _, uuid := range uuids {
			referred[kind+uuid]++
		}
	}
	rows := network.Rows()
	for _, row := range rows {
		g.Expect(ids(row)).To(HaveKeyWithValue(ovn.OwnerID, network.Group.UID))
		once("key ", fmt.Sprintf("%T %s", row, ids(row)[ovn.KeyID]))
		switch r := row.(type) {
		case *nbdb.LogicalSwitch:
			once("switch ", r.Name)
			refer("port ", r.Ports)
			refer("acl ", r.ACLs)
		case *nbdb.LogicalRouter:
			once("router ", r.Name)
			refer("router port ", r.Ports)
			refer("route ", r.StaticRoutes)
			refer("nat ", r.Nat)
		case *nbdb.LogicalSwitchPort:
			once("port ", r.Name)
		case *nbdb.LogicalRouterPort:
			once("port ", r.Name)
			once("MAC ", r.MAC)
			once("address ", r.Networks[0])
			ports[r.Name] = true
		}
	}
	uuids := map[string]bool{}
	for _, row := range rows {
		kind, uuid := "", ""
		switch r := row.(type) {
		case *nbdb.LogicalSwitch:
			uuid = r.UUID
		case *nbdb.LogicalRouter:
			uuid = r.UUID
		case *nbdb.LogicalSwitchPort:
			kind, uuid = "port ", r.UUID
			if r.Type == "router" {
				g.Expect(ports).To(HaveKey(r.Options["router-port"]))
			}
		case *nbdb.LogicalRouterPort:
			kind, uuid = "router port ", r.UUID
		case *nbdb.LogicalRouterStaticRoute:
			kind, uuid = "route ", r.UUID
			g.Expect(ports).To(HaveKey(*r.OutputPort))
		case *nbdb.NAT:
			kind, uuid = "nat ", r.UUID
		case *nbdb.ACL:
			kind, uuid = "acl ", r.UUID
		}
		g.Expect(uuids).NotTo(HaveKey(uuid))
		uuids[uuid] = true
		if kind != "" {
			g.Expect(referred[kind+uuid]).To(Equal(1))
			delete(referred, kind+uuid)
		}
	}
	g.Expect(referred).To(BeEmpty(), "what isn't there")
}

// independent: without one member the others' rows are the same, and the group's but for what hangs on them.
func independent(g Gomega, all *topology.Topology, without int) {
	left := slices.Delete(slices.Clone(all.Members), without, without+1)
	less, err := topology.New(all.Group, left)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(less.Members).To(Equal(left))
	before, gone := rowsByKey(all), "/"+all.Members[without].UID
	for key, row := range rowsByKey(less) {
		g.Expect(alone(row)).To(Equal(alone(before[key])), key)
		delete(before, key)
	}
	for key := range before {
		g.Expect(strings.HasSuffix(strings.TrimSuffix(key, "/switch"), gone)).To(BeTrue(), "%s is gone too", key)
	}
}

// alone is a row without what hangs on it.
func alone(row model.Model) model.Model {
	switch r := row.(type) {
	case *nbdb.LogicalSwitch:
		c := *r
		c.Ports = nil
		return &c
	case *nbdb.LogicalRouter:
		c := *r
		c.Ports, c.StaticRoutes = nil, nil
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
