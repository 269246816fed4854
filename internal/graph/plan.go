package graph

import (
	"context"
	"slices"

	"github.com/bedplate/bedplate/internal/fault"
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
	// ActionDelete: it is ours, and the spec doesn't ask for it any more.
	ActionDelete Action = "delete"
	// ActionForget: it is the user's own, and the spec doesn't ask for it any more.
	ActionForget Action = "forget"
	// ActionWait: nothing can be done before something else happens.
	ActionWait Action = "wait"
	// ActionFail: it can't be done; Why says what is wrong.
	ActionFail Action = "fail"
)

// Step is what a reconcile would do with one resource, as far as can be seen now.
type Step struct {
	Key     string   `json:"key"`
	Kind    string   `json:"kind,omitempty"`
	Action  Action   `json:"action"`
	ID      string   `json:"id,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// After are keys that have to be there first.
	After []string `json:"after,omitempty"`
	// Why the action is this one, where that isn't plain.
	Why string `json:"why,omitempty"`
}

// exists reports whether the resource is there already.
func (s Step) exists() bool {
	return s.Action == ActionKeep || s.Action == ActionUse || s.Action == ActionAdopt || s.Action == ActionChange
}

// Plan says what Reconcile would do in the end; where nothing was added to the graph, what Delete would do. It looks, and
// changes nothing: neither outside nor in the ledger.
func (g *Graph) Plan(ctx context.Context) []Step {
	g.planned = map[string]Step{}
	var steps []Step
	wanted := map[string]bool{}
	for _, n := range g.nodes {
		wanted[n.ref()] = true
		step, telling := n.plan(ctx, g)
		g.planned[n.ref()] = step
		if telling {
			steps = append(steps, step)
		}
	}
	return append(steps, g.planRemoval(wanted)...)
}

func (g *Graph) planRemoval(wanted map[string]bool) []Step {
	var steps []Step
	left := g.ledger.keys()
	left = slices.DeleteFunc(left, func(key string) bool { return wanted[key] })
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(key string) bool {
			return !slices.ContainsFunc(g.ledger.dependents(key), func(d string) bool { return slices.Contains(left, d) })
		})
		i = max(i, 0) // A ledger has no circles; if one did, its order wouldn't matter.
		e := g.ledger.Entries[left[i]]
		step := Step{Key: left[i], Kind: e.Kind, ID: e.ID, Action: ActionDelete}
		switch {
		case e.Foreign:
			step.Action = ActionForget
		case e.State == statePending:
			step.Why = "it may exist: it is looked for first"
		}
		if e.Foreign || e.State != stateRefused {
			steps = append(steps, step)
		}
		left = slices.Delete(left, i, i+1)
	}
	return steps
}

func (n *gate) plan(context.Context, *Graph) (Step, bool) {
	phase := n.check()
	step := Step{Key: n.name, Action: ActionWait, Why: phase.Message}
	if phase.State == StateFailed {
		step.Action = ActionFail
	}
	if phase.State == StateReady {
		step.Action = ActionKeep
	}
	return step, phase.State != StateReady
}

func (h *Handle[T]) plan(ctx context.Context, g *Graph) (Step, bool) {
	step := Step{Key: h.want.Key, Kind: h.kind.Name}
	e := g.ledger.Entries[h.want.Key]
	if e == nil {
		e = h.newEntry(stateRefused)
	}
	if e.State == stateBound {
		return h.planBound(ctx, e, step), true
	}
	for _, r := range h.want.After {
		if !g.planned[r.ref()].exists() {
			step.After = append(step.After, r.ref())
		}
	}
	if len(step.After) > 0 {
		step.Action = ActionCreate
		if h.want.Claim.resolve != nil {
			step.Action = ActionUse
		}
		return step, true
	}
	return h.planUnbound(ctx, e, step), true
}

func (h *Handle[T]) planBound(ctx context.Context, e *entry, step Step) Step {
	step.ID = e.ID
	object, err := h.kind.Get(ctx, e.ID)
	switch {
	case err == nil && e.Foreign:
		return h.planned(step, ActionUse, object)
	case err == nil:
		return h.planned(step, ActionKeep, object)
	case !fault.IsNotFound(err):
		return failing(step, err.Error())
	case e.Foreign:
		return failing(step, h.missing(e.ID).Message)
	case h.want.IfLost != "":
		return failing(step, h.lost(e).Message)
	}
	step.Action, step.ID, step.Why = ActionCreate, "", "another client deleted "+e.ID
	return step
}

func (h *Handle[T]) planUnbound(ctx context.Context, e *entry, step Step) Step {
	if h.want.Claim.resolve != nil {
		id, err := h.want.Claim.resolve(ctx)
		if err != nil {
			return failing(step, err.Error())
		}
		object, err := h.get(ctx, id)
		if fault.IsNotFound(err) {
			return failing(step, h.missing(id).Message)
		}
		if err != nil {
			return failing(step, err.Error())
		}
		return h.planned(step, ActionUse, object)
	}
	found, err := h.kind.find(ctx, h.g, h.want.Key, e)
	switch {
	case err != nil:
		return failing(step, err.Error())
	case len(found.ours) > 1 && h.kind.Tag == nil:
		return failing(step, h.kind.ambiguous(found.ours, e.Title).Message)
	case len(found.ours) > 0:
		return h.planned(step, ActionAdopt, found.ours[0])
	case len(found.others) == 1:
		return h.planned(step, ActionUse, found.others[0])
	case len(found.others) > 1:
		return failing(step, h.kind.ambiguous(found.others, e.Title).Message)
	}
	if phase, unsettled := h.g.unsettled(e); unsettled {
		step.Action, step.Why = ActionWait, phase.Message
		return step
	}
	step.Action, step.Why = ActionCreate, e.Message
	return step
}

// planned completes the step of a resource that exists. Those after it need to know its ID; the ledger that tells them is
// this plan's own and never written.
func (h *Handle[T]) planned(step Step, action Action, object *T) Step {
	step.Action, step.ID = action, h.kind.ID(object)
	phase := h.seen(object)
	if phase.State != StateReady {
		step.Why = phase.Message
	}
	if action != ActionUse && h.want.Diff != nil && phase.State == StateReady {
		if step.Changes = h.want.Diff(object); len(step.Changes) > 0 {
			step.Action = ActionChange
		}
	}
	e := h.newEntry(stateBound)
	e.ID, e.Foreign = step.ID, action == ActionUse
	if known := h.g.ledger.Entries[h.want.Key]; known != nil {
		e.Token, e.Params = known.Token, known.Params
	}
	h.g.ledger.Entries[h.want.Key] = e
	return step
}

func failing(step Step, why string) Step {
	step.Action, step.Why = ActionFail, why
	return step
}
