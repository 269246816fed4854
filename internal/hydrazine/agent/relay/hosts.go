package relay

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxHosts is far more than are behind a DPU, virtual machines of theirs included.
	maxHosts = 256
	// A client retries after seconds; firmware that tries several things in turn is faster.
	perHost, hostBurst = rate.Limit(5), 20
	perRelay, burst    = rate.Limit(100), 200

	// A host has a few identities in DHCPv6: those of its firmware, of an installer, and of its system, which may be another one
	// at each boot. Each may have a lease, so new ones are few within a lease's time.
	maxIdentities, newIdentities = 16, 8
	identityInterval             = 30 * time.Minute
	// identityAge is how long one is remembered that isn't heard any more. Its lease may be longer; that ends by itself.
	identityAge = 7 * 24 * time.Hour
)

var (
	errTooMany    = errors.New("it asks too often")
	errUnasked    = errors.New("no host has asked for it")
	errStranger   = errors.New("no host behind this DPU has its MAC address")
	errIdentities = errors.New("it asks under too many identities")
	errNotItsOwn  = errors.New("it speaks of what isn't known to be its own")
)

// Hosts returns the addresses of the hosts behind the DPU, by their MAC addresses, as the controller has set them. It is nil as long as
// an older controller hasn't set them for all hosts.
type Hosts func() map[MAC][]netip.Addr

// identity is what a server of DHCPv6 keeps a lease by: the client's identifier and one of its identity associations.
type identity [sha256.Size]byte

// hosts is what is remembered of the hosts that send requests. It never grows beyond maxHosts: the one that has been silent
// for longest is forgotten, and then counts as new.
type hosts struct {
	behind Hosts
	mutex  sync.Mutex
	all    map[asker]*host
	limit  *rate.Limiter // of all together: addresses are easily forged
}

// asker is a host on the link by its MAC address, or one that asks through a router by its IP address: then its claimed MAC
// address takes nothing away from others.
type asker struct {
	mac     MAC
	address netip.Addr
}

type host struct {
	limit       *rate.Limiter
	mac         MAC // as it says
	asked       time.Time
	transaction [4]byte    // the latest; the first byte of DHCPv6's is 0
	peer        netip.Addr // its address by which it asked, of DHCPv6
	server      netip.Addr // identity of the server that answered last, of DHCPv4
	identifier  []byte     // identifier in its latest request, of DHCPv4

	identities map[identity]time.Time // of DHCPv6: when each was heard last
	fresh      *rate.Limiter          // of identities
}

// question is what hosts has to know of a request.
type question struct {
	mac         MAC // whose lease it is about
	routed      bool
	transaction [4]byte
	peer        netip.Addr
	identifier  []byte     // of DHCPv4
	identities  []identity // of DHCPv6
	givesBack   bool       // a lease, of DHCPv6
}

func newHosts(behind Hosts) *hosts {
	return &hosts{behind: behind, all: map[asker]*host{}, limit: rate.NewLimiter(perRelay, burst)}
}

// addresses of the host behind the DPU that has a MAC address, if it is known which hosts these are.
func (h *hosts) addresses(mac MAC) (own []netip.Addr, known bool, err error) {
	var all map[MAC][]netip.Addr
	if h.behind != nil {
		all = h.behind()
	}
	if all == nil {
		return nil, false, nil
	}
	own, found := all[mac]
	if !found {
		return nil, true, errStranger
	}
	return own, true, nil
}

// ask records a request from a MAC address, or from a client behind a router that claims one. It may be refused. It returns the
// identity of the host's server, if that is known.
func (h *hosts) ask(q question, now time.Time) (server netip.Addr, err error) {
	by := asker{mac: q.mac}
	if q.routed {
		by = asker{address: q.peer}
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	known := h.all[by]
	if known == nil {
		known = &host{
			limit:      rate.NewLimiter(perHost, hostBurst),
			identities: map[identity]time.Time{}, fresh: rate.NewLimiter(rate.Every(identityInterval), newIdentities),
		}
	}
	if !known.limit.AllowN(now, 1) || !h.limit.AllowN(now, 1) {
		return netip.Addr{}, errTooMany
	}
	if err := known.appear(q, now); err != nil {
		return netip.Addr{}, err
	}
	if h.all[by] == nil && len(h.all) >= maxHosts {
		h.forgetOne()
	}
	h.all[by] = known
	if onLink := h.all[asker{mac: q.mac}]; onLink != nil && known.mac != q.mac {
		known.server = onLink.server // it had its address from there
	}
	known.asked, known.mac, known.transaction, known.peer, known.identifier = now, q.mac, q.transaction, q.peer, q.identifier
	return known.server, nil
}

// appear notes the identities of a request. New ones are few, and only what was asked for here before is given back.
func (h *host) appear(q question, now time.Time) error {
	fresh := 0
	for _, id := range q.identities {
		if heard, known := h.identities[id]; !known || now.Sub(heard) > identityAge {
			fresh++
		}
	}
	switch {
	case fresh > 0 && q.givesBack:
		return errNotItsOwn
	case fresh > 0 && !h.fresh.AllowN(now, fresh):
		return errIdentities
	}
	for _, id := range q.identities {
		h.identities[id] = now
	}
	for len(h.identities) > maxIdentities {
		oldest, at := identity{}, time.Time{}
		for id, heard := range h.identities {
			if at.IsZero() || heard.Before(at) {
				oldest, at = id, heard
			}
		}
		delete(h.identities, oldest)
	}
	return nil
}

func (h *hosts) forgetOne() {
	var oldest asker
	var at time.Time
	for by, each := range h.all {
		if at.IsZero() || each.asked.Before(at) {
			oldest, at = by, each.asked
		}
	}
	delete(h.all, oldest)
}

// answered reports whether a host waits for an answer, and records the identity of its server. It returns the host's
// identity, nil if it has sent none.
func (h *hosts) answered(mac MAC, transaction [4]byte, server netip.Addr) (identifier []byte, err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	err = errUnasked
	for _, each := range h.all {
		if each.mac == mac && each.transaction == transaction {
			each.server, identifier, err = server, each.identifier, nil
		}
	}
	return identifier, err
}

// byPeer returns the host that asked from an address.
func (h *hosts) byPeer(peer netip.Addr, transaction [4]byte) (MAC, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, each := range h.all {
		if each.peer == peer && each.transaction == transaction {
			return each.mac, nil
		}
	}
	return MAC{}, errUnasked
}
