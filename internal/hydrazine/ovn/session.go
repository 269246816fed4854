package ovn

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/rpc2"
	"github.com/cenkalti/rpc2/jsonrpc"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/ovn-kubernetes/libovsdb/updates"
)

// session is one connection to a database, with a copy of what was requested. It doesn't reconnect.
//
// libovsdb has a client too. It takes more than half a megabyte for a connection before there is a row: a queue for 65,536 events,
// its own copy of the schema, and indexes that aren't used here. A site has two connections for each group.
type session struct {
	model model.DatabaseModel
	rpc   *rpc2.Client
	tell  func(table string)

	mutex sync.Mutex
	rows  map[string]map[string]model.Model // by table and UUID
}

// open a connection and read the tables.
func open(ctx context.Context, d *Database) (*session, error) {
	connection, err := dial(ctx, d.endpoint, d.tls)
	if err != nil {
		return nil, err
	}
	s := &session{
		model: d.model, tell: d.tell, rows: map[string]map[string]model.Model{},
		rpc: rpc2.NewClientWithCodec(jsonrpc.NewJSONCodec(impatient{connection})),
	}
	s.rpc.SetBlocking(true) // changes come in their order, and before the answer to the transaction that made them
	s.rpc.Handle("echo", func(_ *rpc2.Client, asked []any, reply *[]any) error {
		*reply = asked
		return nil
	})
	s.rpc.Handle("update2", func(_ *rpc2.Client, update []json.RawMessage, _ *[]any) error { return s.update(update) })
	go s.rpc.Run()
	if err := s.read(ctx, d.requests); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func dial(ctx context.Context, endpoint string, config *tls.Config) (net.Conn, error) {
	method, address, _ := strings.Cut(endpoint, ":")
	switch method {
	case "unix", "tcp":
		return (&net.Dialer{}).DialContext(ctx, method, address)
	case "ssl":
		return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	}
	return nil, fmt.Errorf("the endpoint %s is none of unix:, tcp: and ssl:, which are known", endpoint)
}

// impatient is a connection that fails when the other side doesn't read.
type impatient struct{ net.Conn }

func (c impatient) Write(data []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(echoInterval)); err != nil {
		return 0, err
	}
	return c.Conn.Write(data)
}

// everything requests all columns that have models.
func everything(tables model.DatabaseModel) map[string]ovsdb.MonitorRequest {
	all := map[string]ovsdb.MonitorRequest{}
	for name := range tables.Types() {
		var columns []string
		for column := range tables.Schema.Table(name).Columns {
			columns = append(columns, column)
		}
		all[name] = ovsdb.MonitorRequest{Columns: columns}
	}
	return all
}

// read the current content, and subscribe to its changes.
func (s *session) read(ctx context.Context, requests map[string]ovsdb.MonitorRequest) error {
	s.mutex.Lock() // otherwise a change could come before what it changes
	defer s.mutex.Unlock()
	var all json.RawMessage
	args := ovsdb.NewMonitorArgs(s.model.Client().Name(), "", requests)
	if err := s.rpc.CallWithContext(ctx, ovsdb.ConditionalMonitorRPC, args, &all); err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	_, err := s.take(all)
	return err
}

// update the copy. If that fails, it doesn't match the database any more: the connection ends.
func (s *session) update(update []json.RawMessage) error {
	if len(update) != 2 {
		s.close()
		return errors.New("a change has a name and what has changed")
	}
	s.mutex.Lock()
	changed, err := s.take(update[1])
	s.mutex.Unlock()
	if err != nil {
		s.close()
		return err
	}
	for table := range changed {
		s.tell(table)
	}
	return nil
}

// take applies changes to the copy, under the lock.
func (s *session) take(data json.RawMessage) (changes ovsdb.TableUpdates2, err error) {
	if err := decode(data, &changes); err != nil {
		return nil, err
	}
	return changes, s.apply(changes)
}

// decode a message of the server. libovsdb panics at some messages that OVSDB never sends.
func decode(data json.RawMessage, into any) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("that isn't OVSDB: %v", panicked)
		}
	}()
	return json.Unmarshal(data, into)
}

func (s *session) apply(changes ovsdb.TableUpdates2) error {
	for table, rows := range changes {
		if s.rows[table] == nil {
			s.rows[table] = map[string]model.Model{}
		}
		for uuid, row := range rows {
			before, known := s.rows[table][uuid]
			if row == nil || row.Modify != nil && !known {
				return fmt.Errorf("row %s of %s changes that isn't there", uuid, table)
			}
			var change updates.ModelUpdates
			if err := change.AddRowUpdate2(s.model, table, uuid, before, *row); err != nil {
				return fmt.Errorf("row %s of %s: %w", uuid, table, err)
			}
			switch after := change.GetModel(table, uuid); {
			case after != nil:
				s.rows[table][uuid] = after
			case row.Modify == nil:
				delete(s.rows[table], uuid)
			}
		}
	}
	return nil
}

// table returns its rows, by UUID.
func (s *session) table(name string) map[string]model.Model {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.rows[name])
}

func (s *session) transact(ctx context.Context, operations []ovsdb.Operation) (results []ovsdb.OperationResult, err error) {
	var said json.RawMessage
	err = s.rpc.CallWithContext(ctx, "transact", ovsdb.NewTransactArgs(s.model.Client().Name(), operations...), &said)
	if err == nil {
		err = decode(said, &results)
	}
	return results, err
}

// close the connection, without waiting for the server.
func (s *session) close() { _ = s.rpc.Close() }

// watch returns when the connection is closed, the server doesn't answer any more, or ctx ends.
func (s *session) watch(ctx context.Context) {
	ticker := time.NewTicker(echoInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.rpc.DisconnectNotify():
			return
		case <-ticker.C:
			if !s.answers(ctx) {
				return
			}
		}
	}
}

func (s *session) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, echoInterval)
	defer cancel()
	var reply []any
	return s.rpc.CallWithContext(ctx, "echo", ovsdb.NewEchoArgs(), &reply) == nil
}
