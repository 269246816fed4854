package mtls

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"google.golang.org/grpc/credentials"

	"github.com/bedplate/bedplate/internal/evict"
)

// Pending are the connections of a server whose clients haven't shown a certificate yet. There is always room for one more: if
// there are too many, the oldest one of the address with the most is closed. So a client that connects and says nothing keeps out
// no other client, and one that shares its address with a legitimate client would have to be faster than that.
type Pending struct{ set *evict.Set[netip.Prefix] }

// NewPending bounds their number.
func NewPending(limit int) *Pending { return &Pending{evict.New[netip.Prefix](limit)} }

// maxHandshake is how many bytes a client may send until it has shown its certificate. A few certificates take less; crypto/tls would
// keep 256 KiB of a message that isn't complete, of each client.
const maxHandshake = 32 << 10

var errHandshake = fmt.Errorf("the handshake has more than %d bytes", maxHandshake)

// Gate decides about the connections of a server that aren't pending any more.
type Gate interface {
	// Admit a client that has shown a certificate, or refuse it. Closing raw ends its connection at once. Leave is called when
	// it has ended. The server's handlers get the AuthInfo that is returned.
	Admit(raw net.Conn, info credentials.AuthInfo) (admitted credentials.AuthInfo, leave func(), err error)
	// Refused is called when a handshake failed.
	Refused(err error)
}

// Listen to a listener whose connections are pending until they are closed, or pass the gate of Credentials.
func (p *Pending) Listen(listener net.Listener) net.Listener { return &pendingListener{listener, p} }

type pendingListener struct {
	net.Listener
	pending *Pending
}

// Accept implements net.Listener.
func (l *pendingListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.pending.hold(raw), nil
}

func (p *Pending) hold(raw net.Conn) *connection {
	c := &connection{Conn: raw}
	entry := p.set.Add(NetworkOf(raw.RemoteAddr()), 1, func() { _ = c.Close() })
	c.keep = entry.Keep
	c.place(entry.Remove)
	return c
}

// Keep a connection that Listen has accepted, below TLS or not, before those on which no request has come yet.
func Keep(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if c, ok := conn.(*connection); ok {
		c.keep()
	}
}

// connection has a place that it gives back when it is closed.
type connection struct {
	net.Conn
	keep    func()
	shaking bool // hands
	left    int  // bytes that may be read then

	mutex  sync.Mutex
	leave  func()
	closed bool
}

// Read implements net.Conn. During the handshake nothing else reads.
func (c *connection) Read(into []byte) (int, error) {
	if !c.shaking {
		return c.Conn.Read(into)
	}
	if c.left == 0 {
		return 0, errHandshake
	}
	n, err := c.Conn.Read(into[:min(len(into), c.left)])
	c.left -= n
	return n, err
}

// place takes a place instead of the one before.
func (c *connection) place(leave func()) {
	c.mutex.Lock()
	before, closed := c.leave, c.closed
	if !closed {
		c.leave = leave
	}
	c.mutex.Unlock()
	if closed {
		leave()
	} else if before != nil {
		before()
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.mutex.Lock()
	leave := c.leave
	c.leave, c.closed = nil, true
	c.mutex.Unlock()
	if leave != nil {
		leave()
	}
	return c.Conn.Close()
}

// Credentials shake hands as others do, on connections that Listen has accepted. After it the client has to pass the
// gate.
func (p *Pending) Credentials(handshake credentials.TransportCredentials, gate Gate) credentials.TransportCredentials {
	return &gated{handshake, gate}
}

type gated struct {
	credentials.TransportCredentials
	gate Gate
}

// ServerHandshake implements credentials.TransportCredentials.
func (g *gated) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c := raw.(*connection)
	c.shaking, c.left = true, maxHandshake
	secured, info, err := g.TransportCredentials.ServerHandshake(raw)
	c.shaking = false
	if err != nil {
		g.gate.Refused(err)
		return nil, nil, err
	}
	admitted, leave, err := g.gate.Admit(raw, info)
	if err != nil {
		_ = secured.Close()
		return nil, nil, err
	}
	c.place(leave)
	return secured, admitted, nil
}

// Clone implements credentials.TransportCredentials.
func (g *gated) Clone() credentials.TransportCredentials { return g }

// NetworkOf is what the addresses of one client have in common: an IPv4 address, or the /64 of an IPv6 address.
func NetworkOf(address net.Addr) netip.Prefix {
	from, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip := from.Addr().Unmap().WithZone("")
	prefix, _ := ip.Prefix(min(ip.BitLen(), 64))
	return prefix
}
