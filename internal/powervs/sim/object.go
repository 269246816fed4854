package sim

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"github.com/bedplate/bedplate/internal/simulator"
)

// object is what everything that exists has in common.
type object struct {
	simulator.Life
	id, name string
	// within is the ID of what it is in, such as its workspace or its VPC; empty for the account.
	within string
	// world means that no client made it: it is there from the beginning.
	world bool
	// part means that it comes and goes with something else.
	part bool
}

// newObject begins now, and is ready some time later.
func newObject(now time.Time, name, within string, takes time.Duration) object {
	return object{Life: simulator.NewLife(now, takes), id: uuid.NewString(), name: name, within: within}
}

// worldObject is there from the beginning.
func worldObject(now time.Time, id, name, within string) object {
	return object{Life: simulator.NewLife(now, 0), id: id, name: name, within: within, world: true}
}

func (o *object) base() *object { return o }

// words are how a kind calls the states of a Life. Without a word for being pending, that is building. Without one for being deleted,
// the status stays what it was until the end.
type words struct{ pending, building, ready, deleting string }

// in says a status in the kind's words. What is forced is said as it is.
func (o *object) in(w words, now time.Time) string {
	life := o.Life
	if w.deleting == "" {
		life.Deleted = time.Time{}
	}
	switch status := life.Status(now); status {
	case simulator.Pending:
		return cmp.Or(w.pending, w.building)
	case simulator.Provisioning:
		return w.building
	case simulator.Ready:
		return w.ready
	case simulator.Deleting:
		return w.deleting
	default:
		return status
	}
}

// resource is an object of any kind.
type resource interface {
	base() *object
	Gone(now time.Time) bool
	// Status is in the service's own words.
	Status(now time.Time) string
}

// date is how the services write times.
func date(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Kind is a kind of objects.
type Kind string

// store has all objects of a kind.
type store[R resource] struct {
	simulator.Store[R]
	of Kind
}

// newStore is one that the cloud's state includes.
func newStore[R resource](c *Cloud, of Kind) *store[R] {
	s := &store[R]{of: of}
	c.stores = append(c.stores, s)
	return s
}

// byID is the object in a place, such as a workspace; the account's own is in none.
func (s *store[R]) byID(within, id string) (R, bool) {
	return s.Find(func(r R) bool { return r.base().within == within && r.base().id == id })
}

// within are the objects in a place.
func (s *store[R]) within(place string) []R {
	var all []R
	for _, r := range s.Items {
		if r.base().within == place {
			all = append(all, r)
		}
	}
	return all
}

// anyStore is a store of any kind.
type anyStore interface {
	Forget(now time.Time)
	kind() Kind
	each(do func(resource))
}

func (s *store[R]) kind() Kind { return s.of }

func (s *store[R]) each(do func(resource)) {
	for _, r := range s.Items {
		do(r)
	}
}
