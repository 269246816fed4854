package ovn

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

const me = "me"

func uuid(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

func wantedSwitch(ports ...string) *nbdb.LogicalSwitch {
	s := &nbdb.LogicalSwitch{UUID: Ref("switch"), ExternalIDs: Mark(me, "switch"), Name: "ls"}
	for _, port := range ports {
		s.Ports = append(s.Ports, Ref(port))
	}
	return s
}

func wantedPort(name string) *nbdb.LogicalSwitchPort {
	return &nbdb.LogicalSwitchPort{UUID: Ref(name), ExternalIDs: Mark(me, name), Name: name, Addresses: []string{"b", "a"}}
}

func foundSwitch(ports ...string) *nbdb.LogicalSwitch {
	return &nbdb.LogicalSwitch{UUID: uuid(1), ExternalIDs: Mark(me, "switch"), Name: "ls", Ports: ports}
}

func foundPort(i int, name string) *nbdb.LogicalSwitchPort {
	port := wantedPort(name)
	port.UUID, port.Addresses = uuid(i), []string{"a", "b"}
	return port
}

func foreignPort(i int, name string) *nbdb.LogicalSwitchPort {
	return &nbdb.LogicalSwitchPort{UUID: uuid(i), Name: name}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	changed := foundPort(2, "p")
	changed.Addresses, changed.Type = []string{"c", "d"}, "localnet"
	more, fewer, other := wantedPort("p"), wantedPort("p"), wantedPort("p")
	more.Addresses, fewer.Addresses, other.Addresses = []string{"d", "b", "a", "c", "c"}, []string{"b"}, []string{"c", "d", "b", "e"}
	many := foundPort(2, "p")
	many.Addresses = []string{"d", "c", "b", "a"}
	noted := foundPort(2, "p")
	noted.ExternalIDs["note"], noted.Up, noted.DynamicAddresses = "theirs", ptr(true), ptr("x")
	stale := foundPort(2, "p")
	stale.Name, stale.ExternalIDs["note"] = "old", "theirs"
	router := &nbdb.LogicalRouter{UUID: uuid(9), ExternalIDs: Mark(me, "router"), Name: "lr"}
	foreign := &nbdb.LogicalSwitch{UUID: uuid(8), Name: "ls", Ports: []string{uuid(2), uuid(3)}}

	for name, c := range map[string]struct {
		found, wanted []model.Model
		operations    []string
	}{
		"nothing": {},
		"all new": {
			wanted: []model.Model{wantedSwitch("p"), wantedPort("p")},
			operations: []string{
				"insert Logical_Switch map[external_ids:OURS name:ls ports:{[{p}]}]",
				"insert Logical_Switch_Port map[addresses:{[b a]} external_ids:OURS name:p]",
			},
		},
		"the same, in another order": {
			found:  []model.Model{foundPort(2, "p"), foundSwitch(uuid(2))},
			wanted: []model.Model{wantedSwitch("p"), wantedPort("p")},
		},
		"what OVN and others have written": {
			found:  []model.Model{noted, foundSwitch(uuid(2), uuid(3)), foreignPort(3, "q")},
			wanted: []model.Model{wantedSwitch("p"), wantedPort("p")},
		},
		"changed columns": {
			found:      []model.Model{changed, foundSwitch(uuid(2))},
			wanted:     []model.Model{wantedSwitch("p"), wantedPort("p")},
			operations: []string{"update Logical_Switch_Port 2 map[addresses:{[b a]} type:]"},
		},
		"a set that is amended": {
			found:      []model.Model{foundPort(2, "p"), foundSwitch(uuid(2))},
			wanted:     []model.Model{wantedSwitch("p"), more},
			operations: []string{"mutate Logical_Switch_Port 2 [{addresses insert {[c d]}}]"},
		},
		"a set that is amended both ways": {
			found:      []model.Model{many, foundSwitch(uuid(2))},
			wanted:     []model.Model{wantedSwitch("p"), other},
			operations: []string{"mutate Logical_Switch_Port 2 [{addresses insert {[e]}} {addresses delete {[a]}}]"},
		},
		"a set that is written whole, which is less": {
			found:      []model.Model{many, foundSwitch(uuid(2))},
			wanted:     []model.Model{wantedSwitch("p"), fewer},
			operations: []string{"update Logical_Switch_Port 2 map[addresses:{[b]}]"},
		},
		"another name, notes stay": {
			found:      []model.Model{stale, foundSwitch(uuid(2))},
			wanted:     []model.Model{wantedSwitch("p"), wantedPort("p")},
			operations: []string{"update Logical_Switch_Port 2 map[name:p]"},
		},
		"a new port on a switch that is there": {
			found:  []model.Model{foundPort(2, "p"), foundSwitch(uuid(2), uuid(3)), foreignPort(3, "q")},
			wanted: []model.Model{wantedSwitch("p", "new"), wantedPort("p"), wantedPort("new")},
			operations: []string{
				"mutate Logical_Switch 1 [{ports insert {[{new}]}}]",
				"insert Logical_Switch_Port map[addresses:{[b a]} external_ids:OURS name:new]",
			},
		},
		"a port that isn't wanted": {
			found:      []model.Model{foundPort(2, "p"), foundPort(4, "old"), foundSwitch(uuid(2), uuid(3), uuid(4)), foreignPort(3, "q")},
			wanted:     []model.Model{wantedSwitch("p"), wantedPort("p")},
			operations: []string{"mutate Logical_Switch 1 [{ports delete {[{4}]}}]"},
		},
		"a root that isn't wanted": {
			found:      []model.Model{router, foundSwitch(uuid(2)), foundPort(2, "p")},
			wanted:     []model.Model{wantedSwitch("p"), wantedPort("p")},
			operations: []string{"delete Logical_Router 9"},
		},
		"a set and what refers to it": {
			found: []model.Model{
				&nbdb.LogicalRouter{UUID: uuid(9), ExternalIDs: Mark(me, "router"), Nat: []string{uuid(6)}}, &nbdb.AddressSet{UUID: uuid(7), ExternalIDs: Mark(me, "set")},
				&nbdb.NAT{UUID: uuid(6), ExternalIDs: Mark(me, "nat"), AllowedExtIPs: ptr(uuid(7))},
			},
			wanted:     []model.Model{&nbdb.LogicalRouter{UUID: Ref("router"), ExternalIDs: Mark(me, "router")}},
			operations: []string{"mutate Logical_Router 9 [{nat delete {[{6}]}}]", "delete Address_Set 7", "delete NAT 6"},
		},
		"two of the same": {
			found:      []model.Model{foundPort(5, "p"), foundPort(2, "p"), foundSwitch(uuid(2), uuid(5))},
			wanted:     []model.Model{wantedSwitch("p"), wantedPort("p")},
			operations: []string{"mutate Logical_Switch 1 [{ports delete {[{5}]}}]"},
		},
		"a port on another owner's switch": {
			found:  []model.Model{foundPort(2, "p"), foundSwitch(), foreign, foreignPort(3, "q")},
			wanted: []model.Model{wantedSwitch("p"), wantedPort("p")},
			operations: []string{
				"mutate Logical_Switch 1 [{ports insert {[{2}]}}]",
				"mutate Logical_Switch 8 [{ports delete {[{2}]}}]",
			},
		},
		"nothing is wanted": {
			found:      []model.Model{foundPort(2, "p"), foundSwitch(uuid(2)), foreign, foreignPort(3, "q"), router},
			operations: []string{"delete Logical_Router 9", "delete Logical_Switch 1", "mutate Logical_Switch 8 [{ports delete {[{2}]}}]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			known, err := northboundTables()
			g.Expect(err).NotTo(HaveOccurred())
			operations, err := known.difference(me, c.found, c.wanted)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(told(operations)).To(Equal(c.operations))
		})
	}
}

func TestDifference_refusesToGuess(t *testing.T) {
	t.Parallel()
	other := wantedPort("p")
	other.ExternalIDs[OwnerID] = "other"
	nameless := wantedPort("p")
	nameless.ExternalIDs = nil
	for name, c := range map[string]struct {
		found, wanted []model.Model
		err           string
	}{
		"wanted twice":        {wanted: []model.Model{wantedPort("p"), wantedPort("p")}, err: "wanted twice"},
		"another's":           {wanted: []model.Model{other}, err: "without its owner"},
		"nobody's":            {wanted: []model.Model{nameless}, err: "without its owner"},
		"taken":               {found: []model.Model{foreignPort(3, "p")}, wanted: []model.Model{wantedPort("p")}, err: "rename or remove it"},
		"taken by a router":   {found: []model.Model{&nbdb.LogicalRouterPort{UUID: uuid(7), Name: "p"}}, wanted: []model.Model{wantedPort("p")}, err: "Logical_Router_Port " + uuid(7)},
		"not of the database": {wanted: []model.Model{&struct{}{}}, err: "no table for a *struct {}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			known, err := northboundTables()
			g.Expect(err).NotTo(HaveOccurred())
			operations, err := known.difference(me, c.found, c.wanted)
			g.Expect(err).To(MatchError(ContainSubstring(c.err)))
			g.Expect(operations).To(BeEmpty())
		})
	}
}

// Without an owner all rows of others would be the caller's, and go.
func TestDifference_needsAnOwner(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	known, err := northboundTables()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = known.difference("", []model.Model{foreignPort(3, "p")}, nil)
	g.Expect(err).To(MatchError(ContainSubstring("rows without an owner")))
}

func ptr[T any](v T) *T { return &v }

// told is operations as text.
func told(operations []ovsdb.Operation) []string {
	var all []string
	short := strings.NewReplacer("00000000-0000-4000-8000-00000000000", "", Ref("p"), "p", Ref("new"), "new")
	for _, o := range operations {
		line := o.Op + " " + o.Table
		for _, where := range o.Where {
			line += " " + where.Value.(ovsdb.UUID).GoUUID
		}
		if ids, ok := o.Row[externalIDs].(ovsdb.OvsMap); ok && ids.GoMap[OwnerID] == me {
			o.Row[externalIDs] = "OURS"
		}
		if o.Row != nil {
			line += fmt.Sprint(" ", map[string]any(o.Row))
		}
		if o.Mutations != nil {
			line += fmt.Sprint(" ", o.Mutations)
		}
		all = append(all, short.Replace(line))
	}
	return all
}
