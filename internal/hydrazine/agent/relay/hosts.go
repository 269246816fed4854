package relay

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxHosts is far more than are behind a DPU, virtual machines of theirs included.
	maxHosts = 256
	// A client repeats itself after seconds; a firmware that tries several things in turn is faster.
	perHost, hostBurst = rate.Limit(5), 20
	perRelay, burst    = rate.Limit(100), 200
)

var (
	errTooMany = errors.New("it asks too often")
	errUnasked = errors.New("nobody has asked for it")
)

// hosts is what is remembered of those who ask. It never grows beyond maxHosts: who has been silent for longest is forgotten,
// and can be told apart no more from one who is new.
type hosts struct {
	mutex sync.Mutex
	all   map[asker]*host
	limit *rate.Limiter // of all together: addresses are easily made up
}

// asker is a host on the link by its MAC address, or one that asks through a router by its IP address: whatever it says then of
// its MAC address takes nothing away from others.
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
	server      netip.Addr // how the server that answered last calls itself, of DHCPv4
}

func newHosts() *hosts {
	return &hosts{all: map[asker]*host{}, limit: rate.NewLimiter(perRelay, burst)}
}

// ask notes a request of who has a MAC address, or says so from another one through a router. It may be refused. It returns how
// the host's server calls itself, if that is known.
func (h *hosts) ask(
	mac MAC, transaction [4]byte, peer netip.Addr, routed bool, now time.Time,
) (server netip.Addr, err error) {
	by := asker{mac: mac}
	if routed {
		by = asker{address: peer}
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	known := h.all[by]
	if known == nil {
		known = &host{limit: rate.NewLimiter(perHost, hostBurst)}
	}
	if !known.limit.AllowN(now, 1) || !h.limit.AllowN(now, 1) {
		return netip.Addr{}, errTooMany
	}
	if h.all[by] == nil && len(h.all) >= maxHosts {
		h.forgetOne()
	}
	h.all[by] = known
	if onLink := h.all[asker{mac: mac}]; onLink != nil && known.mac != mac {
		known.server = onLink.server // it had its address from there
	}
	known.asked, known.mac, known.transaction, known.peer = now, mac, transaction, peer
	return known.server, nil
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

// answered says whether a host waits for an answer, and notes how its server calls itself.
func (h *hosts) answered(mac MAC, transaction [4]byte, server netip.Addr) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	err := errUnasked
	for _, each := range h.all {
		if each.mac == mac && each.transaction == transaction {
			each.server, err = server, nil
		}
	}
	return err
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
