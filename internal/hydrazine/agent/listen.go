package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/link"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
)

// uplinkListener listens at the addresses of the uplink and no others: clients that reach a management port or a VLAN of the DPU can't
// connect to the agent. The addresses may come later than the agent, and change.
type uplinkListener struct {
	addresses   func() ([]netip.Addr, error)
	port        uint16
	connections chan net.Conn
	ended       context.Context
	end         context.CancelFunc

	at      map[netip.Addr]net.Listener // of follow alone
	problem string                      // the last one logged
}

// listenAtUplink until the listener is closed: gRPC would treat an earlier end as a failure.
func (a *Agent) listenAtUplink(ctx context.Context) net.Listener {
	l := &uplinkListener{
		addresses: a.uplinkAddresses, port: DefaultPort, connections: make(chan net.Conn), at: map[netip.Addr]net.Listener{},
	}
	l.ended, l.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		a.news.follow(l.ended, func() bool { l.follow(); return false })
		l.closeAll()
	}()
	return l
}

// uplinkAddresses are those that the bridge to the fabric has, and those that it takes over from the uplinks.
func (a *Agent) uplinkAddresses() (all []netip.Addr, err error) {
	for _, name := range append(slices.Clone(a.options.Uplinks), vswitch.TransportBridge) {
		prefixes, failed := link.Addresses(name)
		for _, p := range prefixes {
			all = append(all, p.Addr())
		}
		err = errors.Join(err, failed)
	}
	return all, err
}

// follow the addresses: it listens at new ones, and stops at those that are gone. What can't be read isn't gone.
func (l *uplinkListener) follow() {
	now, err := l.addresses()
	for _, a := range now {
		if l.at[a] != nil {
			continue
		}
		listener, failed := (&net.ListenConfig{}).Listen(l.ended, "tcp", netip.AddrPortFrom(a, l.port).String())
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("listen at %s: %w", a, failed)) // an IPv6 address that is still tentative, say
			continue
		}
		l.at[a] = listener
		go l.pass(listener)
	}
	for a, listener := range l.at {
		if err == nil && !slices.Contains(now, a) {
			_ = listener.Close()
			delete(l.at, a)
		}
	}
	if err == nil && len(l.at) == 0 {
		err = errors.New("the uplink has no address yet")
	}
	if said := text(err); said != l.problem && l.ended.Err() == nil {
		l.problem = said
		if err != nil {
			slog.Warn("The controller can't call the agent at every address of the uplink", "error", err, "addresses", len(l.at))
		} else {
			slog.Info("The controller can call the agent at every address of the uplink", "addresses", len(l.at))
		}
	}
}

// pass on the connections of a listener until it is closed.
func (l *uplinkListener) pass(from net.Listener) {
	for {
		connection, err := from.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // too many open files, say
			rest(l.ended, time.Second)
			continue
		}
		select {
		case l.connections <- connection:
		case <-l.ended.Done():
			_ = connection.Close()
		}
	}
}

func (l *uplinkListener) closeAll() {
	for _, listener := range l.at {
		_ = listener.Close()
	}
}

// Accept implements net.Listener.
func (l *uplinkListener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.connections:
		return connection, nil
	case <-l.ended.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *uplinkListener) Close() error {
	l.end()
	return nil
}

// Addr implements net.Listener.
func (l *uplinkListener) Addr() net.Addr { return uplinkAddr{l.port} }

// uplinkAddr stands in logs for possibly several addresses.
type uplinkAddr struct{ port uint16 }

func (uplinkAddr) Network() string  { return "tcp" }
func (a uplinkAddr) String() string { return fmt.Sprintf("the uplink's addresses, port %d", a.port) }
