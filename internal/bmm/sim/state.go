package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// state is all that exists. Server.mu protects it. What an object's status is follows from the clock, so nothing has
// to be driven; only a machine needs a timer that powers it on.
type state struct {
	started     time.Time
	tenantKnown bool
	random      *rand.Rand
	machines    []*machine
	vpcs        []*vpc
	subnets     []*subnet
	instances   []*instance
	// usedVPCIDs has the ID of every VPC that ever was: deletes are soft and the ID is the primary key.
	usedVPCIDs map[string]bool
}

// machine is a server in a rack. It is in use as long as an instance has its ID.
type machine struct {
	id, siteID, typeID string
	number             int
}

func newState(config Config, now time.Time) state {
	s := state{
		started:     now,
		tenantKnown: !config.FirstUse,
		random:      rand.New(rand.NewPCG(config.Seed, config.Seed)), //nolint:gosec // must repeat; no secret comes from it
		usedVPCIDs:  map[string]bool{},
	}
	for _, instanceType := range config.InstanceTypes {
		for range instanceType.Machines {
			number := len(s.machines) + 1
			s.machines = append(s.machines, &machine{
				id: fmt.Sprintf("fm100ht%030d", number), siteID: instanceType.SiteID, typeID: instanceType.ID, number: number,
			})
		}
	}
	return s
}

// forget drops what is gone by now: what was deleted long enough ago.
func (s *state) forget(now time.Time) {
	s.vpcs = slices.DeleteFunc(s.vpcs, func(v *vpc) bool { return v.gone(now) })
	s.subnets = slices.DeleteFunc(s.subnets, func(n *subnet) bool { return n.gone(now) })
	s.instances = slices.DeleteFunc(s.instances, func(i *instance) bool { return i.gone(now) })
}

// life is the part of an object's state that follows from the clock.
type life struct {
	created time.Time
	// ready is when provisioning ends.
	ready time.Time
	// deleted is when a DELETE was accepted, forgotten when GET answers 404; both zero before.
	deleted, forgotten time.Time
}

func newLife(now time.Time, provisioning time.Duration) life {
	return life{created: now, ready: now.Add(provisioning)}
}

func (l *life) delete(now time.Time, takes time.Duration) {
	if l.deleted.IsZero() {
		l.deleted, l.forgotten = now, now.Add(takes)
	}
}

func (l *life) gone(now time.Time) bool { return !l.deleted.IsZero() && !now.Before(l.forgotten) }

// status is pending for the first tenth of the provisioning time.
func (l *life) status(now time.Time) string {
	switch {
	case !l.deleted.IsZero():
		return "Deleting"
	case !now.Before(l.ready):
		return "Ready"
	case now.Sub(l.created) < l.ready.Sub(l.created)/10:
		return "Pending"
	default:
		return "Provisioning"
	}
}

// updated is when the status changed last.
func (l *life) updated(now time.Time) time.Time {
	switch {
	case !l.deleted.IsZero():
		return l.deleted
	case !now.Before(l.ready):
		return l.ready
	default:
		return l.created
	}
}

// view runs read under the lock, on a state from which everything that is gone has been dropped.
func (s *Server) view(read func(now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.state.forget(now)
	read(now)
}

// change is like view, for something that may be refused.
func (s *Server) change(write func(now time.Time) error) error {
	var err error
	s.view(func(now time.Time) { err = write(now) })
	return err
}

// find returns the element that is wanted, or nil.
func find[T any](items []*T, wanted func(*T) bool) *T {
	if i := slices.IndexFunc(items, wanted); i >= 0 {
		return items[i]
	}
	return nil
}
