package dpuagent

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/openvswitch"
	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
)

const (
	// Bridge has the ports of chains.
	Bridge = "br-sfc"
	// DefaultOVNBridge is ovn-kubernetes'.
	DefaultOVNBridge = "br-ovn"

	patchKind = "patch"
	// madeKey marks ports, and the bridge, that were made here. All others stay as they are.
	madeKey = "dpf.bedplate.dev/made"
	// podKey is where the CNI writes which interface of which pod a port is for.
	podKey = "dpf-id"
	// retryInterval is how often ovs-vswitchd is asked to look again at a port that keeps an error.
	retryInterval = time.Minute
)

// ports makes what the plan wants, and removes what was made here and isn't wanted any more, in one transaction. It says which ports can't
// be had. With again, ovs-vswitchd looks at all of them even if nothing is written.
func ports(ctx context.Context, database *openvswitch.Database, p plan, datapath string, again bool) (map[string]problem, error) {
	found, err := database.Snapshot()
	if err != nil {
		return nil, err
	}
	s := &sync{Snapshot: found, change: database.Change(), made: map[string][]string{}, problems: map[string]problem{}}
	removed := p.empty() && s.bridgeIsOurs()
	if removed {
		s.change.RemoveBridge(found.Root, found.Bridges[Bridge])
	}
	s.removeStale(p)
	for _, name := range p.sortedPorts() {
		s.ensure(name, p.ports[name])
	}
	if !removed {
		s.bridge(p, datapath)
	}
	for name, rows := range s.made {
		if bridge := found.Bridges[name]; bridge != nil {
			s.change.Mutate(bridge, model.Mutation{Field: &bridge.Ports, Mutator: ovsdb.MutateOperationInsert, Value: rows})
		}
	}
	if again {
		s.change.Again()
	}
	if err := s.change.Commit(ctx); err != nil {
		return nil, fmt.Errorf("put the ports onto %s: %w", Bridge, err)
	}
	return s.problems, nil
}

// sync is one change of the ports.
type sync struct {
	*openvswitch.Snapshot
	change   *openvswitch.Change
	made     map[string][]string // new rows of ports, by bridge
	problems map[string]problem  // by port
}

// removeStale ports that were made here.
func (s *sync) removeStale(p plan) {
	for name, bridge := range s.Bridges {
		for _, each := range s.PortsOf(bridge) {
			wanted, ok := p.ports[each.Name]
			if each.ExternalIDs[madeKey] != "" && (!ok || wanted.bridge != name) {
				s.change.Remove(bridge, each.UUID)
			}
		}
	}
}

// ensure that a port is there. One that another program has put onto the right bridge is used as it is.
func (s *sync) ensure(name string, wanted port) {
	if wanted.bridge != Bridge && s.Bridges[wanted.bridge] == nil {
		s.problems[name] = pending("there is no bridge %s on this node", wanted.bridge)
		return
	}
	on, existing := s.where(name)
	ours := existing != nil && existing.ExternalIDs[madeKey] != ""
	switch {
	case existing == nil || ours && on != wanted.bridge: // then it is removed in the same transaction
		row := "port_" + strconv.Itoa(len(s.made[wanted.bridge])) + "_" + hash(wanted.bridge)
		s.change.Create(
			&vswitchd.Interface{UUID: row + "_i", Name: name, Type: wanted.kind, Options: wanted.options},
			&vswitchd.Port{UUID: row, Name: name, Interfaces: []string{row + "_i"}, ExternalIDs: map[string]string{madeKey: "true"}})
		s.made[wanted.bridge] = append(s.made[wanted.bridge], row)
	case on != wanted.bridge:
		s.problems[name] = failure("port %s is on bridge %s: take it off there, it belongs on %s", name, on, wanted.bridge)
	case s.Single(existing) == nil:
		s.problems[name] = failure("interface %s is in port %s with others: take that off bridge %s", name, existing.Name, on)
	case ours:
		s.repair(existing, wanted)
	}
}

// where an interface is.
func (s *sync) where(name string) (bridge string, at *vswitchd.Port) {
	for bridge, row := range s.Bridges {
		for _, each := range s.PortsOf(row) {
			for _, i := range s.Members(each) {
				if i.Name == name || each.Name == name {
					return bridge, each
				}
			}
		}
	}
	return "", nil
}

func (s *sync) repair(existing *vswitchd.Port, wanted port) {
	i := s.Single(existing)
	if i.Type != wanted.kind || !maps.Equal(i.Options, wanted.options) {
		i.Type, i.Options = wanted.kind, wanted.options
		s.change.Update(i, &i.Type, &i.Options)
	}
}

// bridgeIsOurs reports whether the bridge was made here, and has no port of others.
func (s *sync) bridgeIsOurs() bool {
	bridge := s.Bridges[Bridge]
	if bridge == nil || bridge.ExternalIDs[madeKey] == "" {
		return false
	}
	others := slices.ContainsFunc(s.PortsOf(bridge), func(p *vswitchd.Port) bool { return p.Name != Bridge && p.ExternalIDs[madeKey] == "" })
	return !others && len(s.PortsOf(bridge)) == len(bridge.Ports)
}

// bridge makes it for the first interface, or repairs the setting without which it forwards what no chain has asked for.
func (s *sync) bridge(p plan, datapath string) {
	if bridge := s.Bridges[Bridge]; bridge != nil {
		if ptr.Deref(bridge.FailMode, "") != vswitchd.BridgeFailModeSecure {
			bridge.FailMode = ptr.To(vswitchd.BridgeFailModeSecure)
			s.change.Update(bridge, &bridge.FailMode)
		}
		return
	}
	if p.empty() {
		return
	}
	s.change.CreateBridge(s.Root, &vswitchd.Bridge{
		UUID: "sfc", Name: Bridge, DatapathType: datapath, FailMode: ptr.To(vswitchd.BridgeFailModeSecure), Ports: s.made[Bridge],
		ExternalIDs: map[string]string{madeKey: "true"},
	}, nil)
}

// numbers of the bridge's ports in OpenFlow, and what ovs-vswitchd says of those that have none.
func numbers(s *openvswitch.Snapshot) (byPort map[string]int, problems map[string]problem) {
	byPort, problems = map[string]int{}, map[string]problem{}
	for _, each := range s.PortsOf(s.Bridges[Bridge]) {
		i := s.Single(each)
		switch {
		case i == nil:
		case ptr.Deref(i.Ofport, 0) > 0:
			byPort[each.Name] = *i.Ofport
		case ptr.Deref(i.Error, "") != "":
			problems[each.Name] = failure("Open vSwitch can't use port %s: %s", each.Name, *i.Error)
		default:
			problems[each.Name] = pending("Open vSwitch hasn't taken port %s yet", each.Name)
		}
	}
	return byPort, problems
}

// again reports whether ovs-vswitchd has to look at the ports once more: one has an error, and it wasn't asked about that lately.
//
// The error may be an old one. ovs-vswitchd writes nothing that equals its copy of the database, and the copy may lack what it has just
// written. So what is repaired while it still writes what was wrong works, and keeps the error, and no number, until it looks again.
func (a *agent) again(s *openvswitch.Snapshot) (due bool) {
	asked := map[string]time.Time{}
	for _, each := range s.PortsOf(s.Bridges[Bridge]) {
		if i := s.Single(each); i != nil && ptr.Deref(i.Error, "") != "" {
			asked[each.Name] = a.asked[each.Name]
			if time.Since(asked[each.Name]) > retryInterval {
				asked[each.Name], due = time.Now(), true
			}
		}
	}
	a.asked = asked
	return due
}

// pods finds the port of each interface of a pod on the bridge.
func pods(s *openvswitch.Snapshot) map[string]string {
	found := map[string]string{}
	for _, each := range s.PortsOf(s.Bridges[Bridge]) {
		if i := s.Single(each); i != nil && i.ExternalIDs[podKey] != "" {
			found[i.ExternalIDs[podKey]] = each.Name
		}
	}
	return found
}

func hash(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return fmt.Sprintf("%08x", h.Sum32())
}
