// Package inventory knows the state of the items of a service, such as instances, from one list per site and interval that all
// callers share: a call for each owner and poll would be too many. A site is what one list is of, such as a zone.
package inventory

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
)

const (
	// unusedFor is for how many intervals a site without callers is still listed.
	unusedFor = 30
	// changesBuffer is how many changes may wait for delivery.
	changesBuffer = 1024
	// maxKept is three times what 10,000 instances of bare metal take.
	maxKept = 64 << 20
	// patience bounds how long a caller waits for another caller's list; glance is how often it checks meanwhile that the API
	// answers. With the credentials of one namespace only so many callers have patience, as each blocks a worker; the others
	// wait only until the list has been running for a moment.
	patience = 10 * time.Second
	glance   = 500 * time.Millisecond
	patient  = 2
	moment   = time.Second
)

// Login is a client of a service, with one login.
type Login interface {
	Account() credentials.Account
	// Namespace is that of the Secret that the login is from: limits are per namespace. Empty if there is none.
	Namespace() string
	// Secret is its namespace/name; empty if there is none.
	Secret() string
	// Silent is an error if the service is known not to answer, so that callers shouldn't wait for it now.
	Silent() error
}

// Service is what has to be known of a service whose items of type T are listed with clients of type C.
type Service[C Login, T any] struct {
	// Items is what they are called, such as "instances".
	Items string
	// List returns all items of a site; a partial result is an error.
	List func(ctx context.Context, api C, site string) ([]T, error)
	Get  func(ctx context.Context, api C, site, id string) (*T, error)
	ID   func(*T) string
	// Settled reports whether an item isn't in transition. One that is will be listed soon.
	Settled func(*T) bool
	// Slim leaves out what lists don't have, or what must not be kept.
	Slim func(T) T
	// Same reports whether a slim item is unchanged for its owner.
	Same func(was, now T) bool
}

// Inventory of all sites that have callers. Start keeps it up to date.
type Inventory[C Login, T any] struct {
	// Interval between two lists of a site where nothing is in progress. After a change the next list is sooner: see
	// shelf.due.
	Interval time.Duration
	Clock    clock.PassiveClock
	// Keep bounds what is known of all sites together, in bytes. If that is too much, what no caller has asked for is dropped
	// first.
	Keep int

	service Service[C, T]
	mu      sync.Mutex
	shelves map[key]*shelf[C, T]
	changes chan event.TypedGenericEvent[Change]
	// untold are changes that the channel had no room for, each once.
	untold map[Change]bool
	// waiting are the callers that wait for another one's list, by the namespace of their credentials.
	waiting map[string]int
	// ending is closed by end, once: no list continues then.
	ending chan struct{}
	end    func()
}

// Change says that an item has changed since the previous list.
type Change struct{ Site, ID string }

// key is a site as an account sees it. Many Secrets may hold the same account: one for each cluster, say.
type key struct {
	account credentials.Account
	site    string
}

// shelf is what is known of a site.
type shelf[C Login, T any] struct {
	service *Service[C, T]
	// listing is full during a list, so that callers wait for that one meanwhile.
	listing chan struct{}

	mu sync.Mutex
	// entered is when the running list started, by the machine's own clock.
	entered time.Time
	// api is the client of the last caller: the Secret of another may be gone.
	api    C
	used   time.Time
	listed time.Time     // when the newest list began
	took   time.Duration // how long it took
	// moved is when something was last in transition, or was changed; unseen is the first such time since the newest list.
	moved, unseen time.Time
	failed        time.Time
	err           error
	items         map[string]seen[T]
	// bytes that the items take in memory; short: some were left out, because all shelves took too much.
	bytes int
	short bool
	// asked is when a caller last asked about an item.
	asked map[string]time.Time
	// stale are items that we have changed since they were seen.
	stale map[string]change[T]
}

// change of an item by us.
type change[T any] struct {
	at time.Time
	// was is the item as the newest list has shown it; nil if it hasn't.
	was *T
}

type seen[T any] struct {
	at    time.Time
	item  T
	bytes int
}

// New returns an inventory.
func New[C Login, T any](service Service[C, T], interval time.Duration, clock clock.PassiveClock) *Inventory[C, T] {
	ending := make(chan struct{})
	return &Inventory[C, T]{
		Interval: interval, Clock: clock, Keep: maxKept, service: service, shelves: map[key]*shelf[C, T]{}, untold: map[Change]bool{}, waiting: map[string]int{},
		changes: make(chan event.TypedGenericEvent[Change], changesBuffer),
		ending:  ending, end: sync.OnceFunc(func() { close(ending) }),
	}
}

// Changes is where Start sends what has changed between two lists.
func (v *Inventory[C, T]) Changes() <-chan event.TypedGenericEvent[Change] { return v.changes }

// Get is the state of an item at most an interval ago. One that isn't in the list is read by its ID: a list proves
// no absence. The errors are those of the client.
func (v *Inventory[C, T]) Get(ctx context.Context, api C, site, id string) (*T, error) {
	s := v.shelf(api, site)
	s.ask(id, v.Clock.Now())
	// Start lists often enough; a caller has to list only if it doesn't run, or has only just started.
	if err := v.update(ctx, site, s, v.ago(2*v.Interval), v.mention); err != nil {
		return nil, err
	}
	if known, ok := s.fresh(id, v.ago(3*v.Interval)); ok {
		return &known, nil
	}
	item, err := v.service.Get(ctx, api, site, id)
	if err != nil {
		return nil, err
	}
	v.Put(api, site, item)
	*item = v.service.Slim(*item)
	return item, nil
}

// Put records an item that the caller has just got from the service at a site: the site named in an answer isn't trusted.
func (v *Inventory[C, T]) Put(api C, site string, item *T) {
	v.shelf(api, site).put(*item, v.Clock.Now())
	v.trim()
}

// Touch records that an item is being changed, so that what was seen before doesn't count any more.
func (v *Inventory[C, T]) Touch(api C, site, id string) {
	s := v.shelf(api, site)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outdate(id, v.Clock.Now())
	s.moves(v.Clock.Now())
}

// Start lists each site that has callers, at least once per interval, until ctx ends. It reports changes. At its end it
// cancels all lists: a manager that shuts down keeps its lease until nothing is running any more.
func (v *Inventory[C, T]) Start(ctx context.Context) error {
	ticker := time.NewTicker(graph.Interval(v.Interval, 0))
	defer ticker.Stop()
	var listing sync.WaitGroup
	defer listing.Wait()
	defer v.end()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		v.tellUntold(ctx)
		for at, s := range v.inUse() {
			since, due := s.due(v.Clock.Now(), v.Interval)
			if !due {
				continue
			}
			listing.Go(func() { // a site that is slow or dead must not delay the others
				turn, cancel := context.WithTimeout(ctx, v.Interval) // then its next turn follows
				defer cancel()
				// The caller gets the error.
				_ = v.update(turn, at.site, s, since, func(c Change) { v.tell(ctx, c) })
			})
		}
	}
}

// tell reports a change, if there is a listener.
func (v *Inventory[C, T]) tell(ctx context.Context, c Change) {
	select {
	case v.changes <- event.TypedGenericEvent[Change]{Object: c}:
	case <-ctx.Done():
	}
}

// mention sends a change if there is room for it; else Start does.
func (v *Inventory[C, T]) mention(c Change) {
	select {
	case v.changes <- event.TypedGenericEvent[Change]{Object: c}:
	default:
		v.mu.Lock()
		defer v.mu.Unlock()
		v.untold[c] = true
	}
}

func (v *Inventory[C, T]) tellUntold(ctx context.Context) {
	v.mu.Lock()
	untold := v.untold
	v.untold = map[Change]bool{}
	v.mu.Unlock()
	for c := range untold {
		v.tell(ctx, c)
	}
}

func (v *Inventory[C, T]) shelf(api C, site string) *shelf[C, T] {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := key{api.Account(), site}
	s, ok := v.shelves[at]
	if !ok {
		v.forgetLogin(api)
		s = &shelf[C, T]{
			service: &v.service, listing: make(chan struct{}, 1),
			items: map[string]seen[T]{}, stale: map[string]change[T]{}, asked: map[string]time.Time{},
		}
		v.shelves[at] = s
	}
	s.mu.Lock()
	s.api, s.used = api, v.Clock.Now()
	s.mu.Unlock()
	return s
}

// forgetLogin forgets what is known with another login of the same Secret: the caller has read the newest one. v.mu is
// held.
func (v *Inventory[C, T]) forgetLogin(api C) {
	maps.DeleteFunc(v.shelves, func(at key, s *shelf[C, T]) bool {
		return api.Secret() != "" && at.account != api.Account() && s.client().Secret() == api.Secret()
	})
}

// inUse are the sites that have callers; the others are forgotten.
func (v *Inventory[C, T]) inUse() map[key]*shelf[C, T] {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := map[key]*shelf[C, T]{}
	for at, s := range v.shelves {
		s.mu.Lock()
		unused := v.Clock.Now().Sub(s.used)
		s.mu.Unlock()
		if unused > unusedFor*v.Interval {
			delete(v.shelves, at)
			continue
		}
		all[at] = s
	}
	return all
}

// ago is the time that was so long ago.
func (v *Inventory[C, T]) ago(d time.Duration) time.Time { return v.Clock.Now().Add(-d) }

// update lists a site, unless the newest list began after a time, or the last attempt has failed just now. Only a caller
// that needs a new list waits for one, and all that wait share it.
func (v *Inventory[C, T]) update(ctx context.Context, site string, s *shelf[C, T], since time.Time, tell func(Change)) error {
	if young, err := v.judge(s, since); young || err != nil {
		return err
	}
	differ, err := v.list(ctx, site, s, since)
	for _, id := range differ { // after the list, since the receivers ask in turn
		tell(Change{site, id})
	}
	return err
}

// list a site, and return which of its items have changed since the previous list.
func (v *Inventory[C, T]) list(ctx context.Context, site string, s *shelf[C, T], since time.Time) (differ []string, err error) {
	if err := v.enter(ctx, s); err != nil {
		return nil, err
	}
	defer func() { <-s.listing }()
	if young, err := v.judge(s, since); young || err != nil { // another caller has listed meanwhile
		return nil, err
	}
	began := v.Clock.Now()
	// The answer is for all callers, so the current one can't cancel it by leaving.
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		select {
		case <-v.ending:
			cancel()
		case <-lasting.Done():
		}
	}()
	items, err := v.service.List(lasting, s.client(), site)
	differ = s.take(began, v.Clock.Now(), v.ago(unusedFor*v.Interval), items, err)
	v.trim()
	return differ, err
}

// judge reports whether the newest list began after a time; the error is that of an attempt which has failed since, just now.
func (v *Inventory[C, T]) judge(s *shelf[C, T], since time.Time) (young bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listed.After(since) {
		return true, nil
	}
	if s.err != nil && v.Clock.Now().Sub(s.failed) < v.Interval/2 {
		return false, s.err
	}
	return false, nil
}
