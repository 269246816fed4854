package graph

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Action is what a reconcile would do with one resource.
type Action string

// Actions of a plan.
const (
	// ActionKeep: it is ours, and as the spec wants it.
	ActionKeep Action = "keep"
	// ActionUse: it is the user's own.
	ActionUse Action = "use"
	// ActionAdopt: it carries our tag, and the ledger doesn't have its ID yet.
	ActionAdopt Action = "adopt"
	// ActionCreate: there is none.
	ActionCreate Action = "create"
	// ActionChange: it is ours, and not as the spec wants it.
	ActionChange Action = "change"
	// ActionRepair: it is ours, as the spec wants it, and not ready.
	ActionRepair Action = "repair"
	// ActionDelete: it is ours, and the spec doesn't ask for it any more.
	ActionDelete Action = "delete"
	// ActionRelease: it is the user's own, and the spec doesn't ask for it any more.
	ActionRelease Action = "release"
	// ActionWait: it waits for something else.
	ActionWait Action = "wait"
	// ActionFail: it can't be done; Why says what is wrong.
	ActionFail Action = "fail"
)

// Step is what a reconcile would do with one resource, as far as is known now.
type Step struct {
	Key     string   `json:"key"`
	Kind    string   `json:"kind,omitempty"`
	Action  Action   `json:"action"`
	ID      string   `json:"id,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// After are the keys that have to exist first.
	After []string `json:"after,omitempty"`
	// Why the action is this one, if it isn't obvious.
	Why string `json:"why,omitempty"`
}

// exists reports whether the resource exists already. What is used after something else may come with that.
func (s Step) exists() bool {
	return len(s.After) == 0 &&
		(s.Action == ActionKeep || s.Action == ActionUse || s.Action == ActionAdopt || s.Action == ActionChange || s.Action == ActionRepair)
}

// Plan reports what Reconcile would do in the end; if nothing was added to the graph, what Delete would do. It only
// reads, and changes nothing: neither outside nor in the ledger.
func (g *Graph) Plan(ctx context.Context) []Step {
	g.exists, g.stays = map[string]bool{}, map[string]bool{}
	steps := g.planWanted(ctx)
	for _, o := range g.unproven {
		g.stays[o.String()] = true
	}
	if len(g.nodes) == 0 && len(g.kept) == 0 { // in the end a deletion also deletes what else carries the owner's ID
		g.ledger.Leaving = true
		if err := g.look(ctx); err != nil {
			steps = append(steps, failing(Step{}, err.Error()))
		}
	}
	steps = append(steps, g.planRemoval(ctx)...)
	for _, o := range g.unproven {
		if !slices.ContainsFunc(steps, func(s Step) bool { return s.Action == ActionFail && s.Kind == o.Kind }) {
			steps = append(steps, failing(Step{Kind: o.Kind, ID: o.ID}, o.phase().Message))
		}
	}
	return steps
}

// planWanted plans what the spec asks for.
func (g *Graph) planWanted(ctx context.Context) (steps []Step) {
	all, stuck, before := map[string][]Step{}, map[string]bool{}, maps.Clone(g.ledger.Entries)
	plan := func(n *node) {
		key, planned := n.key, n.plan(ctx, slices.DeleteFunc(refs(n.after), func(key string) bool { return g.exists[key] }))
		g.exists[key] = len(planned) == 0 || planned[len(planned)-1].exists()
		waits := slices.ContainsFunc(n.after, func(r Ref) bool { return stuck[r.ref()] })
		stuck[key] = waits || fails(planned) || g.phases[key].Reason == decide.ReasonNameTaken
		g.stays[key] = waits || g.stays[key]
		all[key] = planned
	}
	for _, n := range g.nodes {
		plan(n)
	}
	for _, n := range g.again() {
		if e := before[n.key]; e != nil {
			g.ledger.Entries[n.key] = e
		}
		plan(n)
	}
	for _, n := range g.nodes {
		steps = append(steps, all[n.key]...)
	}
	return steps
}

func (g *Graph) planRemoval(ctx context.Context) (steps []Step) {
	for _, key := range g.ledger.Keys() {
		if why, kept := g.keeps(key); kept && !g.wants(key) {
			steps, g.stays[key] = append(steps, g.stepOf(key, ActionKeep, why)), true
		}
	}
	circle := g.inReverse(func(key string, holders []string) {
		var planned []Step
		if held := slices.DeleteFunc(holders, func(h string) bool { return !g.stays[h] }); len(held) > 0 {
			planned, g.stays[key] = []Step{g.stepOf(key, ActionWait, g.waitsUntilGone(held).Message)}, true
		} else {
			planned = g.leftover(key).plan(ctx, nil)
			g.stays[key] = fails(planned)
		}
		steps = append(steps, planned...)
	})
	for _, key := range circle {
		steps = append(steps, g.stepOf(key, ActionFail, inACircle(key, g.holders(key)).Message))
	}
	return steps
}

func fails(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Action == ActionFail })
}

// stepOf what the ledger has under a key.
func (g *Graph) stepOf(key string, action Action, why string) Step {
	e := g.known(key)
	return Step{Key: key, Kind: e.Kind, Action: action, ID: e.ID, Why: why}
}

func (g *Graph) planGate(name string, check func() phases.Phase, after []Ref) []Step {
	phase := phases.WaitsFor(g.firstUnready(after))
	if g.firstUnready(after) == "" {
		phase = check()
		g.phases[name] = phase
	}
	step := Step{Key: name, Action: ActionWait, Why: phase.Message}
	switch phase.State {
	case phases.StateReady:
		return nil
	case phases.StateFailed:
		step.Action = ActionFail
	}
	return []Step{step}
}

func (h *Handle[T]) plan(ctx context.Context, missing []string) []Step {
	p := &plan[T]{round: h.begin(h.wish(strings.Join(missing, ", "))), missing: missing}
	planned := p.steps(ctx)
	e := h.entry()
	// What failed before the ledger says what it comes after by the spec doesn't let go what it came after.
	unnoted := e != nil && (e.State != ledgerv1.Bound || p.sight.ID != e.ID || h.g.phases[h.want.Key].Reason == decide.ReasonClaimChanged)
	h.g.stays[h.want.Key] = unnoted && fails(planned)
	return planned
}

// plan is a round that does the reads, records all other steps, and continues as if they were done.
type plan[T any] struct {
	*round[T]
	missing []string
	planned []Step
	// why something that existed is created again.
	why string
	// deleted are the IDs of what is gone before the next round.
	deleted []string
}

func (p *plan[T]) steps(ctx context.Context) []Step {
	p.wish.Slowly = 0 // A create that was refused, or a remedy that didn't help, is tried again eventually.
	p.run(func(s decide.Step) bool { return p.next(ctx, s) })
	return p.planned
}

// next carries a step out, or records it. More reports whether the plan of this key continues.
func (p *plan[T]) next(ctx context.Context, s decide.Step) (more bool) {
	switch s.Verb {
	case decide.LookByID, decide.LookByName, decide.LookUp, decide.Seek, decide.Compare, decide.Pick:
		p.do(ctx, s)
		p.hide()
	case decide.TakeTurn:
		p.sight.Turn = decide.TurnGranted
	case decide.Prepare:
		if err := p.prepare(ctx); fault.ClassOf(err) == fault.Invalid { // what can't be known yet is prepared when it is created
			p.sight.Failed = err
		}
		p.sight.Token = "planned"
	case decide.Bind, decide.Adopt:
		p.add(Step{Action: ActionAdopt, ID: s.Entry.ID})
		p.assume(s)
	case decide.Use:
		p.add(Step{Action: ActionUse, ID: s.Entry.ID})
		p.assume(s)
	case decide.Release, decide.Forget:
		return p.drop(s)
	case decide.Remove:
		p.add(Step{Action: ActionDelete, ID: s.ID})
		p.sight.Asked = append(p.sight.Asked, s.ID)
	case decide.Create:
		p.add(Step{Action: ActionCreate, Why: cmp.Or(p.why, p.g.known(p.want.Key).Message)})
		return false
	case decide.Apply:
		p.add(p.changed())
		return false
	case decide.Remedy:
		p.add(Step{Action: ActionRepair, ID: p.ID()})
		return false
	default:
		if !s.Ends {
			p.assume(s)
			return true
		}
		return p.conclude(s)
	}
	return true
}

func (p *plan[T]) add(s Step) {
	s.Key, s.Kind = p.want.Key, p.kind.Name
	last := len(p.planned) - 1
	if last >= 0 && p.planned[last].exists() { // what is adopted or used is also kept or changed: one line says both
		if s.Action == ActionKeep || s.Action == ActionUse {
			s.Action = p.planned[last].Action
		}
		p.planned = p.planned[:last]
	}
	p.planned = append(p.planned, s)
}

// assume that a write was done. The ledger is this plan's own and never stored.
func (p *plan[T]) assume(s decide.Step) {
	p.g.ledger.Entries[p.want.Key] = s.Entry
	p.wrote()
}

// drop assumes that the key was removed from the ledger.
func (p *plan[T]) drop(s decide.Step) (more bool) {
	e := p.entry()
	if gone := p.sight.ID == e.ID && p.sight.Object == nil; e.Foreign && !gone {
		p.add(Step{Action: ActionRelease, ID: e.ID})
	}
	p.why, p.deleted = s.Phase.Message, append(p.deleted, p.sight.Asked...)
	delete(p.g.ledger.Entries, p.want.Key)
	p.more += len(p.sight.Gone) + len(p.sight.Asked)
	p.sight = decide.Sight{Began: p.sight.Began}
	return p.wish.Wanted
}

// hide what is gone by then.
func (p *plan[T]) hide() {
	p.sight.List = slices.DeleteFunc(p.sight.List, func(o decide.Thing) bool { return slices.Contains(p.deleted, o.ID) })
	if slices.Contains(p.deleted, p.sight.ID) {
		p.sight.Object = nil
	}
}

func (p *plan[T]) changed() Step {
	s := Step{Action: ActionChange, ID: p.ID(), Changes: p.sight.Changes}
	if len(s.Changes) == 0 { // what the service may have undone is applied again
		s.Action = ActionKeep
	}
	return s
}

// conclude records how a round would end.
func (p *plan[T]) conclude(s decide.Step) (more bool) {
	e := p.entry()
	p.g.phases[p.want.Key] = s.Phase
	deleted := len(p.planned) > 0 && p.planned[len(p.planned)-1].Action == ActionDelete
	step := Step{Action: ActionWait, ID: p.ID(), Why: s.Phase.Message}
	switch {
	case s.Verb == decide.Gone:
		return false
	case s.Verb == decide.WaitBefore:
		step.Action, step.After, step.Why = ActionCreate, p.missing, p.why
		if p.wish.Claim.Uses {
			step.Action = ActionUse
		}
	case deleted && !p.wish.Wanted:
		return false
	case deleted && e != nil:
		return p.drop(s)
	case !p.wish.Wanted && s.Phase.State == phases.StateDeleting:
		step.Action = ActionDelete
	case s.Shows:
		step.Action = ActionKeep
		if e.Foreign {
			step.Action = ActionUse
		}
	case p.sight.Refused != nil:
		step.Action, step.Changes = ActionFail, p.sight.Changes
	case s.Phase.State == phases.StateFailed || s.Phase.State == phases.StateUnknown:
		step.Action = ActionFail
	case p.sight.Compared:
		step = p.changed()
	}
	p.add(step)
	return false
}

func failing(step Step, why string) Step {
	step.Action, step.Why = ActionFail, why
	return step
}
