package speaker

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/bedplate/bedplate/internal/hydrazine/speaker/bgp"
)

// BGP is the interface of a speaker to the protocol.
type BGP interface {
	// Configure makes sessions with the neighbors of a configuration, and with no others.
	Configure(bgp.Config) error
	// Announce a route to all neighbors, now and whenever a session is opened.
	Announce(prefix netip.Prefix, nextHop netip.Addr) error
	// Withdraw a route.
	Withdraw(prefix netip.Prefix) error
	// Sessions are those with the neighbors.
	Sessions() []bgp.Session
	// Settled is how long it may take until no neighbor has a route that is withdrawn now.
	Settled() time.Duration
	// Memory is how long neighbors may keep this speaker's routes when it is gone, by the existing sessions.
	Memory() time.Duration
}

// route of a public IP.
type route struct {
	prefix  netip.Prefix
	nextHop netip.Addr
}

// holding is a route that is announced for a PublicIP, which has this speaker's name.
type holding struct {
	uid types.UID
	route
}

// errSilent is the error of announcements while others may count this speaker as silent.
var errSilent = errors.New("the Lease of this speaker has run out")

// table is what is announced. It is empty when others may count this speaker as silent.
type table struct {
	bgp   BGP
	clock clock.PassiveClock

	mu       sync.Mutex
	until    time.Time          // the last word
	term     int                // counts how often the table was emptied
	holdings map[string]holding // by the name of the PublicIP
	owners   map[netip.Prefix]string
	wanted   map[string]time.Time
}

func newTable(b BGP, c clock.PassiveClock) *table {
	return &table{bgp: b, clock: c, holdings: map[string]holding{}, owners: map[netip.Prefix]string{}, wanted: map[string]time.Time{}}
}

// allow announcements until then, and say whether they weren't allowed before: then the table is empty, and what was written
// before counts for nothing.
func (t *table) allow(until time.Time) (again bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if again = !t.open(); again {
		_, err = t.empty()
	}
	if err == nil {
		t.until = until
	}
	return again, err
}

// allowed reports whether anything may be announced.
func (t *table) allowed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open()
}

func (t *table) open() bool { return t.clock.Now().Before(t.until) }

// currentTerm has to be read before a name is written, and passed to announce.
func (t *table) currentTerm() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.term
}

// announce a route for a PublicIP to which this speaker's name was added during the term.
func (t *table) announce(name string, h holding, term int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if term != t.term || !t.open() {
		return errSilent
	}
	if err := t.belongs(name, h.prefix); err != nil {
		return err
	}
	if err := t.bgp.Announce(h.prefix, h.nextHop); err != nil {
		return err
	}
	t.holdings[name], t.owners[h.prefix] = h, name
	announcements.Inc()
	announced.Set(float64(len(t.holdings)))
	if since, known := t.wanted[name]; known {
		delay.Observe(t.clock.Since(since).Seconds())
		delete(t.wanted, name)
	}
	return nil
}

// free reports whether a PublicIP may have a prefix. Another one that it is announced for keeps it.
func (t *table) free(name string, prefix netip.Prefix) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.belongs(name, prefix)
}

func (t *table) belongs(name string, prefix netip.Prefix) error {
	if owner, taken := t.owners[prefix]; taken && owner != name {
		return fmt.Errorf("%s is announced for PublicIP %s already", prefix, owner)
	}
	return nil
}

// holds returns what is announced for a PublicIP.
func (t *table) holds(name string) (holding, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, held := t.holdings[name]
	return h, held
}

// withdraw what is announced for a PublicIP, if anything is.
func (t *table) withdraw(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.wanted, name)
	return t.drop(name)
}

func (t *table) drop(name string) error {
	h, held := t.holdings[name]
	if !held {
		return nil
	}
	if err := t.bgp.Withdraw(h.prefix); err != nil {
		return err
	}
	delete(t.holdings, name)
	delete(t.owners, h.prefix)
	withdrawals.Inc()
	announced.Set(float64(len(t.holdings)))
	return nil
}

// expire withdraws everything if the last word is over, and returns how much that was.
func (t *table) expire() (withdrawn int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open() || len(t.holdings) == 0 {
		return 0, nil
	}
	return t.empty()
}

func (t *table) empty() (withdrawn int, err error) {
	t.term++
	for name := range t.holdings {
		if failure := t.drop(name); failure != nil {
			err = errors.Join(err, failure)
			continue
		}
		withdrawn++
	}
	return withdrawn, err
}

func (t *table) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.holdings)
}

// noteWanted remembers when it was first seen that a PublicIP has to be announced.
func (t *table) noteWanted(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, held := t.holdings[name]
	_, noted := t.wanted[name]
	if !held && !noted {
		t.wanted[name] = t.clock.Now()
	}
}
