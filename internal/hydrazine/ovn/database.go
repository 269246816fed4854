package ovn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

const (
	connectTimeout = 5 * time.Second
	// A server that doesn't answer an echo for so long is lost.
	echoInterval = 5 * time.Second
	retryFirst   = 50 * time.Millisecond
	retryLast    = time.Second
	// transactTimeout is more than any transaction takes.
	transactTimeout = 10 * time.Second
)

// ErrNotConnected means that a database can't be reached now. Its connection is being made again.
var ErrNotConnected = errors.New("the database can't be reached")

// Database is a connection to an OVSDB database with a copy of it in memory. It is made again whenever it is lost.
type Database struct {
	model    model.DatabaseModel
	requests map[string]ovsdb.MonitorRequest // what is read, by table
	endpoint string
	tls      *tls.Config // nil if the endpoint isn't ssl:
	changed  func(table string)
	stop     context.CancelFunc
	stopped  chan struct{}

	mutex   sync.Mutex
	session *session      // nil while there is no connection
	news    chan struct{} // closed at the next change
	closed  bool
}

// Option of a connection.
type Option func(*Database)

// WithTLS is for endpoints such as ssl:10.0.0.7:6641: the trusted authorities, the expected name, and the client's certificate.
func WithTLS(config *tls.Config) Option { return func(d *Database) { d.tls = config } }

// only limits the tables and columns that are read. Other tables aren't in memory, and other columns are as if empty.
func only(requests map[string]ovsdb.MonitorRequest) Option {
	return func(d *Database) { d.requests = requests }
}

// Dial connects to a database such as unix:/run/ovn/nb.sock or tcp:172.18.0.2:6641, and reads all tables that there are
// models of. From then on it calls changed with the name of a table whenever some of its rows have changed, and with none
// when the connection is lost or made again. changed must not block; it may be nil.
func Dial(
	ctx context.Context, tables model.DatabaseModel, endpoint string, changed func(table string), options ...Option,
) (*Database, error) {
	if changed == nil {
		changed = func(string) {}
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	d := &Database{
		model: tables, requests: everything(tables), endpoint: endpoint, changed: changed,
		stop: stop, stopped: make(chan struct{}), news: make(chan struct{}),
	}
	for _, option := range options {
		option(d)
	}
	s, err := d.connect(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	d.set(s)
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

// connected returns the connection that there is now.
func (d *Database) connected() (*session, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.session == nil {
		return nil, fmt.Errorf("%s: %w", d.endpoint, ErrNotConnected)
	}
	return d.session, nil
}

// Rows of a table in memory, by UUID, in a map of the caller's own. They must not be changed.
func (d *Database) Rows(table string) (map[string]model.Model, error) {
	s, err := d.connected()
	if err != nil {
		return nil, err
	}
	return s.table(table), nil
}

// rowsOf a table, which must not be changed.
func rowsOf[T model.Model](d *Database, table string) ([]T, error) {
	found, err := d.Rows(table)
	if err != nil {
		return nil, err
	}
	rows := make([]T, 0, len(found))
	for _, row := range found {
		rows = append(rows, row.(T))
	}
	return rows, nil
}

// Transact does all operations or none. When it returns, the copy in memory has what they have done.
func (d *Database) Transact(ctx context.Context, operations ...ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	s, err := d.connected()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	results, err := d.transact(ctx, s, operations)
	observe(d.model.Client().Name(), len(operations), time.Since(start), err)
	return results, err
}

func (d *Database) transact(ctx context.Context, s *session, operations []ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	ctx, cancel := context.WithTimeout(ctx, transactTimeout)
	defer cancel()
	results, err := s.transact(ctx, operations)
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

// Wait returns when done reports true, or fails with another error than a missing connection. It is called at once and after
// every change.
func (d *Database) Wait(ctx context.Context, done func() (bool, error)) error {
	for {
		d.mutex.Lock()
		news := d.news
		d.mutex.Unlock()
		if ok, err := done(); ok || err != nil && !errors.Is(err, ErrNotConnected) {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *Database) connect(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	s, err := open(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d.endpoint, err)
	}
	return s, nil
}

// keep maintains a connection until ctx ends.
func (d *Database) keep(ctx context.Context, s *session) {
	defer close(d.stopped)
	for s != nil {
		s.watch(ctx)
		d.set(nil)
		s.close()
		if s = d.again(ctx); s != nil {
			d.set(s)
		}
	}
}

// again connects as soon as possible. It returns nil when ctx has ended.
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

// set the connection that is used from now on.
func (d *Database) set(s *session) {
	d.mutex.Lock()
	d.session = s
	d.mutex.Unlock()
	d.tell("")
}

// tell all waiters that a table has changed, or the connection.
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
