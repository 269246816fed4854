package proxy

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// maxNewcomers is how many there may be at a time. Honest ones are newcomers for a few milliseconds.
const maxNewcomers = 1024

// newcomers are connections whose clients haven't shown a certificate yet. There is always room for one more: where there are
// too many, the oldest has to go of the network that has the most. So whoever connects and says nothing is in nobody's way,
// and one who shares its address with the honest would have to be faster than they are.
type newcomers struct {
	limit   int
	mutex   sync.Mutex
	waiting []*newcomer // oldest first
	from    map[netip.Prefix]int
}

func newNewcomers(limit int) *newcomers {
	return &newcomers{limit: limit, from: map[netip.Prefix]int{}}
}

// newcomer is forgotten when it is known, or closed.
type newcomer struct {
	net.Conn
	from netip.Prefix
	all  *newcomers
}

// Close implements net.Conn.
func (n *newcomer) Close() error {
	n.all.forget(n)
	return n.Conn.Close()
}

// welcome those who come to a listener.
func (n *newcomers) welcome(listener net.Listener) net.Listener { return &door{listener, n} }

type door struct {
	net.Listener
	newcomers *newcomers
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	raw, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return d.newcomers.add(raw), nil
}

func (n *newcomers) add(raw net.Conn) net.Conn {
	one := &newcomer{Conn: raw, from: networkOf(raw.RemoteAddr()), all: n}
	n.mutex.Lock()
	n.waiting = append(n.waiting, one)
	n.from[one.from]++
	tooMany := n.surplus()
	n.mutex.Unlock()
	if tooMany != nil {
		_ = tooMany.Close()
	}
	return one
}

// surplus is who has to go, or nil.
func (n *newcomers) surplus() *newcomer {
	if len(n.waiting) <= n.limit {
		return nil
	}
	var most *newcomer
	for _, one := range n.waiting {
		if most == nil || n.from[one.from] > n.from[most.from] {
			most = one
		}
	}
	return most
}

// forget a newcomer, if it still is one.
func (n *newcomers) forget(connection net.Conn) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	at := slices.IndexFunc(n.waiting, func(one *newcomer) bool { return one == connection })
	if at < 0 {
		return
	}
	from := n.waiting[at].from
	n.waiting = slices.Delete(n.waiting, at, at+1)
	if n.from[from]--; n.from[from] == 0 {
		delete(n.from, from)
	}
}

// networkOf is what one client has in common with itself: an IPv4 address, or the /64 of an IPv6 address.
func networkOf(address net.Addr) netip.Prefix {
	from, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip := from.Addr().Unmap().WithZone("")
	prefix, _ := ip.Prefix(min(ip.BitLen(), 64))
	return prefix
}
