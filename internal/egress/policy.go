// Package egress says what a program may call where a tenant names it: the endpoint and the token URL in a Secret
// must not lead to what listens beside the manager.
package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
)

// Policy says what may be called. The zero Policy allows https to everything but what is inside: the own host, its link, the
// metadata services of clouds, and names of the cluster.
type Policy struct {
	// Allowed destinations. Where there are some, all others are refused.
	Allowed []Destination
	// Cluster has the ranges of the cluster's own Services and Pods. They are refused, unless Allowed has them.
	Cluster []netip.Prefix
	// Loopback allows the own host, also over http. It is for labs and tests.
	Loopback bool
	// Resolver looks names up; default the system's.
	Resolver *net.Resolver
}

// WithoutList returns the policy for what the list isn't about: it refuses what is inside, and nothing else.
func (p Policy) WithoutList() Policy {
	p.Allowed = nil
	return p
}

// Refused is a destination that the policy doesn't allow. It says the same whatever is there.
type Refused struct{ host, port string }

// Error names the destination as it was written.
func (e *Refused) Error() string {
	return net.JoinHostPort(e.host, e.port) + " isn't allowed by the manager's policy: ask its operator (--" + allowedFlag + ")"
}

// CheckURL refuses a URL that can't be allowed, whatever the address of its host is. The error is a *Refused, or says that the
// scheme is wrong.
func (p Policy) CheckURL(u *url.URL) error {
	host, port := hostOf(u)
	switch {
	case u.Scheme == "http" && (!p.Loopback || !isLoopback(host)):
		return fmt.Errorf("must use https; http is for loopback addresses in labs (--%s)", loopbackFlag)
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("must use https")
	case !p.mayCall(host, port):
		return &Refused{host, port}
	}
	return nil
}

// mayCall is false where no address of the host could be allowed.
func (p Policy) mayCall(host, port string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.allows(host, port, addr)
	}
	switch {
	case !isName(host):
		return false
	case p.Loopback && isLoopback(host):
		return true
	case len(p.Allowed) == 0:
		return !isOfCluster(host)
	}
	return p.names(host, port) || slices.ContainsFunc(p.Allowed, func(d Destination) bool { return d.name == "" && d.isAt(port) })
}

// mayProxy is mayCall where the address stays unknown, because a proxy looks the name up.
func (p Policy) mayProxy(host, port string) bool {
	_, err := netip.ParseAddr(host)
	return p.mayCall(host, port) && (err == nil || len(p.Allowed) == 0 || p.names(host, port))
}

// allows reports whether a host may be called at an address that is its own.
func (p Policy) allows(host, port string, at netip.Addr) bool {
	at = canonical(at)
	switch {
	case p.Loopback && at.IsLoopback():
		return true
	case slices.ContainsFunc(p.Allowed, func(d Destination) bool { return d.contains(at) && d.isAt(port) }):
		return true
	case contain(never, at):
		return false // an allowed name doesn't change that: its DNS answer can't be trusted
	case len(p.Allowed) > 0:
		return p.names(host, port)
	}
	return !contain(p.Cluster, at)
}

// names reports whether the operator has named the host.
func (p Policy) names(host, port string) bool {
	return slices.ContainsFunc(p.Allowed, func(d Destination) bool { return d.matches(host) && d.isAt(port) })
}

// hostOf is the host of a URL as names are compared, and its port.
func hostOf(u *url.URL) (host, port string) {
	port = u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return normal(u.Hostname()), port
}
