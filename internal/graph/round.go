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

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// round carries out the steps of one key in one reconcile, and keeps what was seen.
type round[T any] struct {
	*Handle[T]
	sight decide.Sight
	// objects that were seen; for one ID the last one counts.
	objects []*T
	turn    *creates.Turn
	call    Call[T]
	update  Update
	wish    decide.Wish
	// more steps than MaxSteps, for what an earlier sight of a plan had.
	more int
}

// reconcile brings one resource a step further. A key that the spec doesn't ask for has no state when it has left the ledger.
func (h *Handle[T]) reconcile(ctx context.Context, before string) (phase phases.Phase) {
	r := h.begin(h.wish(before))
	r.run(func(s decide.Step) bool {
		if !s.Ends {
			r.do(ctx, s)
			return true
		}
		phase = s.Phase
		if err := r.write(ctx, s); err != nil {
			phase = phases.Of(err)
		} else if (s.Verb == decide.Forget || s.Verb == decide.Release) && h.entry() != nil { // another resource was found under the key
			phase = phases.Deleting()
		}
		return false
	})
	return phase
}

func (h *Handle[T]) begin(w decide.Wish) *round[T] {
	r := &round[T]{Handle: h, wish: w, sight: decide.Sight{Began: h.g.engine.Clock.Now()}}
	if e := h.entry(); e != nil && e.State == ledgerv1.Pending {
		if a, known := h.g.engine.Creates.Answer(e.Token); known {
			r.heed(a)
		}
	}
	return r
}

// run lets decide and the steps alternate until the round ends.
func (r *round[T]) run(step func(decide.Step) (more bool)) {
	defer func() {
		if r.turn != nil {
			r.turn.End()
		}
	}()
	// What a list shows may be gone, or doubles, of any number, each with a step.
	for n := 0; n < decide.MaxSteps+r.more+len(r.sight.Gone)+len(r.sight.Asked); n++ {
		if !step(decide.Next(r.wish, r.entry(), r.sight, r.g.engine.Clock.Now())) {
			return
		}
	}
	panic("graph: the steps of " + r.want.Key + " don't come to an end")
}

// do carries out a step that doesn't end the round.
func (r *round[T]) do(ctx context.Context, s decide.Step) {
	var err error
	switch s.Verb {
	case decide.LookByID:
		err = r.get(ctx, s.ID, s.In)
	case decide.LookByName:
		err = r.find(ctx, s.Title, s.In)
	case decide.LookUp:
		err = r.lookUp(ctx, s.In)
	case decide.Seek:
		err = r.seek(ctx)
	case decide.Compare:
		r.compare(s.ID)
	case decide.Pick:
		r.sight.Params, err = r.want.Choose(ctx, r.seen(r.ID()))
		r.sight.Chosen = err == nil
	case decide.TakeTurn:
		r.takeTurn()
	case decide.Prepare:
		err = r.prepare(ctx)
	case decide.Create:
		err = r.create(ctx, s)
	case decide.Apply:
		err = r.change(ctx, s)
	case decide.Remedy:
		err = r.remedy(ctx, s)
	case decide.Remove:
		err = r.delete(ctx, s.ID, s.In)
	default:
		err = r.write(ctx, s)
	}
	r.sight.Failed = err
}

// write stores the entry of a step in the ledger, if the step has one.
func (r *round[T]) write(ctx context.Context, s decide.Step) error {
	key := r.want.Key
	switch s.Verb {
	case decide.Release, decide.Forget:
		before := r.entry()
		if r.wish.Wanted && (before.Foreign || r.wish.Claim.Uses) { // wanted under another claim: fail if the spec that says so is stale
			if err := r.g.ledger.Current(ctx); err != nil {
				return err
			}
		}
		delete(r.g.ledger.Entries, key)
		if err := r.g.sweep(ctx); err != nil {
			r.g.ledger.Entries[key] = before
			return err
		}
	default:
		if s.Entry == nil {
			return nil
		}
		r.g.ledger.Entries[key] = s.Entry
	}
	if err := r.g.ledger.Write(ctx); err != nil {
		return err
	}
	r.wrote()
	return nil
}

// wrote records that the ledger is the newest, and the object whose ID it has now.
func (r *round[T]) wrote() {
	r.sight.Wrote = true
	if object := r.seen(r.ID()); object != nil {
		r.saw(object)
	}
}

func (r *round[T]) get(ctx context.Context, id string, in Scope) error {
	r.sight.ID, r.sight.Object = id, nil
	object, err := r.kind.Get(ctx, id, in)
	switch {
	case fault.IsNotFound(err):
		if r.kind.GoneAfter == 0 {
			place := searchOf(r.kind.Name, in)
			r.g.gone[place], r.sight.Gone = append(r.g.gone[place], id), append(r.sight.Gone, id)
		}
		return nil
	case err != nil: // not every service names the resource in its errors
		return fmt.Errorf("%s %s: %w", r.kind.Name, id, err)
	}
	if is := r.kind.ID(object); is != id { // the ledger would name an ID that is never seen
		return fault.Invalidf("%s %s: the service returns the ID %s: write it in this form", r.kind.Name, id, is)
	}
	r.saw(object)
	return nil
}

// saw records an object that was read by its ID, or whose entry has changed: that is newer than what a list has shown of it.
func (r *round[T]) saw(object *T) {
	r.sight.Object = r.view(object)
	r.sight.ID = r.sight.Object.ID
	if r.sight.ID == r.ID() {
		r.object = object
	}
	if i := slices.IndexFunc(r.sight.List, func(t decide.Thing) bool { return t.ID == r.sight.ID }); i >= 0 {
		r.sight.List[i] = *r.sight.Object // the phase may depend on what the ledger says
	}
}

func (r *round[T]) view(object *T) *decide.Thing {
	t := &decide.Thing{ID: r.kind.ID(object), Phase: r.kind.Phase(object)}
	if r.kind.Tag != nil {
		t.Tag = r.kind.Tag(object)
	}
	r.objects = append(r.objects, object)
	return t
}

// seen is the object of an ID; nil if this round has seen none.
func (r *round[T]) seen(id string) *T {
	for _, object := range slices.Backward(r.objects) {
		if r.kind.ID(object) == id {
			return object
		}
	}
	return nil
}

func (r *round[T]) find(ctx context.Context, title string, in Scope) error {
	key := r.OwnKey()
	key.Title, key.Scope = title, in
	r.sight.Twice = r.sight.Listed
	r.sight.Listed = true
	if r.kind.Find == nil || r.g.ledger.Fresh && key.Title == "" {
		return nil // Nothing of the kind is ours, or the owner's ID is new: nothing can carry it.
	}
	all, err := r.kind.Find(ctx, key)
	if err != nil && !fault.IsNotFound(err) { // nothing lies in what is proven to be gone
		return err
	}
	for _, o := range r.sight.List {
		r.sight.Earlier = append(r.sight.Earlier, o.ID)
	}
	r.sight.List = nil
	for i := range all {
		r.sight.List = append(r.sight.List, *r.view(&all[i]))
	}
	r.g.noteStrays(r.kind.Name, in, r.sight.List)
	return nil
}

// seek what attempts under other keys have made. A list may be wrong once.
func (r *round[T]) seek(ctx context.Context) error {
	sought := map[string][]string{}
	for _, key := range r.wish.Attempts() {
		e, of := r.wish.Ledger[key], &round[T]{Handle: handleOf(r.g, r.kind, key)} // not begun: that would take the attempt's answer
		for range 2 {
			if err := of.find(ctx, e.Title, e.Scope); err != nil {
				return err
			}
			for _, o := range of.sight.List {
				sought[key] = append(sought[key], o.ID)
			}
		}
	}
	r.sight.Sought = sought
	return nil
}

func (r *round[T]) lookUp(ctx context.Context, in Scope) error {
	id, err := r.want.Claim.resolve(ctx)
	if fault.IsNotFound(err) { // a list may be wrong once
		id, err = r.want.Claim.resolve(ctx)
	}
	none, n := fault.IsNotFound(err), r.g.nodes[r.g.indexOf(r)]
	switch {
	case err == nil && id == "":
		return fault.Invalidf("the lookup returned no %s and no error: this is a bug, please report it", r.kind.Name)
	case err == nil:
		n.named = id
	case !none:
		return err
	}
	n.recorded = nil
	r.wish.Named, r.wish.Unnamed = r.g.named(r.kind.Name), r.g.unnamed(r.kind.Name, r.want.Key)
	switch {
	case !none:
		return r.get(ctx, id, in)
	case r.ID() != "": // what is left under the key isn't what the spec names
		return nil
	}
	return err
}

func (r *round[T]) compare(id string) {
	r.update = r.want.Update(r.seen(id))
	r.sight.Compared, r.sight.Changes, r.sight.Refused = true, r.update.Changes, r.update.Refused
	if len(r.update.Changes) == 0 {
		_, _ = r.g.engine.Creates.Answer(r.changing()) // nothing asks for it any more
	}
	if r.want.InEffect != nil {
		r.sight.InEffect = r.want.InEffect(r.seen(id))
	}
}

func (r *round[T]) takeTurn() {
	at := r.place()
	at.Site = r.wish.Fresh.Scope[r.kind.Site]
	if r.want.Lock != nil {
		at.Lock = r.want.Lock()
	}
	r.sight.Turn = decide.TurnQueued
	if t, free := r.g.engine.Creates.Turn(at); free {
		r.turn, r.sight.Turn = t, decide.TurnGranted
	}
}

// place is where a call of the key takes a turn.
func (h *Handle[T]) place() creates.Place {
	service, credentials := h.g.engine.service(h.kind.Service), strings.Join(h.g.credentials, ",")
	return creates.Place{
		Endpoint: cmp.Or(service.Endpoint, credentials), Most: service.Creates, Owner: sleeperOf(h.g.owner), Credentials: credentials,
		Key: h.want.Key,
	}
}

// prepare reads whatever the create call needs.
func (r *round[T]) prepare(ctx context.Context) (err error) {
	e := r.wish.Fresh
	e.Token = uuid.NewString()
	if r.want.Choose != nil {
		if e.Params, err = r.want.Choose(ctx, nil); err != nil {
			return err
		}
	}
	if r.call, err = r.want.Create(ctx, r.g.keyOf(r.want.Key, &e)); err != nil {
		return err
	}
	r.sight.Token, r.sight.Params = e.Token, e.Params
	return nil
}

// create writes the intention, then makes the call. Wherever it is interrupted, the next reconcile finds either no intention and
// nothing outside, or an intention and its tag to search for.
func (r *round[T]) create(ctx context.Context, s decide.Step) error {
	if err := r.write(ctx, s); err != nil {
		return err
	}
	before := &r.sight
	before.Listed, before.Twice, before.List, before.Earlier, before.Gone = false, false, nil, nil, nil
	engine, call, name, timeout := r.g.engine, r.call, r.kind.Name, r.g.engine.service(r.kind.Service).CreateTimeout
	r.heed(r.turn.Run(ctx, s.Entry.Token, func(ctx context.Context) (any, error) {
		ctx, cancel, err := engine.attempt(ctx, s.Entry, timeout)
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", name, err)
		}
		defer cancel()
		return call(ctx)
	}))
	return nil
}

// heed records the answer to an attempt.
func (r *round[T]) heed(a creates.Answer) {
	r.sight.Attempt = decide.Attempt{Known: true, Running: a.Running, Err: a.Err}
	if a.Running || a.Err != nil {
		return
	}
	object, _ := a.Object.(*T)
	if r.sight.Attempt.ID = r.kind.ID(object); r.sight.Attempt.ID == "" {
		r.sight.Attempt.Err = fmt.Errorf("the service created a %s and didn't return its ID", r.kind.Name)
		return
	}
	r.objects = append(r.objects, object)
}

// remedy is counted before it is tried. A process that was suspended in between doesn't try it, because what it saw is stale, and takes
// the count back.
func (r *round[T]) remedy(ctx context.Context, s decide.Step) error {
	before := r.entry()
	if err := r.write(ctx, s); err != nil {
		return err
	}
	r.sight.Remedied = true
	if r.g.engine.Clock.Since(s.Entry.RepairedAt.Time) > max(r.wish.Poll, time.Second) {
		return cmp.Or(r.write(ctx, decide.Step{Verb: decide.Note, Entry: before}), phases.ErrStale)
	}
	err := r.want.Repair.Remedy(ctx, r.seen(r.ID()))
	if err == nil {
		return nil
	}
	err = fmt.Errorf("repair %s %s: %w", r.kind.Name, r.ID(), err)
	e := *r.entry()
	e.Message = err.Error()
	return errors.Join(err, r.write(ctx, decide.Step{Verb: decide.Note, Entry: &e}))
}

func (r *round[T]) delete(ctx context.Context, id string, in Scope) error {
	if r.wish.Wanted { // wanted under another claim: fail if the spec that says so is stale
		if err := r.g.ledger.Current(ctx); err != nil {
			return err
		}
	}
	if !r.sight.Wrote { // what was written in this round is the newest
		if err := r.g.ledger.Newest(ctx); err != nil {
			return err
		}
	}
	r.sight.Asked = append(r.sight.Asked, id)
	err := r.kind.Delete(ctx, id, in)
	switch fault.ClassOf(err) {
	case fault.NotFound:
		return nil
	case fault.Conflict: // another operation on it is in progress, or something uses it
		r.g.inUse = true
		return &fault.Error{Class: fault.Busy, Err: err}
	case fault.Busy: // the same, unless the service has too much to do
		r.g.inUse = r.g.inUse || !fault.IsOverload(err)
	}
	return err
}
