// Package openvswitch configures Open vSwitch through its database.
//
// The wanted state is compared with the actual one, and only the difference is written, in one transaction. So packets
// aren't affected if nothing has to change. A change counts as made when ovs-vswitchd has confirmed it, not when it is
// written.
package openvswitch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/go-logr/logr"
	"github.com/ovn-kubernetes/libovsdb/cache"
	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
)

const (
	// connectTimeout is more than a busy computer takes for the schema and a copy of the database.
	connectTimeout = 4 * time.Second
	// A server that doesn't answer for twice as long is lost.
	echoInterval  = 5 * time.Second
	retryInterval = 500 * time.Millisecond
	// applyTimeout is how long ovs-vswitchd may take to do what the database says.
	applyTimeout = 5 * time.Second
	applyPoll    = 5 * time.Millisecond
	// readTimeout is how long a read waits for the copy of the database to be complete.
	readTimeout = time.Second
)

// ErrDisconnected says that the state of Open vSwitch isn't known at the moment.
var ErrDisconnected = errors.New("there is no connection to the database of Open vSwitch")

// Database is the connection to the database of Open vSwitch, and what is in there.
type Database struct {
	dial    func() (client.Client, error)
	changed func()
	// client of the present connection, or of the next one: read it with ovsdb.
	client atomic.Pointer[client.Client]
}

// New returns a database that isn't connected yet. The endpoint is as OVSDB writes it, such as
// unix:/run/openvswitch/db.sock. changed is called after every change in it; it must return at once.
func New(endpoint string, changed func()) (*Database, error) {
	tables, err := vswitchd.FullDatabaseModel()
	if err != nil {
		return nil, fmt.Errorf("build the model of Open vSwitch: %w", err)
	}
	logger := logr.FromSlogHandler(slog.Default().Handler())
	d := &Database{changed: changed, dial: func() (client.Client, error) {
		return client.NewOVSDBClient(tables, client.WithEndpoint(endpoint), client.WithLogger(&logger),
			client.WithInactivityCheck(echoInterval, connectTimeout, backoff.NewConstantBackOff(retryInterval)))
	}}
	if err := d.renew(); err != nil {
		return nil, fmt.Errorf("configure the client of Open vSwitch: %w", err)
	}
	return d, nil
}

func (d *Database) renew() error {
	c, err := d.dial()
	if err == nil {
		d.client.Store(&c)
	}
	return err
}

func (d *Database) ovsdb() client.Client { return *d.client.Load() }

// Connect tries until there is a connection, or ctx ends. A connection that is lost later comes back by itself.
func (d *Database) Connect(ctx context.Context) {
	before := ""
	for ctx.Err() == nil {
		err := d.connect(ctx)
		if err == nil {
			d.changed()
			return
		}
		if err.Error() != before {
			slog.WarnContext(ctx, "Open vSwitch can't be reached; trying again", "error", err)
			before = err.Error()
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

func (d *Database) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c := d.ovsdb()
	if err := c.Connect(ctx); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	root, bridge, port, iface := &vswitchd.OpenvSwitch{}, &vswitchd.Bridge{}, &vswitchd.Port{}, &vswitchd.Interface{}
	datapath := &vswitchd.Datapath{}
	_, err := c.Monitor(ctx, c.NewMonitor(
		client.WithTable(root, &root.Bridges, &root.ExternalIDs, &root.NextCfg, &root.CurCfg, &root.IfaceTypes,
			&root.Datapaths),
		client.WithTable(datapath, &datapath.Capabilities),
		client.WithTable(bridge, &bridge.Name, &bridge.DatapathType, &bridge.Ports, &bridge.FailMode, &bridge.OtherConfig,
			&bridge.ExternalIDs),
		client.WithTable(port, &port.Name, &port.Interfaces, &port.BondMode, &port.LACP, &port.ExternalIDs),
		client.WithTable(iface, &iface.Name, &iface.Type, &iface.Options, &iface.ExternalIDs, &iface.Ofport, &iface.MTURequest,
			&iface.Error, &iface.MAC),
	))
	if err != nil {
		// It would keep connecting by itself besides, and never read anything any more.
		c.Close()
		return fmt.Errorf("monitor: %w", errors.Join(err, d.renew()))
	}
	c.Cache().AddEventHandler(&cache.EventHandlerFuncs{
		AddFunc:    func(string, model.Model) { d.changed() },
		UpdateFunc: func(string, model.Model, model.Model) { d.changed() },
		DeleteFunc: func(string, model.Model) { d.changed() },
	})
	return nil
}

// Connected reports whether there is a connection. The client's own Connected keeps saying so while it reconnects.
func (d *Database) Connected() bool { return d.ovsdb().CurrentEndpoint() != "" }

// Close ends the connection.
func (d *Database) Close() { d.ovsdb().Close() }

// transact writes a change, if there is one, and waits until ovs-vswitchd has applied the database.
func (d *Database) transact(ctx context.Context, operations ...ovsdb.Operation) error {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	root, err := d.root()
	if err != nil {
		return err
	}
	if len(operations) == 0 {
		return d.applied(ctx, root.NextCfg)
	}
	where := d.ovsdb().Where(root)
	next, err := where.Mutate(root, model.Mutation{Field: &root.NextCfg, Mutator: ovsdb.MutateOperationAdd, Value: 1})
	if err != nil {
		return fmt.Errorf("count the change: %w", err)
	}
	operations = append(operations, next...)
	operations = append(operations, ovsdb.Operation{
		Op: ovsdb.OperationSelect, Table: vswitchd.OpenvSwitchTable, Where: next[0].Where, Columns: []string{"next_cfg"},
	})
	results, err := d.ovsdb().Transact(ctx, operations...)
	if err != nil {
		return fmt.Errorf("change Open vSwitch: %w", err)
	}
	if failed, err := ovsdb.CheckOperationResults(results, operations); err != nil {
		return fmt.Errorf("change Open vSwitch: %w: %v", err, failed)
	}
	rows := results[len(operations)-1].Rows
	if len(rows) != 1 {
		return errors.New("change Open vSwitch: the database has no root")
	}
	number, ok := rows[0]["next_cfg"].(float64)
	if !ok {
		return fmt.Errorf("change Open vSwitch: next_cfg is %v", rows[0]["next_cfg"])
	}
	return d.applied(ctx, int(number))
}

// applied waits until ovs-vswitchd has applied the database as of a count of its changes.
func (d *Database) applied(ctx context.Context, count int) error {
	for {
		root, err := d.root()
		if err != nil {
			return err
		}
		if root.CurCfg >= count {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ovs-vswitchd hasn't done what its database says: %w", ctx.Err())
		case <-time.After(applyPoll):
		}
	}
}

// list reads tables. While the client refills its copy, it waits.
func (d *Database) list(tables ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	for _, table := range tables {
		if err := cmp.Or(d.ovsdb().List(ctx, table), ctx.Err()); err != nil { // at the timeout it returns what it has
			return fmt.Errorf("read the database of Open vSwitch: %w", err)
		}
	}
	return nil
}

func (d *Database) root() (*vswitchd.OpenvSwitch, error) {
	if !d.Connected() {
		return nil, ErrDisconnected
	}
	var roots []vswitchd.OpenvSwitch
	if err := d.list(&roots); err != nil {
		return nil, err
	}
	if len(roots) != 1 {
		return nil, fmt.Errorf("the database of Open vSwitch has %d roots instead of 1", len(roots))
	}
	return &roots[0], nil
}
