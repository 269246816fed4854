package ovn

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/sbdb"
)

// Southbound is a connection to OVN's southbound database: the logical network as the chassis have it.
type Southbound struct {
	*Database
}

// DialSouthbound connects to a southbound database. See Dial.
func DialSouthbound(ctx context.Context, endpoint string, changed func(table string)) (*Southbound, error) {
	models, err := sbdb.FullDatabaseModel()
	if err != nil {
		return nil, err
	}
	database, err := Dial(ctx, models, endpoint, changed)
	if err != nil {
		return nil, err
	}
	return &Southbound{database}, nil
}

// Binding is what a logical port is bound to.
type Binding struct {
	// Chassis is the name of the one that has the port.
	Chassis string
	// Up means that the chassis has the port's flows.
	Up bool
}

// Bindings returns how logical ports are bound, by their names. Those that no chassis has are not among them.
func (s *Southbound) Bindings(ctx context.Context) (map[string]Binding, error) {
	c, err := s.Client()
	if err != nil {
		return nil, err
	}
	chassis, err := chassisNames(ctx, c)
	if err != nil {
		return nil, err
	}
	var ports []*sbdb.PortBinding
	if err := list(ctx, c, &ports); err != nil {
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
func (s *Southbound) Chassis(ctx context.Context) ([]string, error) {
	c, err := s.Client()
	if err != nil {
		return nil, err
	}
	names, err := chassisNames(ctx, c)
	return slices.Sorted(maps.Values(names)), err
}

// DeleteChassis removes a chassis that has left. One that is still there comes back by itself.
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

// chassisNames by UUID.
func chassisNames(ctx context.Context, c client.Client) (map[string]string, error) {
	var rows []*sbdb.Chassis
	if err := list(ctx, c, &rows); err != nil {
		return nil, fmt.Errorf("list chassis: %w", err)
	}
	names := map[string]string{}
	for _, row := range rows {
		names[row.UUID] = row.Name
	}
	return names, nil
}
