package graph

import (
	"context"
	"fmt"
	"reflect"
	"slices"
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
	// unclaimedFor is how long an answer is kept that nobody asks for, because its owner is gone.
	unclaimedFor = 10 * time.Minute
	// wakeBuffer bounds the owners that are to be woken and weren't yet; further ones wake by their poll interval.
	wakeBuffer = 1024
)

// Pool runs creates, which some services answer only after most of a minute, so that no reconcile is held up: it returns,
// and its owner is woken by the answer. What is in the pool is lost with the process, and that is no matter: the ledger has
// the intention. A nil Pool runs each create within its reconcile.
type Pool struct {
	// Limit is how many creates are at work at once with the same credentials.
	Limit int
	// Patience is how long a reconcile waits for the answer itself: most come at once.
	Patience time.Duration

	mu      sync.Mutex
	jobs    map[string]*job      // by the token of the attempt
	busy    map[string]int       // by credentials
	waiting map[string][]sleeper // who waits for a turn, by credentials
	wakes   map[reflect.Type]chan event.GenericEvent
}

// job is one create at work, or its answer until somebody asks for it.
type job struct {
	done  chan struct{}
	ended time.Time
	// left: the reconcile that began it is over, so its owner has to be woken.
	left bool
	answer
}

// answer of a create.
type answer struct {
	running bool
	object  any
	err     error
}

// sleeper is an owner to be woken.
type sleeper struct {
	kind reflect.Type
	name client.ObjectKey
}

func sleeperOf(owner client.Object) sleeper {
	return sleeper{reflect.TypeOf(objectOf(owner)), client.ObjectKeyFromObject(owner)}
}

// turn is the right to run one create.
type turn struct {
	pool        *Pool
	credentials string
	owner       sleeper
	// taken: a job has the turn now, and ends it.
	taken bool
}

// Woken is a source of events for the controller of a kind of owners: one for each whose create was answered, or has its
// turn now.
func (p *Pool) Woken(kind client.Object) source.Source {
	return source.Channel(p.channel(reflect.TypeOf(kind)), handler.Funcs{GenericFunc: func(
		_ context.Context, e event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		Urgently(queue, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
	}})
}

func (p *Pool) channel(kind reflect.Type) chan event.GenericEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wakes == nil {
		p.wakes = map[reflect.Type]chan event.GenericEvent{}
	}
	if p.wakes[kind] == nil {
		p.wakes[kind] = make(chan event.GenericEvent, wakeBuffer)
	}
	return p.wakes[kind]
}

func (p *Pool) wake(who sleeper) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: who.name.Namespace, Name: who.name.Name}}
	select {
	case p.channel(who.kind) <- event.GenericEvent{Object: object}:
	default:
	}
}

// turn gives the right to create, unless as many as may be are at work with the same credentials: then the owner is woken
// when its turn has come.
func (p *Pool) turn(g *Graph) (*turn, bool) {
	t := &turn{pool: p, credentials: g.credentials, owner: sleeperOf(g.owner)}
	if p == nil {
		return t, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy == nil {
		p.busy, p.waiting, p.jobs = map[string]int{}, map[string][]sleeper{}, map[string]*job{}
	}
	if p.busy[t.credentials] < max(p.Limit, 1) {
		p.busy[t.credentials]++
		return t, true
	}
	if !slices.Contains(p.waiting[t.credentials], t.owner) {
		p.waiting[t.credentials] = append(p.waiting[t.credentials], t.owner)
	}
	return nil, false
}

// end gives the turn back, unless a job has it.
func (t *turn) end() {
	if t.pool != nil && !t.taken {
		t.pool.free(t.credentials)
	}
}

func (p *Pool) free(credentials string) {
	p.mu.Lock()
	if p.busy[credentials]--; p.busy[credentials] == 0 {
		delete(p.busy, credentials)
	}
	var next *sleeper
	if queue := p.waiting[credentials]; len(queue) > 0 {
		next, p.waiting[credentials] = &queue[0], queue[1:]
	} else {
		delete(p.waiting, credentials)
	}
	p.mu.Unlock()
	if next != nil {
		p.wake(*next)
	}
}

// run makes the call of an attempt and waits for the answer, but not for long.
func (t *turn) run(ctx context.Context, e *entry, call func(context.Context) (any, error)) answer {
	if t.pool == nil {
		object, err := call(ctx)
		return answer{object: object, err: err}
	}
	t.taken = true
	j := &job{done: make(chan struct{})}
	t.pool.add(e.Token, j)
	go func() { // The client bounds how long a call takes.
		object, err := survive(context.WithoutCancel(ctx), call)
		if left := t.pool.finish(j, answer{object: object, err: err}); left {
			t.pool.wake(t.owner)
		}
		t.pool.free(t.credentials)
	}()
	patience := time.NewTimer(t.pool.Patience)
	defer patience.Stop()
	select {
	case <-j.done:
	case <-patience.C:
	case <-ctx.Done():
	}
	t.pool.leave(j)
	a, _ := t.pool.answer(e)
	return a
}

// survive turns a panic into an error, as a reconcile does: one bad answer must not end the whole manager.
func survive(ctx context.Context, call func(context.Context) (any, error)) (object any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return call(ctx)
}

func (p *Pool) add(token string, j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, known := range p.jobs {
		if !known.ended.IsZero() && time.Since(known.ended) > unclaimedFor {
			delete(p.jobs, other)
		}
	}
	p.jobs[token] = j
}

func (p *Pool) finish(j *job, a answer) (left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j.answer, j.ended = a, time.Now()
	close(j.done)
	return j.left
}

func (p *Pool) leave(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j.left = j.ended.IsZero()
}

// answer of a pending attempt, if this process made it: still running, or what came of it. It is given once.
func (p *Pool) answer(e *entry) (answer, bool) {
	if p == nil || e.State != statePending {
		return answer{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	j, known := p.jobs[e.Token]
	if !known {
		return answer{}, false
	}
	if j.ended.IsZero() {
		return answer{running: true}, true
	}
	delete(p.jobs, e.Token)
	return j.answer, true
}
