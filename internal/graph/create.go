package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
)

// adoptOrCreate looks for the resource and makes it only where it is certain that there is none.
func (h *Handle[T]) adoptOrCreate(ctx context.Context, e *entry) Phase {
	if phase, refused := h.g.refused(e); refused {
		return phase
	}
	// What was attempted is looked for at once. Where nothing was, nothing is asked before it is this owner's turn to create.
	var t *turn
	if e.State != statePending {
		var free bool
		if t, free = h.turn(); !free {
			return queued()
		}
		defer t.end()
	}
	found, err := h.kind.find(ctx, h.g, h.want.Key, e)
	if err != nil {
		return PhaseOf(err)
	}
	switch {
	case len(found.ours) > 0:
		return h.adopt(ctx, e, found.ours)
	case len(found.others) == 1:
		return h.useObject(ctx, found.others[0])
	case len(found.others) > 1:
		return h.kind.ambiguous(found.others, e.Title)
	}
	if phase, unsettled := h.g.unsettled(e); unsettled {
		return phase
	}
	if t == nil {
		var free bool
		if t, free = h.turn(); !free {
			return queued()
		}
		defer t.end()
	}
	return h.create(ctx, t)
}

func (h *Handle[T]) turn() (*turn, bool) {
	at := place{
		endpoint: cmp.Or(h.kind.Endpoint, h.g.credentials), owner: sleeperOf(h.g.owner), credentials: h.g.credentials,
		key: h.want.Key,
	}
	if h.want.Lock != nil {
		at.lock = h.want.Lock()
	}
	if h.kind.Site != nil {
		at.site = h.kind.Site()
	}
	return h.g.engine.Creates.turn(at)
}

func queued() Phase {
	return Waiting("as many creates are at work at the service as may be: waits for its turn").Because("Queued")
}

func (k *Kind[T]) ambiguous(found []*T, title string) Phase {
	var ids []string
	for _, o := range found {
		ids = append(ids, k.ID(o))
	}
	return Failed("several %ss are named %q (%s), and nothing says which one is meant: rename or delete the others",
		k.Name, title, strings.Join(ids, ", ")).Because("Ambiguous")
}

// adopt binds the first of the resources that are ours. Others were made by the same attempt, when a service lost the
// race with itself: they go first, because once one is bound nobody looks for more. Only the newest ledger may decide
// which one stays.
func (h *Handle[T]) adopt(ctx context.Context, e *entry, found []*T) Phase {
	if len(found) > 1 && h.kind.Tag == nil {
		return h.kind.ambiguous(found, e.Title) // Without tags nothing proves that more than one of them is ours.
	}
	if len(found) > 1 {
		if err := h.put(ctx, e); err != nil {
			return PhaseOf(err)
		}
	}
	for _, double := range found[1:] {
		if err := h.kind.delete(ctx, double); err != nil {
			return PhaseOf(err)
		}
	}
	if err := h.bind(ctx, e, found[0]); err != nil {
		return PhaseOf(err)
	}
	return h.repair(ctx, h.g.ledger.Entries[h.want.Key], found[0])
}

// create writes the intention, creates, and writes the ID. Wherever it is interrupted, the next reconcile finds either
// no intention and nothing outside, or an intention and its tag to look for.
func (h *Handle[T]) create(ctx context.Context, t *turn) Phase {
	e := h.newEntry(statePending)
	e.Token = uuid.NewString()
	if h.want.Choose != nil {
		params, err := h.want.Choose(ctx)
		if err != nil {
			return PhaseOf(err)
		}
		e.Params = params
	}
	call, err := h.want.Create(ctx, h.g.keyOf(h.want.Key, e))
	if err != nil {
		return PhaseOf(err)
	}
	e.At = h.g.now()
	if err := h.put(ctx, e); err != nil {
		return PhaseOf(err)
	}
	return h.conclude(ctx, e, t.run(ctx, e, func(ctx context.Context) (any, error) {
		ctx, cancel, err := h.g.engine.attempt(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", h.kind.Name, err)
		}
		defer cancel()
		return call(ctx)
	}))
}

// attempt gives a create the time that is left of its deadline. It is counted from the written intention, so that what was
// suspended in between is not sent when another process may have settled the attempt already.
func (e *Engine) attempt(ctx context.Context, intended *entry) (context.Context, context.CancelFunc, error) {
	if e.CreateTimeout == 0 {
		return ctx, func() {}, nil
	}
	held := max(e.Clock.Now().Sub(intended.At.Time), 0)
	// In the rest of the time the service must be able to answer: it may go on with what its client has left.
	if most := e.CreateTimeout / 5; held > most {
		return nil, nil, &fault.Error{Class: fault.Transient, Err: fmt.Errorf(
			"not sent, because this process was held up for more than %s: it is tried again", most)}
	}
	ctx, cancel := context.WithTimeout(ctx, e.CreateTimeout-held)
	return ctx, cancel, nil
}

// conclude writes down what came of an attempt.
func (h *Handle[T]) conclude(ctx context.Context, e *entry, a answer) Phase {
	if a.running {
		return Waiting("the service is at work on the %s", h.kind.Name).Because("Creating")
	}
	object, _ := a.object.(*T)
	err := a.err
	if err == nil && h.kind.ID(object) == "" {
		err = fmt.Errorf("the service made a %s and didn't say its ID", h.kind.Name)
	}
	if err == nil {
		if err := h.bind(ctx, e, object); err != nil {
			return PhaseOf(err)
		}
		return h.repair(ctx, h.g.ledger.Entries[h.want.Key], object) // not every service makes what it is asked for
	}
	if !fault.IsAmbiguous(err) {
		refused := h.newEntry(stateRefused)
		refused.At, refused.Refusal, refused.Message = h.g.now(), fault.ClassOf(err), PhaseOf(err).Message
		refused.Generation = h.g.owner.GetGeneration()
		err = errors.Join(err, h.put(ctx, refused))
	}
	return PhaseOf(err)
}

func (h *Handle[T]) bind(ctx context.Context, e *entry, object *T) error {
	bound := h.newEntry(stateBound)
	bound.ID, bound.Token, bound.Params = h.kind.ID(object), e.Token, e.Params
	return h.put(ctx, bound)
}

func (g *Graph) keyOf(name string, e *entry) Key {
	return Key{Owner: g.ledger.Owner, Name: name, Token: e.Token, Title: e.Title, Params: e.Params}
}

// found is what a lookup came back with, by whose it is.
type found[T any] struct{ ours, others []*T }

// find looks for a resource. Ours are sorted, the one to keep first: one that stays, then one of this attempt, then by ID,
// so that every reconcile chooses the same one. Others are the user's, with the name that the claim gives; there are none
// without such a name.
func (k *Kind[T]) find(ctx context.Context, g *Graph, name string, e *entry) (found[T], error) {
	key := g.keyOf(name, e)
	var f found[T]
	if _, written := g.owner.GetAnnotations()[LedgerAnnotation]; !written && key.Title == "" {
		return f, nil // The owner's ID is new: nothing can carry it.
	}
	all, err := k.Find(ctx, key)
	if err != nil {
		return f, err
	}
	for i := range all {
		switch object := &all[i]; {
		case k.isOurs(object, key, e):
			f.ours = append(f.ours, object)
		case key.Title != "" && k.Phase(object).State != StateDeleting:
			f.others = append(f.others, object)
		}
	}
	later := func(o *T) int {
		switch {
		case k.Phase(o).State == StateDeleting:
			return 2
		case k.Tag != nil && k.Tag(o).Token != key.Token:
			return 1
		}
		return 0
	}
	slices.SortFunc(f.ours, func(a, b *T) int {
		return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(k.ID(a), k.ID(b)))
	})
	return f, nil
}

// isOurs goes by the tag. Where there is no room for one, a name that the Kind has made holds the owner's ID and so proves
// as much; a name that the user gave proves it only if we have seen it absent and then tried to make it.
func (k *Kind[T]) isOurs(object *T, key Key, e *entry) bool {
	if k.Tag == nil {
		return key.Title == "" || e.State == statePending
	}
	tag := k.Tag(object)
	return tag.Owner == key.Owner && tag.Key == key.Name
}

// unsettled reports whether "none found" proves nothing yet, because the service may still finish a create.
func (g *Graph) unsettled(e *entry) (Phase, bool) {
	if e.State == stateRefused || e.At == nil {
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
	phase := PhaseOf(&fault.Error{Class: e.Refusal, Err: errors.New(e.Message)})
	if phase.retry != paceSlow || e.Refusal == fault.Credentials {
		return Phase{}, false
	}
	return phase, g.engine.Clock.Now().Before(e.At.Add(g.engine.slowly()))
}

// now is by the wall clock only, as another process will read it: the monotonic one stands still while a machine is suspended.
func (g *Graph) now() *metav1.Time { return &metav1.Time{Time: g.engine.Clock.Now().Round(0)} }
