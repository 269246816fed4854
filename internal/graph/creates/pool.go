// Package creates runs the creates of graphs at outside services: it limits them per endpoint, chooses which waiting owner is next, and
// keeps the answer to one whose reconcile is over. It doesn't use ledgers: docs/engine.md, rule 5.
package creates

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// unclaimedFor is how long an answer is kept that no reconcile takes, because its owner is gone.
	unclaimedFor = 10 * time.Minute
	// maxUnclaimed bounds how many answers of one tenant are kept that no reconcile takes: each may have 2 MB.
	maxUnclaimed = 16
	// wakeBuffer bounds the events that aren't delivered yet; further owners are requeued by their poll interval.
	wakeBuffer = 1024
)

// Pool runs creates, which some services answer only after most of a minute, so that no reconcile blocks: it returns, and
// the answer enqueues its owner. What is in the pool when the process is killed is lost: the ledger has the intention. A
// nil Pool runs each create within its reconcile.
type Pool struct {
	// Limit is the default limit of concurrent creates at one endpoint, if its Service has none.
	Limit int
	// Patience is how long a reconcile waits for the answer itself: most answers come at once.
	Patience time.Duration

	mu        sync.Mutex
	jobs      map[string]*job      // by the token of the attempt
	endpoints map[string]*endpoint // by Service.Endpoint
	wakes     map[reflect.Type]chan event.GenericEvent
	// draining: no turn is given any more. working counts those that are taken.
	draining bool
	working  sync.WaitGroup
	// began is when this process was elected; zero without leader election.
	began time.Time
}

// job is one running create, or its answer until a reconcile takes it.
type job struct {
	tenant string
	done   chan struct{}
	ended  time.Time
	// left: a reconcile has ended without the answer, so its owner has to be enqueued.
	left bool
	Answer
}

// Answer to a create.
type Answer struct {
	Running bool
	Object  any
	Err     error
}

// Turn is the right to run one create.
type Turn struct {
	pool *Pool
	Place
	// taken: a job has the turn, and ends it.
	taken bool
}

// Woken is an event source for the controller of a kind of owners: one event for each owner whose create was answered,
// or whose turn has come.
func (p *Pool) Woken(kind client.Object) source.Source {
	p.mu.Lock()
	defer p.mu.Unlock()
	return source.Channel(p.channel(reflect.TypeOf(kind)), handler.Funcs{GenericFunc: func(
		_ context.Context, e event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		Urgently(queue, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
	}})
}

// channel of a kind of owners. p.mu is held.
func (p *Pool) channel(kind reflect.Type) chan event.GenericEvent {
	if p.wakes == nil {
		p.wakes = map[reflect.Type]chan event.GenericEvent{}
	}
	if p.wakes[kind] == nil {
		p.wakes[kind] = make(chan event.GenericEvent, wakeBuffer)
	}
	return p.wakes[kind]
}

// wake enqueues an owner. p.mu is held.
func (p *Pool) wake(who Owner) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: who.Name.Namespace, Name: who.Name.Name}}
	select {
	case p.channel(who.Kind) <- event.GenericEvent{Object: object}:
	default:
	}
}

// Turn gives the right to create, unless the endpoint's limit is reached or a create under the same lock is running: then
// the owner is enqueued when its turn has come.
func (p *Pool) Turn(at Place) (*Turn, bool) {
	t := &Turn{pool: p, Place: at}
	if p == nil {
		return t, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining {
		return nil, false
	}
	if p.endpoints == nil {
		p.endpoints, p.jobs = map[string]*endpoint{}, map[string]*job{}
	}
	e, known := p.endpoints[at.Endpoint]
	if !known {
		maps.DeleteFunc(p.endpoints, func(_ string, e *endpoint) bool { return e.forgettable() })
		e = newEndpoint(max(cmp.Or(at.Most, p.Limit), 1))
		p.endpoints[at.Endpoint] = e
	}
	if !e.take(at) {
		p.next(e) // a turn that was kept for this owner and didn't fit passes to the next
		return nil, false
	}
	p.working.Add(1)
	return t, true
}

// End gives the turn back, unless a job has it.
func (t *Turn) End() {
	if t.pool != nil && !t.taken {
		t.pool.free(t.Place, func(*endpoint) {})
	}
}

// free takes a turn back, and enqueues the owners that are next.
func (p *Pool) free(at Place, heed func(*endpoint)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.endpoints[at.Endpoint]
	e.end(at)
	heed(e)
	p.working.Done()
	p.next(e)
}

// next enqueues the owners whose turn has come at an endpoint; after a while those that don't take it lose it to others. p.mu is
// held.
func (p *Pool) next(e *endpoint) {
	if p.draining {
		return
	}
	woken := e.wake()
	for _, owner := range woken {
		p.wake(owner)
	}
	if len(woken) > 0 {
		time.AfterFunc(keptFor, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.next(e)
		})
	}
}

// Leave removes an owner from the queue for a turn.
func (p *Pool) Leave(owner Owner) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.endpoints {
		e.leave(owner)
		p.next(e)
	}
}

// Run makes the call of an attempt and waits for the answer, but not for long.
func (t *Turn) Run(ctx context.Context, token string, call func(context.Context) (any, error)) Answer {
	if t.pool == nil {
		object, err := call(ctx)
		return Answer{Object: object, Err: err}
	}
	t.taken = true
	j := &job{tenant: t.tenant(), done: make(chan struct{}), Answer: Answer{Running: true}}
	t.pool.mu.Lock()
	t.pool.jobs[token] = j
	t.pool.mu.Unlock()
	go func() {
		began := time.Now()
		object, err := survive(context.WithoutCancel(ctx), call)
		t.pool.free(t.Place, func(e *endpoint) {
			e.learnFrom(t.Place, time.Since(began), err)
			t.pool.finish(j, t.Owner, Answer{Object: object, Err: err})
		})
	}()
	select {
	case <-j.done:
	case <-time.After(t.pool.Patience):
	case <-ctx.Done():
	}
	a, _ := t.pool.Answer(token)
	return a
}

// survive turns a panic into an error, as a reconcile does: one bad answer must not crash the manager.
func survive(ctx context.Context, call func(context.Context) (any, error)) (object any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return call(ctx)
}

// finish a job. p.mu is held.
func (p *Pool) finish(j *job, owner Owner, a Answer) {
	j.Answer, j.ended = a, time.Now()
	close(j.done)
	p.dropUnclaimed(j.tenant)
	if j.left {
		p.wake(owner)
	}
}

// dropUnclaimed forgets answers that no reconcile has taken: those that are old, and a tenant's oldest one if there are too many. Their
// resources are found again as after a crash: the ledger has the intention. p.mu is held.
func (p *Pool) dropUnclaimed(tenant string) {
	var oldest string
	unclaimed := 0
	for token, j := range p.jobs {
		switch {
		case j.Running:
		case time.Since(j.ended) > unclaimedFor:
			delete(p.jobs, token)
		case j.tenant == tenant && j.left && j.Err == nil:
			if unclaimed++; unclaimed == 1 || j.ended.Before(p.jobs[oldest].ended) {
				oldest = token
			}
		}
	}
	if unclaimed > maxUnclaimed {
		delete(p.jobs, oldest)
	}
}

// Answer of a pending attempt, if this process made it: still running, or its result. A result is given once; for one that is still
// running, the owner is enqueued later.
func (p *Pool) Answer(token string) (_ Answer, known bool) {
	if p == nil {
		return Answer{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	j, known := p.jobs[token]
	if !known {
		return Answer{}, false
	}
	j.left = true
	if !j.Running {
		delete(p.jobs, token)
	}
	return j.Answer, true
}

// Start drains the pool when the manager shuts down. The manager keeps its lease until this returns, so no other process
// starts creates before.
func (p *Pool) Start(ctx context.Context) error {
	p.mu.Lock()
	p.began = time.Now()
	p.mu.Unlock()
	<-ctx.Done()
	p.Drain()
	return nil
}

// Leads is since when this process creates resources.
func (p *Pool) Leads() time.Time {
	if p == nil {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.began
}

// Drain starts no more creates, and waits for the running ones, each of which has a deadline. A service may finish a
// request whose client is gone; if that happens after a list without the resource has counted as settled, the resource
// can't be found again.
func (p *Pool) Drain() {
	p.mu.Lock()
	p.draining = true
	p.mu.Unlock()
	p.working.Wait()
}
