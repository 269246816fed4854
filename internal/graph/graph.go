package graph

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Owner is a Kubernetes object that outside resources are created for.
type Owner = ledgers.Owner

// Engine runs graphs. One is shared by all owners of a manager.
type Engine struct {
	*ledgers.Store
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Poll is how often a resource that isn't ready yet is polled; more often at first: see Interval. Poll, CreateTimeout and Settle are
	// the defaults of a Service.
	Poll time.Duration
	// CreateTimeout is how long after its intention was written a create may be answered; 0 sets no limit. A create is started
	// within a fifth of that, or not at all: the service needs the rest. One that reaches the service at the last moment may
	// take it as long again, so Settle has to be at least twice as long.
	CreateTimeout time.Duration
	// Settle is how long after a create with unknown outcome the resource may still appear: the service's own deadline for
	// a create, and the lag of its lists. For that long after a change it may still work on the previous state.
	Settle time.Duration
	// Creates runs the creates, which may block for long. Without it a create blocks its reconcile.
	Creates *creates.Pool
	polls   polls
}

// Graph is everything one owner has outside and wants there. It serves one reconcile.
type Graph struct {
	engine *Engine
	owner  Owner
	// credentials are the names of the Secrets that the calls log in with, and home is this management cluster.
	credentials []string
	home        string
	kinds       map[string]AnyKind
	ledger      *ledgers.Ledger
	nodes       []*node
	phases      map[string]phases.Phase
	// kept holds the reason for each prefix of keys that stay as they are.
	kept map[string]string
	// searched is how often kinds and scopes were searched by tag in this round; strays are resources that carry the owner's ID and
	// aren't in the ledger.
	searched map[string]int
	strays   map[string]*ledgerv1.Entry
	// inUse: a service has refused a deletion, because something else uses what is to go.
	inUse bool
	// gone are the IDs, by kind and scope, that are proven to be gone: a list may be behind.
	gone map[string][]string
	// stopped are the services that didn't answer in time, with the error: they aren't called again in this reconcile.
	stopped map[*Service]error
	// unproven is what the owner shows and the ledger lacks, if nothing proves whose it is.
	unproven []shown
	// exists records for each node of a plan whether it exists already.
	exists map[string]bool
	// stays are what a plan leaves as it is, so that what it comes after stays, too: keys, and what is unproven.
	stays map[string]bool
}

// AnyKind is a Kind of any type.
type AnyKind interface {
	kindName() string
	service() *Service
	leftover(g *Graph, key string) *node
	search(ctx context.Context, g *Graph) error
	tagOf(ctx context.Context, g *Graph, o ledgerv1.OutsideID) (Tag, Scope, error)
}

// Ref is something that a Want can come after.
type Ref interface{ ref() string }

// node is a part of the graph: a resource, an object inside Kubernetes or a gate that the spec asks for, or what only the ledger has.
type node struct {
	key, condition string
	after          []Ref
	service        *Service
	// kind of a resource. Made: it may have to be created.
	kind string
	made bool
	// named is the ID of the user's own resource, as the spec gives it or its lookup has found it. As long as a lookup isn't answered,
	// recorded reports whether the ledger has what it names; otherwise it is nil.
	named    string
	recorded func() bool
	// reconcile brings it a step further. Before is what it comes after that isn't ready. What only the ledger had and is gone has no state.
	reconcile func(ctx context.Context, before string) phases.Phase
	// plan it. Missing are the keys that it comes after and that don't exist.
	plan func(ctx context.Context, missing []string) []Step
}

func (n *node) ref() string { return n.key }

// New opens the graph of an owner. Credentials are the names of the Secrets that its calls log in with. Every kind that its ledger
// may name has to be given. An error means that the ledger can't be used, and names the remedy.
func (e *Engine) New(ctx context.Context, owner Owner, credentials []string, kinds ...AnyKind) (*Graph, error) {
	g, stored, err := e.unopened(ctx, e.Client, owner, credentials, kinds)
	if err != nil {
		return nil, err
	}
	if err := g.open(ctx, stored); err != nil {
		return nil, err
	} else if err := g.enter(ctx); err != nil {
		return nil, err
	}
	if err := g.ledger.Restore(ctx); err != nil {
		return nil, err
	}
	if annotations := owner.GetAnnotations(); annotations[ledgerv1.TakeOverAnnotation] != "" {
		delete(annotations, ledgerv1.TakeOverAnnotation) // the request is done; the caller writes that
		owner.SetAnnotations(annotations)
	}
	return g, nil
}

// unopened is a graph without a ledger, and the ledger that its owner has by now.
func (e *Engine) unopened(
	ctx context.Context, from client.Reader, owner Owner, credentials []string, kinds []AnyKind,
) (*Graph, *ledgerv1.Ledger, error) {
	home, err := e.HomeOf(ctx)
	if err != nil {
		return nil, nil, err
	}
	g := &Graph{
		engine: e, owner: owner, credentials: credentials, home: home,
		kinds: map[string]AnyKind{}, phases: map[string]phases.Phase{}, kept: map[string]string{}, stopped: map[*Service]error{},
		searched: map[string]int{}, strays: map[string]*ledgerv1.Entry{}, gone: map[string][]string{},
	}
	for _, k := range kinds {
		g.kinds[k.kindName()] = k
	}
	stored, err := g.read(ctx, from)
	return g, stored, err
}

// known is what the ledger has under a key; zero if there is nothing, also while the graph is being opened. It works on deletion too.
func (g *Graph) known(key string) ledgerv1.Entry {
	if g == nil || g.ledger.Entries[key] == nil {
		return ledgerv1.Entry{}
	}
	return *g.ledger.Entries[key]
}

// ID of the resource under a key, as the ledger has it; empty if there is none.
func (g *Graph) ID(key string) string { return g.known(key).ID }

// Scope is what the resource under a key lies in, as the ledger has it; nil if the ledger doesn't say.
func (g *Graph) Scope(key string) Scope { return g.known(key).Scope }

// Title is the name of the resource under a key, or what it was looked up by, as the ledger has it; empty if it has none.
func (g *Graph) Title(key string) string { return g.known(key).Title }

// Param is a parameter that was chosen for the resource under a key; empty if there is none.
func (g *Graph) Param(key, name string) string { return g.known(key).Params[name] }

// Names reports whether the ledger has a resource under any key, or lacks it and nothing proves whose it is: status keeps showing both.
func (g *Graph) Names(kind, id string) bool {
	for _, e := range g.ledger.Entries {
		if e.Kind == kind && e.ID == id {
			return true
		}
	}
	return g.Unproven(kind, id)
}

// IsYours reports whether the ledger has a resource as the user's own, under any key, or had it so and has released it.
func (g *Graph) IsYours(kind, id string) bool { return g.ledger.IsYours(kind, id) }

// Unproven reports whether spec or status show a resource that the ledger lacks, and nothing proves whose it is.
func (g *Graph) Unproven(kind, id string) bool {
	return slices.ContainsFunc(g.unproven, func(o shown) bool { return o.Kind == kind && o.ID == id })
}

// Handle is a resource of the graph.
type Handle[T any] struct {
	g    *Graph
	kind *Kind[T]
	want Want[T]
	// object as it was last seen in this reconcile.
	object *T
}

func (h *Handle[T]) ref() string { return h.want.Key }

// Key of the resource within the graph.
func (h *Handle[T]) Key() string { return h.want.Key }

// ID of the resource as the ledger has it; empty before it exists.
func (h *Handle[T]) ID() string { return h.g.ID(h.want.Key) }

// IsUsers reports whether the ledger has the resource as the user's own; false before it exists.
func (h *Handle[T]) IsUsers() bool { return h.g.known(h.want.Key).Foreign }

// OwnKey is what the resource is tagged with, as the ledger has it. Updates write the tag from it, never from what was read.
func (h *Handle[T]) OwnKey() Key {
	if e := h.entry(); e != nil {
		return h.g.keyOf(h.want.Key, e)
	}
	return h.g.keyOf(h.want.Key, new(h.fresh()))
}

// Object is the resource as seen in this reconcile; nil if it wasn't seen.
func (h *Handle[T]) Object() *T { return h.object }

// Add adds a wanted resource. What it comes after has to be added before it, so that there are no cycles; it panics
// otherwise.
func Add[T any](g *Graph, k *Kind[T], w Want[T]) *Handle[T] {
	h := &Handle[T]{g: g, kind: k, want: w}
	n, follows := h.node(), 0
	for _, before := range w.After {
		at := g.indexOf(before)
		if at < 0 {
			panic(fmt.Sprintf("graph: %s comes after %s, which isn't added before it", w.Key, before.ref()))
		}
		follows = max(follows, at+1)
	}
	if n.recorded == nil { // a lookup is as early as it can be: what it finds is of no other key
		follows = len(g.nodes)
	}
	g.nodes = slices.Insert(g.nodes, follows, n)
	return h
}

func (g *Graph) indexOf(r Ref) int {
	return slices.IndexFunc(g.nodes, func(n *node) bool { return n.key == r.ref() })
}

// add a node inside Kubernetes.
func (g *Graph) add(n *node) Ref {
	n.service = inside
	g.nodes = append(g.nodes, n)
	return n
}

// Gate adds a prerequisite inside Kubernetes, or in the answers of the nodes before it, reported as a condition of its own. The
// check only reads, also in a plan, and runs when what it comes after is ready.
func (g *Graph) Gate(condition string, check func() phases.Phase, after ...Ref) Ref {
	return g.add(&node{
		key: condition, condition: condition, after: after,
		reconcile: func(context.Context, string) phases.Phase { return check() },
		plan:      func(context.Context, []string) []Step { return g.planGate(condition, check, after) },
	})
}

// Reconcile brings the outside to what the graph wants, as far as possible now, and reports in the owner's
// conditions. An error should be retried with backoff.
func (g *Graph) Reconcile(ctx context.Context) (_ ctrl.Result, err error) {
	ctx, end := g.span(ctx, "reconcile")
	defer func() { end(err) }()
	report := g.report()
	for _, n := range g.nodes {
		g.reconcile(ctx, n, report)
	}
	for _, n := range g.again() {
		if _, stopped := report.stop(n.condition, n.service); !stopped {
			report.retract(n.key)
			g.reconcile(ctx, n, report)
		}
	}
	g.remove(ctx, report)
	g.reportUnproven(report)
	result, err := report.conclude(g.owner)
	if err == nil && g.begun() {
		result.Priority = ptr.To(creates.Urgent)
	}
	return result, err
}

// reportUnproven reports what nothing proves the owner of, also where no key stands for it.
func (g *Graph) reportUnproven(report *report) {
	for _, o := range g.unproven {
		of := inside
		if kind, known := g.kinds[o.Kind]; known && o.err != nil {
			of = kind.service()
		}
		report.add(ReadyCondition, o.ID, of, o.phase())
	}
}

// begun reports whether a create was done or attempted.
func (g *Graph) begun() bool {
	for _, e := range g.ledger.Entries {
		if e.State != ledgerv1.Refused && !e.Foreign {
			return true
		}
	}
	return false
}

// Delete deletes everything in the ledger, in reverse order, as far as possible now. It is done when all is gone;
// until then the owner's conditions say what is left and why.
func (g *Graph) Delete(ctx context.Context) (done bool, _ ctrl.Result, err error) {
	ctx, end := g.span(ctx, "delete")
	defer func() { end(err) }()
	g.engine.Leave(g.owner)
	report := g.report()
	g.ledger.Leaving = true
	if err := g.sweep(ctx); err != nil { // unless something of ours is left that requires it
		report.add(ReadyCondition, "", several, phases.Of(err))
	}
	g.remove(ctx, report)
	if err := g.findUsers(ctx, report); err != nil {
		report.add(ReadyCondition, "", several, phases.Of(err))
	}
	g.reportUnproven(report)
	gone := len(g.ledger.Entries) == 0 && len(report.findings) == 0
	if gone {
		if err := g.close(ctx); err != nil {
			report.add(ReadyCondition, "", inside, phases.Of(err))
			gone = false
		}
	}
	if gone {
		g.engine.polls.rest(g.owner.GetUID())
		return true, ctrl.Result{}, nil
	}
	result, err := report.conclude(g.owner)
	return false, result, err
}

// close marks a ledger as the proof that all is gone, if removing its last entry hasn't done so: otherwise what spec and status
// show would count as lost.
func (g *Graph) close(ctx context.Context) error {
	if l := g.ledger.Stored; l.ResourceVersion == "" || l.Spec.Closed || g.owner.GetDeletionTimestamp() == nil {
		return nil
	}
	return g.ledger.Write(ctx)
}

// OwnerID is what the owner's resources carry.
func (g *Graph) OwnerID() string { return g.ledger.OwnerID }

// DeleteAndRelease deletes, and removes the finalizer from the owner when all is gone.
func (g *Graph) DeleteAndRelease(ctx context.Context, finalizer string) (ctrl.Result, error) {
	wasClosed := g.ledger.Stored.Spec.Closed
	done, result, err := g.Delete(ctx)
	if !done || err != nil {
		return result, err
	}
	if wasClosed || !g.ledger.Stored.Spec.Closed { // what wasn't closed by a write under optimistic lock comes from the cache
		nothing, err := ledgers.OwnsNothing(ctx, g.engine.Live, g.engine.Client.Scheme(), g.owner)
		if err != nil || !nothing {
			return ctrl.Result{RequeueAfter: jittered(time.Second)}, err
		}
	}
	return ctrl.Result{}, g.engine.Release(ctx, g.owner, finalizer)
}

// firstUnready names the first of refs that is neither ready nor usable; empty if there is none.
func (g *Graph) firstUnready(refs []Ref) string {
	for _, r := range refs {
		if phase := g.phases[r.ref()]; phase.State != phases.StateReady && !phase.Suffices {
			return r.ref()
		}
	}
	return ""
}
