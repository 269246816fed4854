package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
)

// networks are the connections to the centrals of all groups.
type networks struct {
	runtime central.Runtime
	life    context.Context // of all connections
	// groups are those whose central has changed; ports are logical ports whose binding has.
	groups chan event.TypedGenericEvent[types.UID]
	ports  chan event.TypedGenericEvent[string]

	mutex sync.Mutex
	known map[types.UID]*network
}

// network is the connection to one central.
type network struct {
	north *ovn.Northbound
	south *ovn.Southbound
	end   context.CancelFunc

	mutex    sync.Mutex
	bindings map[string]ovn.Binding // of logical ports; nil until they are known
}

func newNetworks(ctx context.Context, runtime central.Runtime) *networks {
	return &networks{
		runtime: runtime, life: ctx, known: map[types.UID]*network{},
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
	if known := n.find(group); known != nil {
		return known, c, nil
	}
	// Without the lock, which others need: a central that hangs takes its time. No group is reconciled twice at a time.
	made, err := n.connect(ctx, group, c)
	if err != nil {
		return nil, c, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.known[group] = made
	return made, c, nil
}

func (n *networks) connect(ctx context.Context, group types.UID, c central.Central) (*network, error) {
	life, end := context.WithCancel(n.life)
	changed, bound := make(chan struct{}, 1), make(chan struct{}, 1)
	north, err := ovn.DialNorthbound(ctx, c.Northbound, func(string) { signal(changed) })
	if err != nil {
		end()
		return nil, err
	}
	south, err := ovn.DialSouthbound(ctx, c.Southbound, func(string) { signal(bound) })
	if err != nil {
		north.Close()
		end()
		return nil, err
	}
	made := &network{north: north, south: south, end: end}
	go pass(life, changed, func() { tell(life, n.groups, group) })
	go pass(life, bound, func() {
		for _, port := range made.rebound(life) {
			tell(life, n.ports, port)
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

// forget a group, and delete its central.
func (n *networks) forget(ctx context.Context, group types.UID) error {
	n.mutex.Lock()
	known := n.known[group]
	delete(n.known, group)
	n.mutex.Unlock()
	if known != nil {
		known.end()
		known.north.Close()
		known.south.Close()
	}
	return n.runtime.Delete(ctx, service(group))
}

// Start tells of centrals of which a part has ended by itself, until ctx ends.
func (n *networks) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case name := <-n.runtime.Died():
			tell(ctx, n.groups, types.UID(name[len(service("")):]))
		}
	}
}

// binding of a logical port of a group, as it was told of last, and whether it has ever been.
func (n *networks) binding(group types.UID, port string) (ovn.Binding, bool) {
	w := n.find(group)
	if w == nil {
		return ovn.Binding{}, false
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.bindings[port], w.bindings != nil
}

// rebound reads how ports are bound now, and returns those that were otherwise before.
func (w *network) rebound(ctx context.Context) (ports []string) {
	now, err := w.south.Bindings(ctx)
	if err != nil {
		return nil // it is told of again when the database is back; until then what was known is the best there is
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

// signal that something has happened, to who hears of it once if it happens again before he listens.
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
