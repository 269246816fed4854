package vswitch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/vswitchd"
)

// snapshot of the database.
type snapshot struct {
	root       *vswitchd.OpenvSwitch
	bridges    map[string]*vswitchd.Bridge    // by name
	ports      map[string]*vswitchd.Port      // by UUID
	interfaces map[string]*vswitchd.Interface // by UUID
	datapaths  map[string]*vswitchd.Datapath  // by UUID
}

func (d *Database) snapshot() (*snapshot, error) {
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	var bridges []*vswitchd.Bridge
	var ports []*vswitchd.Port
	var interfaces []*vswitchd.Interface
	var datapaths []*vswitchd.Datapath
	if err := d.list(&bridges, &ports, &interfaces, &datapaths); err != nil {
		return nil, err
	}
	s := &snapshot{
		root: root, bridges: map[string]*vswitchd.Bridge{},
		ports: map[string]*vswitchd.Port{}, interfaces: map[string]*vswitchd.Interface{},
		datapaths: map[string]*vswitchd.Datapath{},
	}
	for _, b := range bridges {
		s.bridges[b.Name] = b
	}
	for _, p := range ports {
		s.ports[p.UUID] = p
	}
	for _, i := range interfaces {
		s.interfaces[i.UUID] = i
	}
	for _, dp := range datapaths {
		s.datapaths[dp.UUID] = dp
	}
	return s, nil
}

// members returns the interfaces of a port.
func (s *snapshot) members(p *vswitchd.Port) []*vswitchd.Interface {
	var members []*vswitchd.Interface
	for _, id := range p.Interfaces {
		if i := s.interfaces[id]; i != nil {
			members = append(members, i)
		}
	}
	return members
}

// portsOf returns the ports of a bridge; a bridge that isn't there has none.
func (s *snapshot) portsOf(b *vswitchd.Bridge) []*vswitchd.Port {
	var ports []*vswitchd.Port
	if b != nil {
		for _, id := range b.Ports {
			if p := s.ports[id]; p != nil {
				ports = append(ports, p)
			}
		}
	}
	return ports
}

// single returns the interface of a port that has just one, under the port's name; otherwise nil.
func (s *snapshot) single(p *vswitchd.Port) *vswitchd.Interface {
	if members := s.members(p); len(members) == 1 && members[0].Name == p.Name {
		return members[0]
	}
	return nil
}

// change collects the operations of one transaction.
type change struct {
	database   *Database
	operations []ovsdb.Operation
	err        error
}

func (c *change) add(operations []ovsdb.Operation, err error) {
	c.operations = append(c.operations, operations...)
	if c.err == nil {
		c.err = err
	}
}

func (c *change) create(rows ...model.Model) {
	for _, row := range rows {
		c.add(c.database.ovsdb().Create(row))
	}
}

// remove removes ports from a bridge. With the last reference the database deletes them and their interfaces.
func (c *change) remove(b *vswitchd.Bridge, ports ...string) {
	if len(ports) > 0 {
		c.mutate(b, model.Mutation{Field: &b.Ports, Mutator: ovsdb.MutateOperationDelete, Value: ports})
	}
}

func (c *change) mutate(row model.Model, mutations ...model.Mutation) {
	c.add(c.database.ovsdb().Where(row).Mutate(row, mutations...))
}

func (c *change) update(row model.Model, fields ...any) {
	c.add(c.database.ovsdb().Where(row).Update(row, fields...))
}

// set sets keys of a map, and leaves the others alone. An empty value removes the key.
func (c *change) set(row model.Model, field *map[string]string, wanted map[string]string) {
	var stale []string
	missing := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value, found := (*field)[key]
		if value == wanted[key] {
			continue
		}
		if found {
			stale = append(stale, key)
		}
		if wanted[key] != "" {
			missing[key] = wanted[key]
		}
	}
	if len(stale) > 0 {
		c.mutate(row, model.Mutation{Field: field, Mutator: ovsdb.MutateOperationDelete, Value: stale})
	}
	if len(missing) > 0 {
		c.mutate(row, model.Mutation{Field: field, Mutator: ovsdb.MutateOperationInsert, Value: missing})
	}
}

// commit writes what was collected, and waits for ovs-vswitchd.
func (c *change) commit(ctx context.Context) error {
	if c.err != nil {
		return fmt.Errorf("plan a change of Open vSwitch: %w", c.err)
	}
	return c.database.transact(ctx, c.operations...)
}
