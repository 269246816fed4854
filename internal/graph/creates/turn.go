package creates

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/fault"
)

const (
	// keptFor is how long a turn is kept for the owner that was enqueued for it.
	keptFor = 2 * time.Second
	// lateFor is how long an owner is remembered that was enqueued and hasn't taken its turn: it may be gone.
	lateFor = 10 * time.Minute
	// narrowedFor is how long an unused endpoint keeps a lowered limit, and how long the state of a site is remembered.
	narrowedFor = 10 * time.Minute
)

// Owner is an owner to enqueue.
type Owner struct {
	Kind reflect.Type
	Name client.ObjectKey
}

// Place is what a create needs a turn for: an endpoint, its site and, if there is one, the lock that the service takes.
type Place struct {
	Endpoint, Site, Lock string
	// Most limits the concurrent creates at the endpoint; 0 is the pool's default.
	Most int
	// Key of the resource within its graph.
	Key   string
	Owner Owner
	// Credentials are the names of Secrets, NAMESPACE/NAME.
	Credentials string
}

// tenant is the owner of the credentials: the namespace of a Secret.
func (p Place) tenant() string {
	namespace, _, _ := strings.Cut(p.Credentials, "/")
	return namespace
}

// waiter is an owner that waits for a turn.
type waiter struct {
	Place
	// woken is when it was enqueued because its turn had come; zero before that.
	woken time.Time
}

// expected reports whether a turn is kept for it. Afterwards it may still take a turn at any time, but none is kept for it.
func (w waiter) expected() bool { return !w.woken.IsZero() && time.Since(w.woken) < keptFor }

// endpoint decides which owners may create at an outside endpoint. The limit adapts: it is halved when the endpoint doesn't
// answer or says that there were too many, and grows by one after as many good answers. Next is the waiting owner whose
// tenant has the fewest turns now, and of these the one whose tenant has waited longest; within a tenant the same holds for
// its credentials. So neither a tenant's thousand objects or Secrets nor its hanging creates hold up another tenant. See
// reserved about sites that hang.
type endpoint struct {
	limit, most int
	// good answers since the limit changed.
	good int
	// used is when the last turn ended.
	used time.Time
	// working are the turns that were taken. An owner may have several.
	working []Place
	// waiting owners, in the order of arrival.
	waiting []waiter
	// served is the number of the last turn that each tenant, and each credentials, got; turns counts them.
	served map[string]int
	turns  int
	// sites whose state is known.
	sites map[string]siteState
}

func newEndpoint(most int) *endpoint {
	return &endpoint{limit: most, most: most, served: map[string]int{}, sites: map[string]siteState{}}
}

// take gives a turn, or queues its owner for one. An owner that was enqueued needs only room, however late it is:
// otherwise, if all are late, none would get a turn. An owner that lost its turn to a late one is enqueued again.
func (e *endpoint) take(p Place) bool {
	i := slices.IndexFunc(e.waiting, func(w waiter) bool { return w.Owner == p.Owner && w.Key == p.Key })
	if i < 0 {
		i = len(e.waiting)
		e.waiting = append(e.waiting, waiter{})
	}
	woken := !e.waiting[i].woken.IsZero()
	e.waiting[i] = waiter{Place: p} // it may need another place than before
	if woken && !e.fits(p, e.working) || !woken && e.next() != i {
		return false
	}
	e.waiting = slices.Delete(e.waiting, i, i+1)
	e.working = append(e.working, p)
	e.serve(p)
	return true
}

// wake returns the owners whose turn has come, and keeps turns for them.
func (e *endpoint) wake() (woken []Owner) {
	e.waiting = slices.DeleteFunc(e.waiting, func(w waiter) bool { return !w.woken.IsZero() && time.Since(w.woken) > lateFor })
	for i := e.next(); i >= 0; i = e.next() {
		w := &e.waiting[i]
		w.woken = time.Now()
		e.serve(w.Place)
		woken = append(woken, w.Owner)
	}
	return woken
}

// next is the index of the waiter whose turn it is, if another create may start now; otherwise -1.
func (e *endpoint) next() int {
	next, held := -1, e.held()
	if len(held) >= e.limit { // so most calls compare no owners
		return -1
	}
	for i, w := range e.waiting {
		if w.woken.IsZero() && e.fits(w.Place, held) && (next < 0 || e.before(w.Place, e.waiting[next].Place, held)) {
			next = i
		}
	}
	return next
}

// held are the turns that were taken, and those that are kept.
func (e *endpoint) held() []Place {
	held := slices.Clone(e.working)
	for _, w := range e.waiting {
		if w.expected() {
			held = append(held, w.Place)
		}
	}
	return held
}

// fits reports whether there is room for one more turn.
func (e *endpoint) fits(p Place, held []Place) bool {
	locked := p.Lock != "" && slices.ContainsFunc(held, func(h Place) bool { return h.Lock == p.Lock })
	return len(held) < e.limit && !locked && !e.reserved(p, held)
}

func (e *endpoint) before(a, b Place, held []Place) bool {
	fewer := func(of func(Place) string) int {
		turns := 0
		for _, h := range held {
			if of(h) == of(a) {
				turns++
			}
			if of(h) == of(b) {
				turns--
			}
		}
		return cmp.Or(turns, cmp.Compare(e.served[of(a)], e.served[of(b)]))
	}
	return cmp.Or(fewer(Place.tenant), fewer(func(p Place) string { return p.Credentials })) < 0
}

func (e *endpoint) serve(p Place) {
	e.turns++
	e.served[p.tenant()], e.served[p.Credentials] = e.turns, e.turns
}

// leave removes a waiting owner.
func (e *endpoint) leave(owner Owner) {
	e.waiting = slices.DeleteFunc(e.waiting, func(w waiter) bool { return w.Owner == owner })
}

// end takes a turn back.
func (e *endpoint) end(p Place) {
	i := slices.Index(e.working, p)
	e.working = slices.Delete(e.working, i, i+1)
	e.used = time.Now()
	if e.idle() {
		clear(e.served)
	}
}

// heed adapts the limit to an answer. One that is neither a success nor an overload proves nothing.
func (e *endpoint) heed(err error) {
	switch {
	case fault.IsOverload(err):
		e.limit, e.good = max(e.limit/2, 1), 0
	case err == nil:
		if e.good++; e.limit < e.most && e.good >= e.limit {
			e.limit, e.good = e.limit+1, 0
		}
	}
}

// idle reports whether no owner has a turn, or waits for one in time.
func (e *endpoint) idle() bool {
	return len(e.working) == 0 && !slices.ContainsFunc(e.waiting, func(w waiter) bool { return w.woken.IsZero() || w.expected() })
}

// forgettable reports whether a new endpoint would behave the same.
func (e *endpoint) forgettable() bool {
	return e.idle() && (e.limit == e.most && len(e.sites) == 0 || time.Since(e.used) > narrowedFor)
}
