package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
)

// reconcile brings one resource a step further: a bound one is looked at, any other is looked for and then created.
func (h *Handle[T]) reconcile(ctx context.Context, g *Graph) Phase {
	e := g.ledger.Entries[h.want.Key]
	if e == nil {
		e = h.newEntry(stateRefused)
	}
	if phase, settled := h.settleClaim(ctx, e); !settled {
		return phase
	}
	if e.State == stateBound {
		return h.observe(ctx, e)
	}
	if a, known := g.engine.Creates.answer(e); known {
		return h.conclude(ctx, e, a)
	}
	if before, unready := g.firstUnready(h.want.After); unready {
		return waitsFor(before)
	}
	if h.want.Claim.resolve != nil {
		return h.use(ctx)
	}
	return h.adoptOrCreate(ctx, e)
}

// settleClaim deals with a spec that claims a resource in another way than it did: what was tried under the old claim goes
// before the new one counts; what was taken is let go; what was made stays, and that is said.
func (h *Handle[T]) settleClaim(ctx context.Context, e *entry) (_ Phase, settled bool) {
	claim := h.want.Claim
	switch {
	case e.State == statePending && claim.resolve != nil:
		gone, phase := h.kind.remove(ctx, h.g, h.want.Key, e)
		if gone {
			phase = h.forget(ctx, "the %s of the last attempt is gone", h.kind.Name)
		}
		return phase, false
	case e.State == stateBound && !e.Foreign && claim.resolve != nil:
		return Failed("%s %s was made for this object, and the spec names one of your own: take that out of the spec again, or "+
			"make another object", h.kind.Name, e.ID).Because("ClaimChanged"), false
	case e.State == stateBound && e.Foreign && claim.letsGo(e.ID):
		return h.forget(ctx, "the spec doesn't ask for %s %s any more", h.kind.Name, e.ID), false
	}
	return Phase{}, true
}

// use binds a resource of the user's own, once it was seen.
func (h *Handle[T]) use(ctx context.Context) Phase {
	id, err := h.want.Claim.resolve(ctx)
	if err != nil {
		return PhaseOf(err)
	}
	object, err := h.get(ctx, id)
	if fault.IsNotFound(err) {
		return h.missing(id)
	}
	if err != nil {
		return PhaseOf(err)
	}
	return h.useObject(ctx, object)
}

// get looks a resource up. Not every service says in its errors what was asked for.
func (h *Handle[T]) get(ctx context.Context, id string) (*T, error) {
	object, err := h.kind.Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", h.kind.Name, id, err)
	}
	return object, nil
}

func (h *Handle[T]) useObject(ctx context.Context, object *T) Phase {
	e := h.newEntry(stateBound)
	e.ID, e.Foreign = h.kind.ID(object), true
	if err := h.put(ctx, e); err != nil {
		return PhaseOf(err)
	}
	return h.seen(object)
}

func (h *Handle[T]) missing(id string) Phase {
	return Failed("%s %s does not exist: name another one in the spec, or bring it back", h.kind.Name, id)
}

// observe looks at a bound resource. Only a proven "not found" counts as gone.
func (h *Handle[T]) observe(ctx context.Context, e *entry) Phase {
	if err := h.refresh(ctx, e); err != nil {
		return PhaseOf(err)
	}
	object, err := h.get(ctx, e.ID)
	if err == nil {
		err = h.g.cameBack(ctx, e)
	}
	switch {
	case err == nil && e.Foreign:
		return h.seen(object)
	case err == nil:
		return h.repair(ctx, e, object)
	case !fault.IsNotFound(err):
		return PhaseOf(err)
	case e.Foreign && h.want.Claim.title != "":
		return h.forget(ctx, "%s %s was deleted by its owner: another one of that name is looked for", h.kind.Name, e.ID)
	case e.Foreign:
		return h.missing(e.ID)
	case h.want.IfLost != "":
		return h.lost(e)
	}
	gone, phase := h.kind.stayedAway(ctx, h.g, e)
	if !gone {
		return phase
	}
	return h.forget(ctx, "%s %s was deleted by somebody else and is made again", h.kind.Name, e.ID)
}

// forget takes a resource that is gone out of the ledger; the next look begins anew.
func (h *Handle[T]) forget(ctx context.Context, format string, args ...any) Phase {
	delete(h.g.ledger.Entries, h.want.Key)
	if err := h.g.write(ctx); err != nil {
		return PhaseOf(err)
	}
	return Waiting(format, args...)
}

// ReasonLost is that of a resource which is proven to be gone, and isn't made again.
const ReasonLost = "Lost"

func (h *Handle[T]) lost(e *entry) Phase {
	return Failed("another client deleted %s %s: %s", h.kind.Name, e.ID, h.want.IfLost).Because(ReasonLost)
}

// refresh keeps in the ledger what deletion needs to know of the spec.
func (h *Handle[T]) refresh(ctx context.Context, e *entry) error {
	now := h.newEntry(stateBound)
	if slices.Equal(now.After, e.After) && now.Condition == e.Condition && h.g.ledger.Credentials == h.g.credentials {
		return nil
	}
	e.After, e.Condition = now.After, now.Condition
	return h.g.write(ctx)
}

// repair changes a resource of ours that isn't as the spec wants it. One that is on its way to something is left alone. A
// service that writes what it is given in a way of its own would be asked for the same changes for ever, and one that shows
// them late until then: so these are asked for slowly.
func (h *Handle[T]) repair(ctx context.Context, e *entry, object *T) Phase {
	phase := h.seen(object)
	if phase.State != StateReady || h.want.Diff == nil {
		return phase
	}
	changes := h.want.Diff(object)
	if len(changes) == 0 {
		return h.again(ctx, e, object, phase)
	}
	text := summary(changes)
	phase = Waiting("%s %s is being changed: %s", h.kind.Name, h.kind.ID(object), text).Because("Changing")
	again := max(h.g.engine.slowly(), h.g.engine.Settle)
	if e.Applied == text && e.AppliedAt != nil && h.g.engine.Clock.Now().Before(e.AppliedAt.Add(again)) {
		return phase
	}
	if h.want.Again { // whoever goes on when this process dies has to know of it
		e.Applied, e.AppliedAt, e.InEffect = "", h.g.now(), false
		if err := h.g.write(ctx); err != nil {
			return PhaseOf(err)
		}
	}
	if err := h.want.Apply(ctx, object, changes); err != nil {
		return PhaseOf(err)
	}
	e.Applied, e.AppliedAt = text, h.g.now()
	if err := h.g.write(ctx); err != nil {
		return PhaseOf(err)
	}
	return phase
}

// again applies a resource that is as the spec wants it, where the service may have undone that without showing it.
func (h *Handle[T]) again(ctx context.Context, e *entry, object *T, phase Phase) Phase {
	if !h.want.Again {
		return phase
	}
	changed, inEffect := e.AppliedAt != nil, h.want.InEffect(object)
	if changed && h.g.engine.Clock.Now().Before(e.AppliedAt.Add(h.g.engine.Settle)) {
		phase.retry = pacePoll
		return phase
	}
	if e.InEffect && !inEffect {
		phase = Waiting("%s %s was in effect and isn't any more: it is applied again", h.kind.Name, e.ID).Because("Changing")
	}
	if changed || (e.InEffect && !inEffect) {
		if err := h.want.Apply(ctx, object, nil); err != nil {
			return PhaseOf(err)
		}
		inEffect = false // until the service says so after that
	} else if e.InEffect == inEffect {
		return phase
	}
	e.Applied, e.AppliedAt, e.InEffect = "", nil, inEffect
	if err := h.g.write(ctx); err != nil {
		return PhaseOf(err)
	}
	return phase
}

// summary names the changes, in a line that isn't too long for a condition.
func summary(changes []Change) string {
	const most = 5
	var texts []string
	for _, c := range changes[:min(len(changes), most)] {
		texts = append(texts, c.String())
	}
	if more := len(changes) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

func (h *Handle[T]) seen(object *T) Phase {
	h.object = object
	return h.kind.Phase(object)
}

func (h *Handle[T]) put(ctx context.Context, e *entry) error {
	h.g.ledger.Entries[h.want.Key] = e
	return h.g.write(ctx)
}

func (h *Handle[T]) newEntry(state entryState) *entry {
	e := &entry{Kind: h.kind.Name, Condition: h.want.Condition, State: state, Title: h.want.Claim.title}
	for _, r := range h.want.After {
		e.After = append(e.After, r.ref())
	}
	return e
}
