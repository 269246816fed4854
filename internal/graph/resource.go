package graph

import (
	"cmp"
	"context"
	"errors"
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

// use binds a resource of the user's own and looks at it.
func (h *Handle[T]) use(ctx context.Context) Phase {
	id, err := h.want.Claim.resolve(ctx)
	if err != nil {
		return phaseOf(err)
	}
	e := h.newEntry(stateBound)
	e.ID, e.Foreign = id, true
	if err := h.put(ctx, e); err != nil {
		return phaseOf(err)
	}
	return h.observe(ctx, e)
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
	case h.want.Vanished == Fail:
		return Failed("%s %s no longer exists: somebody else deleted it", h.kind.Name, e.ID)
	}
	delete(h.g.ledger.Entries, h.want.Key)
	if err := h.g.write(ctx); err != nil {
		return phaseOf(err)
	}
	return Waiting("%s %s was deleted by somebody else and is made again", h.kind.Name, e.ID)
}

func (h *Handle[T]) adoptOrCreate(ctx context.Context, e *entry) Phase {
	found, err := h.kind.find(ctx, h.key(e))
	if err != nil {
		return phaseOf(err)
	}
	if len(found) > 0 {
		return h.adopt(ctx, e, found)
	}
	if left := h.kind.settling(e, h.g.engine.Clock.Now()); left > 0 {
		return unsettled(h.kind.Name, left)
	}
	return h.create(ctx, e)
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
// no intention and nothing outside, or an intention with a token to look for.
func (h *Handle[T]) create(ctx context.Context, e *entry) Phase {
	token := e.Token
	if token == "" {
		token = uuid.NewString()
	}
	e = h.newEntry(statePending)
	e.Token, e.At = token, &metav1.Time{Time: h.g.engine.Clock.Now()}
	if err := h.put(ctx, e); err != nil {
		return phaseOf(err)
	}
	object, err := h.want.Create(ctx, h.key(e))
	if err == nil {
		if err := h.bind(ctx, e, object); err != nil {
			return phaseOf(err)
		}
		return h.seen(object)
	}
	if !fault.IsAmbiguous(err) {
		e.State = stateRefused
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
	return Key{Owner: h.g.ownerID, Name: h.want.Key, Token: e.Token}
}

// find returns the resources that carry the tag of key, the one to keep first: one that stays, then one of this attempt,
// then by ID, so that every reconcile chooses the same one.
func (k *Kind[T]) find(ctx context.Context, key Key) ([]*T, error) {
	if key.Owner == "" {
		return nil, nil // Nothing was ever made for an owner that has no ID yet.
	}
	found, err := k.Find(ctx, key)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(o *T) bool {
		tag := k.Tag(o)
		return tag.Owner != key.Owner || tag.Key != key.Name
	})
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

// settling is how long "none found" proves nothing yet, because the service may still finish a create.
func (k *Kind[T]) settling(e *entry, now time.Time) time.Duration {
	if e.State != statePending || e.At == nil {
		return 0
	}
	return e.At.Add(k.Settle).Sub(now)
}
