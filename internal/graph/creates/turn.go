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
	// keptFor is how long a turn is kept for the owner that was woken for it.
	keptFor = 2 * time.Second
	// lateFor is how long an owner is remembered that was woken and hasn't come: it may be gone.
	lateFor = 10 * time.Minute
	// narrowedFor is how long an endpoint that isn't used keeps a limit that was lowered, and how long is known how a site was.
	narrowedFor = 10 * time.Minute
)

// Owner is an owner to be woken.
type Owner struct {
	Kind reflect.Type
	Name client.ObjectKey
}

// Place is what a create needs a turn for: an endpoint, its site and, where the service has one, the lock that it takes
// meanwhile.
type Place struct {
	Endpoint, Site, Lock string
	// Most is how many creates may be at work at the endpoint; 0 is as the pool has it.
	Most int
	// Key of the resource within its graph.
	Key   string
	Owner Owner
	// Credentials are the names of Secrets, NAMESPACE/NAME.
	Credentials string
}

// tenant is whose the credentials are: the namespace of a Secret.
func (p Place) tenant() string {
	namespace, _, _ := strings.Cut(p.Credentials, "/")
	return namespace
}

// waiter is an owner that waits for its turn.
type waiter struct {
	Place
	// woken is when it was woken because its turn had come; zero before that.
	woken time.Time
}

// expected reports whether a turn is kept for it. Later it is late: then it may still have one whenever it comes, but none is
// kept for it.
func (w waiter) expected() bool { return !w.woken.IsZero() && time.Since(w.woken) < keptFor }

// endpoint says who may create at an outside endpoint. The limit adapts: it is halved when the endpoint doesn't answer or
// says that there were too many, and grows by one after as many good answers. Of the owners that wait those are next whose
// tenant has the fewest turns now, and of these those whose tenant has waited longest for one; within a tenant the same goes
// for its credentials. So neither one tenant's thousand objects or Secrets nor its creates that hang hold up another tenant's
// one. See reserved about sites that hang.
type endpoint struct {
	limit, most int
	// good answers since the limit has changed.
	good int
	// used is when the last turn ended.
	used time.Time
	// working are the turns that were taken. An owner may have several.
	working []Place
	// waiting is in the order of arrival.
	waiting []waiter
	// served says which of its turns the endpoint gave last to each tenant, and to each credentials; turns counts them.
	served map[string]int
	turns  int
	// sites are those of which something is known.
	sites map[string]siteState
}

func newEndpoint(most int) *endpoint {
	return &endpoint{limit: most, most: most, served: map[string]int{}, sites: map[string]siteState{}}
}

// take gives a turn, or lets its owner wait for one. Who was woken needs only room, however late it is: where all come late
// no owner would get a turn otherwise. Who has lost it to a late owner is woken again.
func (e *endpoint) take(p Place) bool {
	i := slices.IndexFunc(e.waiting, func(w waiter) bool { return w.Owner == p.Owner && w.Key == p.Key })
	if i < 0 {
		i = len(e.waiting)
		e.waiting = append(e.waiting, waiter{})
	}
	e.waiting[i].Place = p // it may need another one than before
	woken := !e.waiting[i].woken.IsZero()
	e.waiting[i].woken = time.Time{}
	if woken && !e.fits(p, e.working) || !woken && e.next() != i {
		return false
	}
	e.waiting = slices.Delete(e.waiting, i, i+1)
	e.working = append(e.working, p)
	e.serve(p)
	return true
}

// wake returns the owners whose turn has come. The turns are kept for them.
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

// next is whose turn it is, if another create may begin now; otherwise -1.
func (e *endpoint) next() int {
	next, held := -1, e.held()
	if len(held) >= e.limit { // so most calls look at no owner
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

// fits reports whether there is room for one more turn beside those that are held.
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

// leave lets an owner wait no more.
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

// heed adapts the limit to an answer. One that is neither good nor says that there was too much proves nothing.
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

// idle reports whether no owner has a turn, or waits for one and comes in time.
func (e *endpoint) idle() bool {
	return len(e.working) == 0 && !slices.ContainsFunc(e.waiting, func(w waiter) bool { return w.woken.IsZero() || w.expected() })
}

// forgettable reports whether a new one would do as well.
func (e *endpoint) forgettable() bool {
	return e.idle() && (e.limit == e.most && len(e.sites) == 0 || time.Since(e.used) > narrowedFor)
}
