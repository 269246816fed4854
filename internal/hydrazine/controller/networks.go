package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// networks are the connections to the centrals of all groups.
type networks struct {
	runtime central.Runtime
	agents  *agents.Pool
	life    context.Context // of all connections
	// groups are those whose central has changed; ports are logical ports whose binding has.
	groups chan event.TypedGenericEvent[types.UID]
	ports  chan event.TypedGenericEvent[string]

	mutex sync.Mutex
	known map[types.UID]*network
}

// network is the connection to one central.
type network struct {
	to    central.Central
	north *ovn.Northbound
	south *ovn.Southbound
	end   context.CancelFunc

	// leaving is when the group's deletion was first seen, and left when the southbound database had it; lost is since when the
	// databases can't be written. Only the group's reconciles use them, and there is one at a time.
	leaving, left, lost time.Time

	mutex     sync.Mutex
	bindings  map[string]ovn.Binding     // of logical ports; nil until they are known
	chassis   map[string]bool            // of the members
	spread    bool                       // whether all of these had the last change
	relays    map[string]*topology.Relay // by chassis; nil without one; those that aren't known yet are missing
	unrelayed string                     // why there is none, if the site doesn't allow the group's server
	authority *central.Authority         // nil in plaintext
	written   []topology.Member          // as last written; nil until then
	taken     int                        // the last change that took an address from a DPU, or may have
	changed   time.Time                  // when the first change was made that not all have; zero if they have all
}

func newNetworks(ctx context.Context, runtime central.Runtime, pool *agents.Pool) *networks {
	return &networks{
		runtime: runtime, agents: pool, life: ctx, known: map[types.UID]*network{},
		groups: make(chan event.TypedGenericEvent[types.UID]), ports: make(chan event.TypedGenericEvent[string]),
	}
}

// service is the name of a group's central.
func service(group types.UID) string { return "ovn-" + string(group) }

// ensure has a group's central running, and a connection to it.
func (n *networks) ensure(ctx context.Context, group types.UID) (*network, central.Central, error) {
	c, err := n.runtime.Ensure(ctx, service(group))
	if err != nil {
		return nil, c, err
	}
	known := n.find(group)
	if known != nil && known.reaches(c) {
		known.trust(c.Authority)
		return known, c, nil
	}
	// Without the lock, which others need: a hanging central is slow. No group is reconciled twice at a time.
	made, err := n.connect(ctx, group, c)
	if err != nil {
		return nil, c, err
	}
	n.mutex.Lock()
	n.known[group] = made
	n.mutex.Unlock()
	if known != nil {
		known.close()
	}
	return made, c, nil
}

// reaches reports whether these are connections to a central. Both are always to the same one: what is written to one's
// northbound database must not open another one's southbound database.
func (w *network) reaches(c central.Central) bool {
	return w.to.Northbound == c.Northbound && w.to.Southbound == c.Southbound && w.to.TLS == c.TLS
}

func (w *network) close() {
	w.end()
	w.north.Close()
	w.south.Close()
}

func (n *networks) connect(ctx context.Context, group types.UID, c central.Central) (*network, error) {
	life, end := context.WithCancel(n.life)
	changed, bound, spread := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	rows := func(table string) {
		if table != nbdb.NBGlobalTable { // the chassis report how far changes have come
			signal(changed)
		}
	}
	north, err := ovn.DialNorthbound(ctx, c.Northbound, rows, ovn.WithTLS(c.TLS))
	if err != nil {
		end()
		return nil, err
	}
	south, err := ovn.DialSouthbound(ctx, c.Southbound, func(string) { signal(bound) }, ovn.WithTLS(c.TLS))
	if err != nil {
		north.Close()
		end()
		return nil, err
	}
	made := &network{to: c, north: north, south: south, end: end, authority: c.Authority}
	go pass(life, changed, func() { tell(life, n.groups, group) })
	go pass(life, bound, func() {
		for _, port := range made.rebound(life) {
			tell(life, n.ports, port)
		}
		if made.spreads(life) {
			signal(spread)
		}
	})
	pace := rate.NewLimiter(turnsPerSecond, turnsAtOnce) // a DPU may write anything into its row, as often as it likes
	go pass(life, spread, func() {
		if pace.Wait(life) == nil {
			tell(life, n.groups, group)
		}
	})
	signal(bound)
	return made, nil
}

// find the connection of a group that has one.
func (n *networks) find(group types.UID) *network {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.known[group]
}

// trust an authority from now on. If it's another one, all members need other certificates: they are enqueued together with relay
// changes.
func (w *network) trust(authority *central.Authority) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.authority != nil && authority != nil && !bytes.Equal(w.authority.PEM(), authority.PEM()) {
		w.relays = nil
	}
	w.authority = authority
}

// authority of a group, or nil as long as it isn't known, or in plaintext.
func (n *networks) authority(group types.UID) *central.Authority {
	w := n.find(group)
	if w == nil {
		return nil
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.authority
}

// forget a group, and delete its central.
func (n *networks) forget(ctx context.Context, group types.UID) error {
	n.mutex.Lock()
	known := n.known[group]
	delete(n.known, group)
	n.mutex.Unlock()
	if known != nil {
		known.close()
	}
	return n.runtime.Delete(ctx, service(group))
}

// Start reports centrals that have changed, until ctx ends.
func (n *networks) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case name := <-n.runtime.Died():
			if group, ok := strings.CutPrefix(name, service("")); ok { // any client may write labels
				tell(ctx, n.groups, types.UID(group))
			}
		}
	}
}

// binding of a logical port of a group, as last reported, and whether it has ever been.
func (n *networks) binding(group types.UID, port string) (ovn.Binding, bool) {
	w := n.find(group)
	if w == nil {
		return ovn.Binding{}, false
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.bindings[port], w.bindings != nil
}

// tellRelays remembers which relays a group's DPUs are to have, and enqueues the hosts whose DPUs need a change.
func (n *networks) tellRelays(of *network, wanted *topology.Topology) {
	now := map[string]*topology.Relay{}
	var changed []string
	of.mutex.Lock()
	for _, m := range wanted.Members {
		now[m.Chassis] = nil
		if relay, ok := wanted.Relay(m.Chassis); ok {
			now[m.Chassis] = &relay
		}
		if before, known := of.relays[m.Chassis]; !known || !ptr.Equal(before, now[m.Chassis]) {
			changed = append(changed, topology.PortName(m.UID, m.Name))
		}
	}
	of.relays, of.unrelayed = now, wanted.NotRelayed
	of.mutex.Unlock()
	for _, port := range changed {
		tell(n.life, n.ports, port)
	}
}

// relay that a DPU is to have for a group, or nil, and whether that is known.
func (n *networks) relay(group types.UID, chassis string) (relay *topology.Relay, known bool) {
	w := n.find(group)
	if w == nil {
		return nil, false
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	relay, known = w.relays[chassis]
	return relay, known
}

// notRelayed says why a group's DHCP server isn't used, or "".
func (n *networks) notRelayed(group types.UID) string {
	w := n.find(group)
	if w == nil {
		return ""
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.unrelayed
}

// rebound reads the current bindings of ports, and returns those that have changed.
func (w *network) rebound(ctx context.Context) (ports []string) {
	now, err := w.south.Bindings(ctx)
	if err != nil {
		return nil // it is reported again when the database is back; until then the last known state counts
	}
	w.mutex.Lock()
	before := w.bindings
	w.bindings = now
	w.mutex.Unlock()
	for port := range maps.Keys(now) {
		if before[port] != now[port] {
			ports = append(ports, port)
		}
	}
	for port := range before {
		if _, ok := now[port]; !ok {
			ports = append(ports, port)
		}
	}
	return ports
}

// propagation of the last change to the chassis, and which of them wait for it.
func (w *network) propagation(ctx context.Context, chassis map[string]bool) (resourcev1.Propagation, []string, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.chassis = chassis
	p, waiting, err := w.compare(ctx, chassis)
	w.spread = err == nil && len(waiting) == 0 // if it was reported that some wait, it is reported when none does
	w.arrived(len(chassis))
	return p, waiting, err
}

func (w *network) compare(ctx context.Context, chassis map[string]bool) (resourcev1.Propagation, []string, error) {
	change, err := w.north.Change(ctx)
	if err != nil {
		return resourcev1.Propagation{}, nil, err
	}
	has, err := w.south.Changes(ctx)
	if err != nil {
		return resourcev1.Propagation{}, nil, err
	}
	waiting := behind(change, has, chassis)
	return resourcev1.Propagation{
		Change: int64(change), DPUs: int32(len(chassis)), Current: int32(len(chassis) - len(waiting)), //nolint:gosec // not that many
	}, waiting, nil
}

// behind are the chassis that don't have a change, or of which it isn't known, in their order. A new database has had no change yet,
// and so says nothing of any of them. One that has more than the last change got it from another database, whose count started from a
// clock that was ahead.
func behind(change int, has map[string]int, chassis map[string]bool) (waiting []string) {
	for _, name := range slices.Sorted(maps.Keys(chassis)) {
		if at, told := has[name]; !told || change == 0 || at != change {
			waiting = append(waiting, name)
		}
	}
	return waiting
}

// spreads reports whether, since the last call, all members' chassis have got the last change, or not all have it any more.
// There is no notification for each one.
func (w *network) spreads(ctx context.Context) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.chassis == nil {
		return false // the group is about to compare for the first time
	}
	_, waiting, err := w.compare(ctx, w.chassis)
	if err != nil {
		return false
	}
	before := w.spread
	w.spread = len(waiting) == 0
	w.arrived(len(w.chassis))
	return w.spread != before
}

// removeChassis deletes the rows of DPUs that have left: OVN would wait for them for ever.
func (w *network) removeChassis(ctx context.Context, wanted map[string]bool) error {
	all, err := w.south.Chassis(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, chassis := range all {
		if !wanted[chassis] {
			errs = append(errs, w.south.DeleteChassis(ctx, chassis))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the DPUs that have left: %w", err)
	}
	return nil
}

// signal that something has happened. Several signals before the receiver reads count as one.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// pass signals on until ctx ends.
func pass(ctx context.Context, from <-chan struct{}, do func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-from:
			do()
		}
	}
}

func tell[T any](ctx context.Context, to chan<- event.TypedGenericEvent[T], what T) {
	select {
	case to <- event.TypedGenericEvent[T]{Object: what}:
	case <-ctx.Done():
	}
}
