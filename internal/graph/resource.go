package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
)

// reconcile brings one resource a step further: a bound one is looked at, any other is looked for and then created.
func (h *Handle[T]) reconcile(ctx context.Context, g *Graph) Phase {
	e := g.ledger.Entries[h.want.Key]
	if e == nil {
		e = h.newEntry(stateRefused)
	}
	if e.State == stateBound {
		return h.observe(ctx, e)
	}
	if before, unready := g.firstUnready(h.want.After); unready {
		return waitsFor(before)
	}
	if h.want.Claim.resolve != nil {
		return h.use(ctx)
	}
	return h.adoptOrCreate(ctx, e)
}

// use binds a resource of the user's own, once it was seen.
func (h *Handle[T]) use(ctx context.Context) Phase {
	id, err := h.want.Claim.resolve(ctx)
	if err != nil {
		return phaseOf(err)
	}
	object, err := h.kind.Get(ctx, id)
	if fault.IsNotFound(err) {
		return Failed("%s %s does not exist", h.kind.Name, id)
	}
	if err != nil {
		return phaseOf(err)
	}
	e := h.newEntry(stateBound)
	e.ID, e.Foreign = h.kind.ID(object), true
	if err := h.put(ctx, e); err != nil {
		return phaseOf(err)
	}
	return h.seen(object)
}

// observe looks at a bound resource. Only a proven "not found" counts as gone.
func (h *Handle[T]) observe(ctx context.Context, e *entry) Phase {
	object, err := h.kind.Get(ctx, e.ID)
	switch {
	case err == nil:
		return h.seen(object)
	case !fault.IsNotFound(err):
		return phaseOf(err)
	case e.Foreign:
		return Failed("%s %s does not exist", h.kind.Name, e.ID)
	case h.want.IfLost != "":
		return Failed("somebody else deleted %s %s: %s", h.kind.Name, e.ID, h.want.IfLost)
	}
	delete(h.g.ledger.Entries, h.want.Key)
	if err := h.g.write(ctx); err != nil {
		return phaseOf(err)
	}
	return Waiting("%s %s was deleted by somebody else and is made again", h.kind.Name, e.ID)
}

func (h *Handle[T]) adoptOrCreate(ctx context.Context, e *entry) Phase {
	if phase, refused := h.g.refused(e); refused {
		return phase
	}
	found, err := h.kind.find(ctx, h.g, h.key(e))
	if err != nil {
		return phaseOf(err)
	}
	if len(found) > 0 {
		return h.adopt(ctx, e, found)
	}
	if phase, unsettled := h.g.unsettled(e); unsettled {
		return phase
	}
	return h.create(ctx)
}

// adopt binds the first of the resources that carry our tag. Others were made by the same attempt, when a service lost the
// race with itself: they go first, because once one is bound nobody looks for more. Only the newest ledger may decide
// which one stays.
func (h *Handle[T]) adopt(ctx context.Context, e *entry, found []*T) Phase {
	if len(found) > 1 {
		if err := h.put(ctx, e); err != nil {
			return phaseOf(err)
		}
	}
	for _, double := range found[1:] {
		if err := h.kind.delete(ctx, double); err != nil {
			return phaseOf(err)
		}
	}
	if err := h.bind(ctx, e, found[0]); err != nil {
		return phaseOf(err)
	}
	return h.seen(found[0])
}

// create writes the intention, creates, and writes the ID. Wherever it is interrupted, the next reconcile finds either
// no intention and nothing outside, or an intention and its tag to look for.
func (h *Handle[T]) create(ctx context.Context) Phase {
	e := h.newEntry(statePending)
	e.Token, e.At = uuid.NewString(), h.g.now()
	if err := h.put(ctx, e); err != nil {
		return phaseOf(err)
	}
	object, err := h.want.Create(ctx, h.key(e))
	if err == nil && h.kind.ID(object) == "" {
		err = fmt.Errorf("the service made a %s and didn't say its ID", h.kind.Name)
	}
	if err == nil {
		if err := h.bind(ctx, e, object); err != nil {
			return phaseOf(err)
		}
		return h.seen(object)
	}
	if !fault.IsAmbiguous(err) {
		e = h.newEntry(stateRefused)
		e.At, e.Refusal, e.Message, e.Generation = h.g.now(), fault.ClassOf(err), err.Error(), h.g.owner.GetGeneration()
		err = errors.Join(err, h.put(ctx, e))
	}
	return phaseOf(err)
}

func (h *Handle[T]) seen(object *T) Phase {
	h.object = object
	return h.kind.Phase(object)
}

func (h *Handle[T]) bind(ctx context.Context, e *entry, object *T) error {
	bound := h.newEntry(stateBound)
	bound.ID, bound.Token = h.kind.ID(object), e.Token
	return h.put(ctx, bound)
}

func (h *Handle[T]) put(ctx context.Context, e *entry) error {
	h.g.ledger.Entries[h.want.Key] = e
	return h.g.write(ctx)
}

func (h *Handle[T]) newEntry(state entryState) *entry {
	e := &entry{Kind: h.kind.Name, Condition: h.want.Condition, State: state}
	for _, r := range h.want.After {
		e.After = append(e.After, r.ref())
	}
	return e
}

func (h *Handle[T]) key(e *entry) Key {
	return Key{Owner: h.g.ledger.Owner, Name: h.want.Key, Token: e.Token}
}

// find returns the resources that carry the tag of key, the one to keep first: one that stays, then one of this attempt,
// then by ID, so that every reconcile chooses the same one.
func (k *Kind[T]) find(ctx context.Context, g *Graph, key Key) ([]*T, error) {
	if _, written := g.owner.GetAnnotations()[LedgerAnnotation]; !written {
		return nil, nil // The owner's ID is new: nothing can carry it.
	}
	all, err := k.Find(ctx, key)
	if err != nil {
		return nil, err
	}
	var found []*T
	for i := range all {
		if tag := k.Tag(&all[i]); tag.Owner == key.Owner && tag.Key == key.Name {
			found = append(found, &all[i])
		}
	}
	later := func(o *T) int {
		switch {
		case k.Phase(o).State == StateDeleting:
			return 2
		case k.Tag(o).Token != key.Token:
			return 1
		}
		return 0
	}
	slices.SortFunc(found, func(a, b *T) int {
		return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(k.ID(a), k.ID(b)))
	})
	return found, nil
}

// unsettled reports whether "none found" proves nothing yet, because the service may still finish a create.
func (g *Graph) unsettled(e *entry) (Phase, bool) {
	if e.State != statePending || e.At == nil {
		return Phase{}, false
	}
	settled := e.At.Add(g.engine.Settle)
	phase := Waiting("the service may still finish the last attempt to create the %s: until %s it is looked for",
		e.Kind, settled.UTC().Format(time.TimeOnly+" MST"))
	return phase.Because("Settling"), g.engine.Clock.Now().Before(settled)
}

// refused reports whether the service has refused what the owner still asks for, not long ago. Whoever wakes the owner, it
// isn't asked again so soon. Other credentials and a service that recovers are worth a try at any time.
func (g *Graph) refused(e *entry) (Phase, bool) {
	if e.State != stateRefused || e.At == nil || e.Generation != g.owner.GetGeneration() {
		return Phase{}, false
	}
	phase := phaseOf(&fault.Error{Class: e.Refusal, Err: errors.New(e.Message)})
	if phase.retry != paceSlow || e.Refusal == fault.Credentials {
		return Phase{}, false
	}
	return phase, g.engine.Clock.Now().Before(e.At.Add(g.engine.interval(phase.retry)))
}

func (g *Graph) now() *metav1.Time { return &metav1.Time{Time: g.engine.Clock.Now()} }
