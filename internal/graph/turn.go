package graph

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// grantedFor is how long a turn is kept for the owner that was woken for it. An owner that is gone loses it.
	grantedFor = 2 * time.Second
	// lateFor is how long after that an owner may still come: the turn of the next one is its, if that hasn't come either.
	lateFor = 10 * time.Minute
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
// credentials have the fewest turns now, and of these those that have waited longest for one, so neither one tenant's thousand
// objects nor its creates that hang hold up another tenant's one.
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
	// late says when owners have lost their turns because they didn't come in time.
	late map[place]time.Time
	// served says which of its turns the endpoint gave to each credentials last; turns counts them.
	served map[string]int
	turns  int
}

func newEndpoint(most int) *endpoint {
	return &endpoint{limit: most, most: most, granted: map[place]*grant{}, late: map[place]time.Time{}, served: map[string]int{}}
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
	if next, free := e.next(); (!free || next != p) && !e.swap(p) {
		return false
	}
	e.serve(p)
	e.working = append(e.working, p)
	return true
}

// swap lets an owner that comes too late have the turn of one that was woken and hasn't come: where all are late, nobody would
// ever get a turn otherwise.
func (e *endpoint) swap(p place) bool {
	if _, late := e.late[p]; !late || len(e.working) >= e.limit {
		return false
	}
	for other, g := range e.granted {
		if e.locked(p.lock) && other.lock != p.lock {
			continue
		}
		g.expiry.Stop()
		delete(e.granted, other)
		e.waiting = slices.Insert(e.waiting, 0, other)
		return true
	}
	return false
}

// lose takes back a turn that was granted to an owner that hasn't come.
func (e *endpoint) lose(p place) {
	delete(e.granted, p)
	maps.DeleteFunc(e.late, func(_ place, since time.Time) bool { return time.Since(since) > lateFor })
	e.late[p] = time.Now()
}

// next is whose turn it is, if another create may begin now.
func (e *endpoint) next() (first place, free bool) {
	if len(e.working)+len(e.granted) >= e.limit {
		return place{}, false
	}
	for _, p := range e.waiting {
		if !e.locked(p.lock) && (!free || e.before(p, first)) {
			first, free = p, true
		}
	}
	return first, free
}

func (e *endpoint) before(a, b place) bool {
	return cmp.Or(cmp.Compare(e.turnsOf(a.credentials), e.turnsOf(b.credentials)),
		cmp.Compare(e.served[a.credentials], e.served[b.credentials])) < 0
}

// turnsOf is how many turns credentials have now.
func (e *endpoint) turnsOf(credentials string) (turns int) {
	for p := range e.granted {
		if p.credentials == credentials {
			turns++
		}
	}
	for _, p := range e.working {
		if p.credentials == credentials {
			turns++
		}
	}
	return turns
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
	delete(e.late, p)
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
		clear(e.late)
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
