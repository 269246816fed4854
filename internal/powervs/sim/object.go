package sim

import (
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
}

// newObject begins now, and is ready some time later.
func newObject(now time.Time, name, within string, takes time.Duration) object {
	return object{Life: simulator.NewLife(now, takes), id: uuid.NewString(), name: name, within: within}
}

func (o *object) base() *object { return o }

// words are how a kind calls the states of a Life.
type words struct{ building, ready, deleting string }

// in says a status in the kind's words. What is forced is said as it is.
func (o *object) in(w words, now time.Time) string {
	switch status := o.Status(now); status {
	case simulator.Pending, simulator.Provisioning:
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
	c.shelves = append(c.shelves, s)
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

// shelf is a store of any kind.
type shelf interface {
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
