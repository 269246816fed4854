package ovn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/ovn-kubernetes/libovsdb/cache"
	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

const (
	connectTimeout = 5 * time.Second
	// A server that doesn't answer an echo for so long is lost.
	echoInterval = 5 * time.Second
	retryFirst   = 50 * time.Millisecond
	retryLast    = time.Second
	// transactTimeout is more than any transaction takes. As long as one waits, the connection can't be closed.
	transactTimeout = 10 * time.Second
	// readTimeout is how long a read waits for the copy of the database to be complete.
	readTimeout = time.Second
)

// ErrNotConnected means that a database can't be reached now. Its connection is being made again.
var ErrNotConnected = errors.New("the database can't be reached")

// Database is a connection to an OVSDB database with a copy of it in memory. It is made again whenever it is lost.
//
// libovsdb can do that too, but not be told to give up: a client that is closed while it has no server tries for ever.
type Database struct {
	models   model.ClientDBModel
	endpoint string
	changed  func(table string)
	stop     context.CancelFunc
	stopped  chan struct{}

	mutex  sync.Mutex
	client client.Client // nil while there is no connection
	news   chan struct{} // closed at the next change
	closed bool
}

// Dial connects to a database such as unix:/run/ovn/nb.sock or tcp:172.18.0.2:6641, and reads all tables that there are
// models of. From then on it calls changed with the name of a table whenever one of its rows has changed, and with none
// when the connection is lost or made again. changed must not block; it may be nil.
func Dial(ctx context.Context, models model.ClientDBModel, endpoint string, changed func(table string)) (*Database, error) {
	if changed == nil {
		changed = func(string) {}
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	d := &Database{
		models: models, endpoint: endpoint, changed: changed,
		stop: stop, stopped: make(chan struct{}), news: make(chan struct{}),
	}
	s, err := d.connect(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	d.set(s.client)
	go d.keep(life, s)
	return d, nil
}

// Close ends the connection, and with it the calls of changed.
func (d *Database) Close() {
	d.stop()
	<-d.stopped
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.closed = true
}

// Client is libovsdb's, with the copy of the database. Don't keep it: another connection has another one.
func (d *Database) Client() (client.Client, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.client == nil {
		return nil, fmt.Errorf("%s: %w", d.endpoint, ErrNotConnected)
	}
	return d.client, nil
}

// Transact does all operations or none. When it returns, the copy in memory has what they have done.
func (d *Database) Transact(ctx context.Context, operations ...ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	c, err := d.Client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, transactTimeout)
	defer cancel()
	results, err := c.Transact(ctx, operations...)
	if err != nil {
		return nil, fmt.Errorf("transaction with %s: %w", d.endpoint, err)
	}
	failed, err := ovsdb.CheckOperationResults(results, operations)
	for _, f := range failed {
		err = fmt.Errorf("%s %s: %w", f.Operation().Op, f.Operation().Table, f)
	}
	if err != nil {
		return nil, fmt.Errorf("transaction with %s: %w", d.endpoint, err)
	}
	return results, nil
}

// list reads the rows of a table from the copy in memory. That of a connection that is being lost is never complete again.
func list(ctx context.Context, c client.Client, rows any) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return c.List(ctx, rows)
}

// Wait returns when done says so, or fails. It is asked at once and after every change, while there is a connection.
func (d *Database) Wait(ctx context.Context, done func(client.Client) (bool, error)) error {
	for {
		d.mutex.Lock()
		c, news := d.client, d.news
		d.mutex.Unlock()
		if c != nil {
			if ok, err := done(c); ok || err != nil {
				return err
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// session is one connection.
type session struct {
	client client.Client
	lost   chan struct{} // closed when the server has gone
	end    context.CancelFunc
}

// connect makes a connection and reads the tables.
func (d *Database) connect(ctx context.Context) (*session, error) {
	log := logr.Discard()
	c, err := client.NewOVSDBClient(d.models, client.WithEndpoint(d.endpoint), client.WithLogger(&log))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d.endpoint, err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s := &session{client: c, lost: make(chan struct{}), end: end}
	// The client tells it once, and only to somebody who listens at that moment.
	go func() {
		select {
		case <-c.DisconnectNotify():
			close(s.lost)
		case <-life.Done():
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := d.read(ctx, c); err != nil {
		s.close()
		return nil, fmt.Errorf("connect to %s: %w", d.endpoint, err)
	}
	return s, nil
}

func (d *Database) read(ctx context.Context, c client.Client) error {
	if err := c.Connect(ctx); err != nil {
		return err
	}
	c.Cache().AddEventHandler(&cache.EventHandlerFuncs{
		AddFunc:    func(table string, _ model.Model) { d.tell(table) },
		UpdateFunc: func(table string, _, _ model.Model) { d.tell(table) },
		DeleteFunc: func(table string, _ model.Model) { d.tell(table) },
	})
	_, err := c.MonitorAll(ctx)
	return err
}

func (s *session) close() {
	s.end()
	s.client.Close()
}

// watch returns when the server has gone, or doesn't answer any more, or ctx ends.
func (s *session) watch(ctx context.Context) {
	ticker := time.NewTicker(echoInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.lost:
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
	return s.client.Echo(ctx) == nil
}

// keep has a connection at all times, until ctx ends.
func (d *Database) keep(ctx context.Context, s *session) {
	defer close(d.stopped)
	for s != nil {
		s.watch(ctx)
		d.set(nil)
		s.close()
		if s = d.again(ctx); s != nil {
			d.set(s.client)
		}
	}
}

// again connects as soon as that is possible. It returns nil when ctx has ended.
func (d *Database) again(ctx context.Context) *session {
	for wait := retryFirst; ctx.Err() == nil; wait = min(2*wait, retryLast) {
		if s, err := d.connect(ctx); err == nil {
			return s
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// set the client that is used from now on.
func (d *Database) set(c client.Client) {
	d.mutex.Lock()
	d.client = c
	d.mutex.Unlock()
	d.tell("")
}

// tell everybody who waits that a table has changed, or the connection.
func (d *Database) tell(table string) {
	d.mutex.Lock()
	closed := d.closed
	close(d.news)
	d.news = make(chan struct{})
	d.mutex.Unlock()
	if !closed {
		d.changed(table)
	}
}
