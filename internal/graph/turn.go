package graph

import (
	"reflect"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// grantedFor is how long a turn is kept for the owner that was woken for it. An owner that is gone loses it.
	grantedFor = 2 * time.Second
	// narrowedFor is how long an endpoint that isn't used keeps a limit that was lowered.
	narrowedFor = 10 * time.Minute
)

// sleeper is an owner to be woken.
type sleeper struct {
	kind reflect.Type
	name client.ObjectKey
}

func sleeperOf(owner client.Object) sleeper {
	return sleeper{reflect.TypeOf(objectOf(owner)), client.ObjectKeyFromObject(owner)}
}

// grant is a turn that waits for the owner that was woken for it.
type grant struct{ expiry *time.Timer }

// place is what a create needs a turn for: an endpoint and, where the service has one, the lock that it takes meanwhile.
type place struct {
	endpoint, lock string
	owner          sleeper
	credentials    string
}

// endpoint says who may create at an outside endpoint. The limit adapts: it is halved when the endpoint doesn't answer or
// says that there were too many, and grows by one after as many good answers. Of the owners that wait those are next whose
// credentials have waited longest for a turn, so one tenant's thousand objects don't hold up another tenant's one.
type endpoint struct {
	limit, most int
	// good answers since the limit has changed.
	good int
	// used is when the last turn ended.
	used time.Time
	// working are the turns that were taken. An owner may have several.
	working []place
	// granted are the turns that owners were woken for.
	granted map[place]*grant
	// waiting is in the order of arrival.
	waiting []place
	// served says which of its turns the endpoint gave to each credentials last; turns counts them.
	served map[string]int
	turns  int
}

func newEndpoint(most int) *endpoint {
	return &endpoint{limit: most, most: most, granted: map[place]*grant{}, served: map[string]int{}}
}

// take gives a turn, or lets its owner wait for one.
func (e *endpoint) take(p place) bool {
	if g, granted := e.granted[p]; granted {
		g.expiry.Stop()
		delete(e.granted, p)
		e.working = append(e.working, p)
		return true
	}
	if !slices.Contains(e.waiting, p) {
		e.waiting = append(e.waiting, p)
	}
	if next, free := e.next(); !free || next != p {
		return false
	}
	e.serve(p)
	e.working = append(e.working, p)
	return true
}

// next is whose turn it is, if another create may begin now.
func (e *endpoint) next() (first place, free bool) {
	if len(e.working)+len(e.granted) >= e.limit {
		return place{}, false
	}
	for _, p := range e.waiting {
		if !e.locked(p.lock) && (!free || e.served[p.credentials] < e.served[first.credentials]) {
			first, free = p, true
		}
	}
	return first, free
}

func (e *endpoint) locked(lock string) bool {
	if lock == "" {
		return false
	}
	for p := range e.granted {
		if p.lock == lock {
			return true
		}
	}
	return slices.ContainsFunc(e.working, func(p place) bool { return p.lock == lock })
}

func (e *endpoint) serve(p place) {
	e.leave(func(other place) bool { return other == p })
	e.turns++
	e.served[p.credentials] = e.turns
}

// leave takes owners off the list of those that wait.
func (e *endpoint) leave(who func(place) bool) { e.waiting = slices.DeleteFunc(e.waiting, who) }

// end takes a turn back.
func (e *endpoint) end(p place) {
	i := slices.Index(e.working, p)
	e.working = slices.Delete(e.working, i, i+1)
	e.used = time.Now()
	if e.idle() {
		clear(e.served)
	}
}

// heed adapts the limit to an answer.
func (e *endpoint) heed(overloaded bool) {
	if overloaded {
		e.limit, e.good = max(e.limit/2, 1), 0
		return
	}
	if e.good++; e.limit < e.most && e.good >= e.limit {
		e.limit, e.good = e.limit+1, 0
	}
}

func (e *endpoint) idle() bool { return len(e.working)+len(e.granted)+len(e.waiting) == 0 }

// forgettable reports whether a new one would do as well.
func (e *endpoint) forgettable() bool {
	return e.idle() && (e.limit == e.most || time.Since(e.used) > narrowedFor)
}
