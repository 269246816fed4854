package fabric

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
)

const dialTimeout = 10 * time.Second

// Forwarder passes TCP connections from one namespace to another. Namespaces don't have to be connected for that.
type Forwarder struct {
	listener  net.Listener
	namespace string // of the target
	target    netip.AddrPort
	ctx       context.Context //nolint:containedctx // ends with Close
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

func forward(from string, listen netip.AddrPort, to string, target netip.AddrPort) (*Forwarder, error) {
	f := &Forwarder{namespace: to, target: target}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	err := namespace.Do(from, func() (err error) {
		f.listener, err = (&net.ListenConfig{}).Listen(f.ctx, "tcp", listen.String())
		return err
	})
	if err != nil {
		f.cancel()
		return nil, err
	}
	f.running.Go(f.accept)
	return f, nil
}

// Address returns what it listens on.
func (f *Forwarder) Address() netip.AddrPort { return f.listener.Addr().(*net.TCPAddr).AddrPort() }

// Close ends all connections and returns when they have ended.
func (f *Forwarder) Close() error {
	f.cancel()
	err := f.listener.Close()
	f.running.Wait()
	return err
}

func (f *Forwarder) accept() {
	for {
		connection, err := f.listener.Accept()
		if f.ctx.Err() != nil {
			return
		}
		if err != nil { // too many open files
			time.Sleep(time.Second)
			continue
		}
		f.running.Go(func() { f.pass(connection.(*net.TCPConn)) })
	}
}

func (f *Forwarder) pass(near *net.TCPConn) {
	defer near.Close()
	far, err := f.dial()
	if err != nil {
		_ = near.SetLinger(0) // a reset says that this isn't the end of an answer
		return
	}
	defer far.Close()
	defer context.AfterFunc(f.ctx, func() { _, _ = near.Close(), far.Close() })()

	var both sync.WaitGroup
	both.Go(func() { copyAndClose(far, near) })
	both.Go(func() { copyAndClose(near, far) })
	both.Wait()
}

func (f *Forwarder) dial() (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(f.ctx, dialTimeout)
	defer cancel()
	var connection net.Conn
	err := namespace.Do(f.namespace, func() (err error) {
		connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", f.target.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	return connection.(*net.TCPConn), nil
}

// copyAndClose closes only one direction: the other may have more to say.
func copyAndClose(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		return
	}
	_ = to.CloseWrite()
}
