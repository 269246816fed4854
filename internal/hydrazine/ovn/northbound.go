package ovn

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// Northbound is a connection to OVN's northbound database: the wanted logical network.
type Northbound struct {
	*Database
	tables tables
	mutex  sync.Mutex // one Apply at a time: the next one has to see what this one has written
}

// DialNorthbound connects to a northbound database. See Dial.
func DialNorthbound(ctx context.Context, endpoint string, changed func(table string), options ...Option) (*Northbound, error) {
	tables, err := northbound()
	if err != nil {
		return nil, err
	}
	known, err := northboundTables()
	if err != nil {
		return nil, err
	}
	database, err := Dial(ctx, tables, endpoint, changed, append(options, only(known.asked()))...)
	if err != nil {
		return nil, err
	}
	return &Northbound{Database: database, tables: known}, nil
}

// asked is the wanted state, and how far that has come. The rest is what OVN adds, several times for each change.
func (t tables) asked() map[string]ovsdb.MonitorRequest {
	requests := map[string]ovsdb.MonitorRequest{}
	for _, table := range t {
		requests[table.TableName] = ovsdb.MonitorRequest{Columns: table.columns}
	}
	requests[nbdb.NBGlobalTable] = ovsdb.MonitorRequest{Columns: []string{"nb_cfg", "sb_cfg", "hv_cfg"}}
	return requests
}

// Apply makes the rows of an owner the wanted ones, in one transaction, and returns its number of operations. 0 means
// that there was nothing to do. Each change has a number: see Change.
//
// Wanted rows carry Mark and Ref. A row of another client with a name that has to be unique in OVN is an error.
func (n *Northbound) Apply(ctx context.Context, owner string, wanted []model.Model) (int, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	found, err := n.rows()
	if err != nil {
		return 0, err
	}
	operations, err := n.tables.difference(owner, found, wanted)
	if err != nil || len(operations) == 0 {
		return 0, err
	}
	// A new database has no row to count in yet. ovn-northd creates it, and all that was written before is in its first
	// change.
	if _, err := n.Transact(ctx, append(operations, count()...)...); err != nil {
		return 0, err
	}
	return len(operations), nil
}

// Translates reports whether a row translates something into an address, or from it.
func (n *Northbound) Translates(external netip.Addr) (bool, error) {
	rows, err := n.rows()
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if nat, ok := row.(*nbdb.NAT); ok && nat.ExternalIP == external.String() {
			return true, nil
		}
	}
	return false, nil
}

// count one more change. A new database counts from the milliseconds since 1970: DPUs remember the number of the last change of a
// lost database, and report it for the next one too, until they have changes of that. It has to be less than those.
func count() []ovsdb.Operation {
	const never = 1_000_000_000_000 // in 2001
	isNew := []ovsdb.Condition{ovsdb.NewCondition("nb_cfg", ovsdb.ConditionLessThan, never)}
	return []ovsdb.Operation{
		{Op: ovsdb.OperationUpdate, Table: nbdb.NBGlobalTable, Where: isNew, Row: ovsdb.Row{"nb_cfg": time.Now().UnixMilli()}},
		{Op: ovsdb.OperationMutate, Table: nbdb.NBGlobalTable, Where: everyRow(), Mutations: one},
	}
}

var one = []ovsdb.Mutation{*ovsdb.NewMutation("nb_cfg", ovsdb.MutateOperationAdd, 1)}

// Change is the number of the last change, or 0 if none has been counted. See Southbound.Changes for the chassis that
// have it.
func (n *Northbound) Change(_ context.Context) (int, error) {
	g, err := n.global()
	if g == nil || err != nil {
		return 0, err
	}
	return g.NbCfg, nil
}

// Transferred is the number of the last change that ovn-northd has transferred to the southbound database, or 0 if there was none.
func (n *Northbound) Transferred(_ context.Context) (int, error) {
	g, err := n.global()
	if g == nil || err != nil {
		return 0, err
	}
	return g.SbCfg, nil
}

// Arrived reports whether the southbound database has the last change, and whether all chassis have its flows, too.
func (n *Northbound) Arrived() (southbound, chassis bool, err error) {
	g, err := n.global()
	if g == nil || err != nil {
		return false, false, err
	}
	southbound = g.SbCfg >= g.NbCfg
	// Without any chassis ovn-northd says that all have a change before the southbound database has it.
	return southbound, southbound && g.HvCfg >= g.NbCfg, nil
}

// rows returns the copy in memory, which must not be changed.
func (n *Northbound) rows() ([]model.Model, error) {
	var rows []model.Model
	for _, table := range n.tables.names() {
		found, err := n.Rows(table)
		if err != nil {
			return nil, err
		}
		rows = slices.AppendSeq(rows, maps.Values(found))
	}
	return rows, nil
}

// Sync returns when ovn-northd has transferred everything that is written until now to the southbound database.
func (n *Northbound) Sync(ctx context.Context) error {
	return n.sync(ctx, "the southbound database", func(g *nbdb.NBGlobal) int { return g.SbCfg })
}

// SyncChassis returns when all chassis have the flows of everything that is written until now. A chassis that has gone, but
// still has a row in the southbound database, is waited for until ctx ends. Without any chassis it returns at once.
func (n *Northbound) SyncChassis(ctx context.Context) error {
	return n.sync(ctx, "the chassis", func(g *nbdb.NBGlobal) int { return min(g.SbCfg, g.HvCfg) })
}

func (n *Northbound) sync(ctx context.Context, with string, reached func(*nbdb.NBGlobal) int) error {
	generation, err := n.bump(ctx)
	if err == nil {
		err = n.Wait(ctx, func() (bool, error) {
			g, err := n.global()
			return g != nil && reached(g) >= generation, err
		})
	}
	if err != nil {
		return fmt.Errorf("wait for %s: %w", with, err)
	}
	return nil
}

// bump starts another generation and returns its number.
func (n *Northbound) bump(ctx context.Context) (int, error) {
	var where []ovsdb.Condition
	// A new database has no row yet: ovn-northd creates it.
	if err := n.Wait(ctx, func() (bool, error) {
		g, err := n.global()
		if g != nil {
			where = isRow(g.UUID)
		}
		return g != nil, err
	}); err != nil {
		return 0, err
	}
	results, err := n.Transact(ctx, append(count(),
		ovsdb.Operation{Op: ovsdb.OperationSelect, Table: nbdb.NBGlobalTable, Where: where, Columns: []string{"nb_cfg"}})...)
	if err != nil {
		return 0, err
	}
	rows := results[len(results)-1].Rows
	if len(rows) != 1 {
		return 0, fmt.Errorf("%s: its row of %s has gone", n.endpoint, nbdb.NBGlobalTable)
	}
	generation, ok := rows[0]["nb_cfg"].(float64)
	if !ok {
		return 0, fmt.Errorf("%s: nb_cfg isn't a number", n.endpoint)
	}
	return int(generation), nil
}

func (n *Northbound) global() (*nbdb.NBGlobal, error) {
	rows, err := rowsOf[*nbdb.NBGlobal](n.Database, nbdb.NBGlobalTable)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

func isRow(uuid string) []ovsdb.Condition {
	return []ovsdb.Condition{ovsdb.NewCondition("_uuid", ovsdb.ConditionEqual, ovsdb.UUID{GoUUID: uuid})}
}
