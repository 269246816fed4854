package ovn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/sbdb"
)

// Southbound is a connection to OVN's southbound database: the logical network as applied by the chassis.
type Southbound struct {
	*Database
}

// DialSouthbound connects to a southbound database. See Dial.
func DialSouthbound(ctx context.Context, endpoint string, changed func(table string), options ...Option) (*Southbound, error) {
	tables, err := southbound()
	if err != nil {
		return nil, err
	}
	database, err := Dial(ctx, tables, endpoint, changed, append(options, only(asked()))...)
	if err != nil {
		return nil, err
	}
	return &Southbound{database}, nil
}

// asked is what Bindings, Chassis and Changes need: a small part of the database, of which the manager has one for each group.
func asked() map[string]ovsdb.MonitorRequest {
	ofHosts := []ovsdb.Condition{ovsdb.NewCondition("type", ovsdb.ConditionEqual, "")} // the others are OVN's own
	return map[string]ovsdb.MonitorRequest{
		sbdb.ChassisTable:        {Columns: []string{"name"}},
		sbdb.ChassisPrivateTable: {Columns: []string{"name", "nb_cfg"}},
		sbdb.PortBindingTable:    {Columns: []string{"logical_port", "chassis", "up"}, Where: ofHosts},
	}
}

// Binding is what a logical port is bound to.
type Binding struct {
	// Chassis is the name of the one that has the port.
	Chassis string
	// Up means that the chassis has the port's flows.
	Up bool
}

// Bindings returns how the ports of hosts are bound, by their names. Unbound ones are not among them.
func (s *Southbound) Bindings(_ context.Context) (map[string]Binding, error) {
	chassis, err := s.chassisNames()
	if err != nil {
		return nil, err
	}
	ports, err := rowsOf[*sbdb.PortBinding](s.Database, sbdb.PortBindingTable)
	if err != nil {
		return nil, fmt.Errorf("list port bindings: %w", err)
	}
	bindings := map[string]Binding{}
	for _, port := range ports {
		if port.Chassis != nil && chassis[*port.Chassis] != "" {
			bindings[port.LogicalPort] = Binding{Chassis: chassis[*port.Chassis], Up: port.Up != nil && *port.Up}
		}
	}
	return bindings, nil
}

// Chassis returns the names of all chassis, sorted.
func (s *Southbound) Chassis(_ context.Context) ([]string, error) {
	names, err := s.chassisNames()
	return slices.Sorted(maps.Values(names)), err
}

// Changes returns, by the name of the chassis, the number of the last change whose flows it has.
func (s *Southbound) Changes(_ context.Context) (map[string]int, error) {
	rows, err := rowsOf[*sbdb.ChassisPrivate](s.Database, sbdb.ChassisPrivateTable)
	if err != nil {
		return nil, fmt.Errorf("list what chassis say of themselves: %w", err)
	}
	changes := map[string]int{}
	for _, row := range rows {
		changes[row.Name] = row.NbCfg
	}
	return changes, nil
}

// DeleteChassis removes a chassis that has left. One that still runs registers again by itself.
func (s *Southbound) DeleteChassis(ctx context.Context, name string) error {
	where := []ovsdb.Condition{ovsdb.NewCondition("name", ovsdb.ConditionEqual, name)}
	_, err := s.Transact(ctx,
		ovsdb.Operation{Op: ovsdb.OperationDelete, Table: sbdb.ChassisTable, Where: where},
		ovsdb.Operation{Op: ovsdb.OperationDelete, Table: sbdb.ChassisPrivateTable, Where: where})
	if err != nil {
		return fmt.Errorf("delete chassis %s: %w", name, err)
	}
	return nil
}

// inactivityProbe is how long, in milliseconds, a DPU may say nothing before it is asked whether it is still there. A large one
// that recomputes all flows takes longer than the default, and would have to do so again after it.
const inactivityProbe = 30_000

// IsOpen reports whether chassis may connect by what the database listens at, such as pssl:16642:172.18.0.2. It
// reads from the database itself, which may have been replaced a moment ago.
func (s *Southbound) IsOpen(ctx context.Context, listen string) (bool, error) {
	results, err := s.Transact(ctx, ovsdb.Operation{
		Op: ovsdb.OperationSelect, Table: sbdb.ConnectionTable, Where: everyRow(), Columns: []string{"target", "role"},
	})
	if err != nil {
		return false, fmt.Errorf("ask whether chassis may connect: %w", err)
	}
	rows := results[0].Rows
	return len(rows) == 1 && rows[0]["target"] == listen && rows[0]["role"] == role(listen), nil
}

// role of a client: that of a chassis, which may only change what is its own, by the name in its certificate. In plaintext
// clients have no name.
func role(listen string) string {
	if strings.HasPrefix(listen, "pssl:") {
		return "ovn-controller"
	}
	return ""
}

// Open lets chassis connect at this address only.
func (s *Southbound) Open(ctx context.Context, listen string) error {
	if !strings.HasPrefix(listen, "pssl:") && !strings.HasPrefix(listen, "ptcp:") {
		return fmt.Errorf("let chassis connect: nothing can listen at %q", listen)
	}
	return s.listen(ctx, ovsdb.Row{
		"target": listen, "role": role(listen), "inactivity_probe": ovsdb.OvsSet{GoSet: []any{inactivityProbe}},
	})
}

// Shut lets no chassis connect, and ends the connections of those that are.
func (s *Southbound) Shut(ctx context.Context) error { return s.listen(ctx) }

func (s *Southbound) listen(ctx context.Context, connections ...ovsdb.Row) error {
	var operations []ovsdb.Operation
	uuids := ovsdb.OvsSet{GoSet: []any{}}
	for i, row := range connections {
		name := fmt.Sprintf("connection%d", i)
		operations = append(operations, ovsdb.Operation{Op: ovsdb.OperationInsert, Table: sbdb.ConnectionTable, Row: row, UUIDName: name})
		uuids.GoSet = append(uuids.GoSet, ovsdb.UUID{GoUUID: name})
	}
	operations = append(operations, ovsdb.Operation{
		Op: ovsdb.OperationUpdate, Table: sbdb.SBGlobalTable, Where: everyRow(), Row: ovsdb.Row{"connections": uuids},
	})
	results, err := s.Transact(ctx, operations...)
	if err == nil && len(connections) > 0 && results[len(connections)].Count != 1 {
		err = fmt.Errorf("%s has no row of %s yet", s.endpoint, sbdb.SBGlobalTable)
	}
	if err != nil {
		return fmt.Errorf("change who may connect: %w", err)
	}
	return nil
}

// everyRow is a condition that all rows meet: libovsdb omits an empty one, which the database requires.
func everyRow() []ovsdb.Condition {
	none := ovsdb.UUID{GoUUID: "00000000-0000-0000-0000-000000000000"}
	return []ovsdb.Condition{ovsdb.NewCondition("_uuid", ovsdb.ConditionNotEqual, none)}
}

// chassisNames by UUID.
func (s *Southbound) chassisNames() (map[string]string, error) {
	rows, err := rowsOf[*sbdb.Chassis](s.Database, sbdb.ChassisTable)
	if err != nil {
		return nil, fmt.Errorf("list chassis: %w", err)
	}
	names := map[string]string{}
	for _, row := range rows {
		names[row.UUID] = row.Name
	}
	return names, nil
}
