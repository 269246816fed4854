package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// Transport makes a transport keep to the policy. Names are looked up once, and it is the address that counts which is about to
// be called. Where the transport has a proxy for a request, the proxy is the operator's, so it may be anywhere, and looks names
// up itself: then the name counts. dialTimeout bounds each attempt to connect.
func (p Policy) Transport(t *http.Transport, dialTimeout time.Duration) http.RoundTripper {
	dialer := func(control func(context.Context, string, string, syscall.RawConn) error) *net.Dialer {
		return &net.Dialer{Timeout: dialTimeout, Resolver: p.Resolver, ControlContext: control}
	}
	direct, proxied := t, t.Clone()
	proxied.DialContext = dialer(nil).DialContext
	direct.Proxy = nil
	direct.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		name := normal(host)
		if !p.mayCall(name, port) {
			return nil, &Refused{name, port}
		}
		control := func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			if at, err := netip.ParseAddrPort(resolved); err != nil || !p.allows(name, port, at.Addr()) {
				return &Refused{name, port}
			}
			return nil
		}
		conn, err := dialer(control).DialContext(ctx, network, net.JoinHostPort(p.lookedUpAs(host), port))
		if refused, ok := errors.AsType[*Refused](err); ok {
			return nil, refused // without the address
		}
		return conn, err
	}
	return &transport{policy: p, proxy: proxied.Proxy, direct: direct, proxied: proxied}
}

// lookedUpAs is what to look up for a host. Without a list names are looked up as they are, and not below the cluster's own
// domains as well.
func (p Policy) lookedUpAs(host string) string {
	name := normal(host)
	if _, err := netip.ParseAddr(host); err == nil || len(p.Allowed) > 0 || isLoopback(name) {
		return host
	}
	return name + "."
}

type transport struct {
	policy          Policy
	proxy           func(*http.Request) (*url.URL, error)
	direct, proxied *http.Transport
}

// errSwitched is an answer that would never end: its connection is the caller's, and no deadline of the request closes it.
var errSwitched = errors.New("unexpected answer: 101 Switching Protocols")

// RoundTrip sends a request where the policy allows it.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.send(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		return nil, errSwitched
	}
	return resp, err
}

func (t *transport) send(r *http.Request) (*http.Response, error) {
	if t.proxy == nil {
		return t.direct.RoundTrip(r)
	}
	proxy, err := t.proxy(r)
	if err == nil && proxy == nil {
		return t.direct.RoundTrip(r)
	}
	if host, port := hostOf(r.URL); err == nil && !t.policy.mayProxy(host, port) {
		err = &Refused{host, port}
	}
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return t.proxied.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no request uses.
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
