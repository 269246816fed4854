package openvswitch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
)

// Internal is the type of an interface that the kernel sees without hardware.
const Internal = "internal"

// Change collects the operations of one transaction.
type Change struct {
	database   *Database
	operations []ovsdb.Operation
	err        error
}

// Change begins an empty one.
func (d *Database) Change() *Change { return &Change{database: d} }

// Empty says that nothing would be written.
func (c *Change) Empty() bool { return len(c.operations) == 0 && c.err == nil }

func (c *Change) add(operations []ovsdb.Operation, err error) {
	c.operations = append(c.operations, operations...)
	if c.err == nil {
		c.err = err
	}
}

// Create adds rows. A row that others refer to has its name in the transaction in place of a UUID.
func (c *Change) Create(rows ...model.Model) {
	for _, row := range rows {
		c.add(c.database.ovsdb().Create(row))
	}
}

// Remove removes ports from a bridge. With the last reference the database deletes them and their interfaces.
func (c *Change) Remove(b *vswitchd.Bridge, ports ...string) {
	if len(ports) > 0 {
		c.Mutate(b, model.Mutation{Field: &b.Ports, Mutator: ovsdb.MutateOperationDelete, Value: ports})
	}
}

// Mutate changes parts of a row.
func (c *Change) Mutate(row model.Model, mutations ...model.Mutation) {
	c.add(c.database.ovsdb().Where(row).Mutate(row, mutations...))
}

// Update writes fields of a row.
func (c *Change) Update(row model.Model, fields ...any) {
	c.add(c.database.ovsdb().Where(row).Update(row, fields...))
}

// Set sets keys of a map, and leaves the others alone. An empty value removes the key.
func (c *Change) Set(row model.Model, field *map[string]string, wanted map[string]string) {
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
		c.Mutate(row, model.Mutation{Field: field, Mutator: ovsdb.MutateOperationDelete, Value: stale})
	}
	if len(missing) > 0 {
		c.Mutate(row, model.Mutation{Field: field, Mutator: ovsdb.MutateOperationInsert, Value: missing})
	}
}

// Again has ovs-vswitchd look at all of its configuration, also if nothing else is written.
func (c *Change) Again() {
	c.add([]ovsdb.Operation{{Op: ovsdb.OperationComment, Comment: ptr.To("look again")}}, nil)
}

// Commit writes what was collected, and waits for ovs-vswitchd.
func (c *Change) Commit(ctx context.Context) error {
	if c.err != nil {
		return fmt.Errorf("plan a change of Open vSwitch: %w", c.err)
	}
	return c.database.transact(ctx, c.operations...)
}

// CreateBridge adds a bridge with its local port, which the kernel sees as an interface of the bridge's name.
func (c *Change) CreateBridge(root *vswitchd.OpenvSwitch, bridge *vswitchd.Bridge, mtu *int) {
	local := &vswitchd.Interface{UUID: bridge.UUID + "_local", Name: bridge.Name, Type: Internal, MTURequest: mtu}
	port := &vswitchd.Port{UUID: bridge.UUID + "_port", Name: bridge.Name, Interfaces: []string{local.UUID}}
	bridge.Ports = append(bridge.Ports, port.UUID)
	c.Create(local, port, bridge)
	c.Mutate(root, model.Mutation{Field: &root.Bridges, Mutator: ovsdb.MutateOperationInsert, Value: []string{bridge.UUID}})
}

// RemoveBridge with its ports. Where it has got another port since it was read, the whole change fails.
func (c *Change) RemoveBridge(root *vswitchd.OpenvSwitch, bridge *vswitchd.Bridge) {
	now := 0
	c.add(c.database.ovsdb().Where(bridge).Wait(ovsdb.WaitConditionEqual, &now, bridge, &bridge.Ports))
	c.Mutate(root, model.Mutation{Field: &root.Bridges, Mutator: ovsdb.MutateOperationDelete, Value: []string{bridge.UUID}})
}
