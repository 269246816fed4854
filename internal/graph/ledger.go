package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// ledger is an owner's as one reconcile sees it.
type ledger struct {
	Owner string
	// Credentials are the names of what the resources were made with.
	Credentials []string
	Entries     map[string]*ledgerv1.Entry
	// stored is the object as it was read or written last; without a resource version there is none yet.
	stored *ledgerv1.Ledger
	// fresh: the owner's ID is new, so nothing can carry it.
	fresh bool
}

// LedgerOf reads the ledger of an object; nil where it has none.
func LedgerOf(ctx context.Context, c client.Reader, scheme *runtime.Scheme, object client.Object) (*ledgerv1.Ledger, error) {
	kind, err := apiutil.GVKForObject(objectOf(object), scheme)
	if err != nil {
		return nil, err
	}
	l := &ledgerv1.Ledger{}
	name := types.NamespacedName{Namespace: object.GetNamespace(), Name: ledgerv1.Name(kind.Kind, object.GetName())}
	if err := c.Get(ctx, name, l); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, &fault.Error{Class: fault.Transient, Op: "read ledger " + name.String(), Err: err}
	}
	return l, nil
}

// ownerIDLength is short enough for names of resources where an API has no tags.
const ownerIDLength = 12

// IsOwnerID reports whether a text may be an owner's ID.
func IsOwnerID(text string) bool {
	return len(text) == ownerIDLength && strings.Trim(text, "0123456789abcdef") == ""
}

func newID() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:ownerIDLength] }

func ledgerFrom(stored *ledgerv1.Ledger) *ledger {
	l := &ledger{
		Owner: stored.Spec.OwnerID, Credentials: stored.Spec.Credentials, Entries: map[string]*ledgerv1.Entry{}, stored: stored,
	}
	for i := range stored.Spec.Entries {
		e := &stored.Spec.Entries[i]                 // an entry is never changed, only replaced
		if e.State == ledgerv1.Bound && e.ID == "" { // it was edited: ours is looked for, and the user's own is what the spec names
			if e.Foreign {
				continue
			}
			e = e.DeepCopy()
			e.State = ledgerv1.Pending
		}
		l.Entries[e.Key] = e
	}
	return l
}

// begin a ledger, which isn't written before it is needed; then it takes the place of the one that is in its place.
func (g *Graph) begin(place *ledgerv1.Ledger) error {
	owner := objectOf(g.owner)
	kind, err := apiutil.GVKForObject(owner, g.engine.Client.Scheme())
	if err != nil {
		return err
	}
	l := &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: ledgerv1.Name(kind.Kind, owner.GetName())},
		Spec: ledgerv1.LedgerSpec{
			Owner: ledgerv1.Owner{Kind: kind.Kind, Name: owner.GetName()}, OwnerID: newID(), Home: g.home,
		},
	}
	if place != nil {
		l.ObjectMeta = *place.ObjectMeta.DeepCopy()
	}
	g.ledger = ledgerFrom(l)
	g.ledger.fresh = true
	return nil
}

// write stores the ledger, on the server and in memory. It fails with errStale where the server has another one than the one
// that was read, so what is intended is always intended on the newest one; and where an owner that something is intended for
// isn't what it was. After a failure the ledger in memory is again the one that was read.
func (g *Graph) write(ctx context.Context) error {
	before, fresh := g.ledger.stored, g.ledger.fresh
	intends := g.ledger.intends()
	var err error
	blocked := false
	if intends {
		blocked, err = g.blockMove(ctx)
	}
	if err == nil {
		err = g.store(ctx)
	}
	if err == nil && intends {
		// In this order: whoever takes the finalizer off has looked at the ledger before, and whoever pauses waits for what is
		// pending. So either they see the intention, or it is seen here that they were first.
		if err = g.unchanged(ctx); err != nil {
			undone := before.DeepCopy()
			undone.ObjectMeta = g.ledger.stored.ObjectMeta
			g.ledger = ledgerFrom(undone)
			err = errors.Join(err, g.store(ctx))
			if blocked && !g.ledger.pends() {
				err = errors.Join(err, g.unblockMove(ctx))
			}
		}
	}
	if err == nil {
		return nil
	}
	g.ledger = ledgerFrom(g.ledger.stored)
	g.ledger.fresh = fresh && g.ledger.stored == before
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, phases.ErrStale) {
		return phases.ErrStale
	}
	return fmt.Errorf("write the ledger: %w", err)
}

// pends reports whether an attempt may still be at work.
func (l *ledger) pends() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(l.Entries)), func(e *ledgerv1.Entry) bool { return e.State == ledgerv1.Pending })
}

// intends reports whether a create is about to begin that the server doesn't know of.
func (l *ledger) intends() bool {
	for key, e := range l.Entries {
		if before := l.stored.Entry(key); e.State == ledgerv1.Pending && (before == nil || before.Token != e.Token) {
			return true
		}
	}
	return false
}

func (g *Graph) store(ctx context.Context) error {
	g.ledger.Credentials = g.credentials
	next, err := g.object()
	if err != nil {
		return err
	}
	if next.ResourceVersion != "" {
		err = g.engine.Client.Update(ctx, next)
	} else {
		err = g.engine.Client.Create(ctx, next)
	}
	if err == nil {
		next.ManagedFields = nil
		g.ledger.stored, g.ledger.fresh = next, false
	}
	return err
}

// object is the ledger as it is to be stored. What is empty at the end of a deletion is closed, and nothing keeps it any more:
// it goes with its owner. One that is being deleted already stays until that one has gone: it is the proof that all is gone.
func (g *Graph) object() (*ledgerv1.Ledger, error) {
	l, next := g.ledger, g.ledger.stored.DeepCopy()
	next.Spec.Credentials, next.Spec.Home = l.Credentials, g.home
	next.Spec.Entries, next.Status = nil, ledgerv1.LedgerStatus{}
	for _, key := range l.keys() {
		e := l.Entries[key].DeepCopy()
		e.Key = key
		next.Spec.Entries = append(next.Spec.Entries, *e)
		switch e.State {
		case ledgerv1.Bound:
			next.Status.Bound++
		case ledgerv1.Pending:
			next.Status.Pending++
		}
	}
	next.Spec.Released = l.released(g.owner)
	next.Spec.Closed = len(l.Entries) == 0 && len(g.unproven) == 0 && g.owner.GetDeletionTimestamp() != nil
	if next.DeletionTimestamp == nil {
		controllerutil.AddFinalizer(next, ledgerv1.Finalizer)
		if next.Spec.Closed {
			controllerutil.RemoveFinalizer(next, ledgerv1.Finalizer)
		}
	}
	reference, err := g.engine.referenceTo(g.owner)
	next.OwnerReferences, next.Spec.OwnerUID = []metav1.OwnerReference{reference}, string(reference.UID)
	return next, err
}

// released are what of the user's own has left the ledger while the owner still shows it, now or before. It isn't lost.
func (l *ledger) released(owner Owner) (all []string) {
	for _, o := range owner.OutsideIDs() {
		before := slices.ContainsFunc(l.stored.Spec.Entries, func(e ledgerv1.Entry) bool { return e.Foreign && e.Kind == o.Kind && e.ID == o.ID })
		is := slices.ContainsFunc(slices.Collect(maps.Values(l.Entries)), func(e *ledgerv1.Entry) bool { return e.Kind == o.Kind && e.ID == o.ID })
		if text := o.String(); !is && (before || slices.Contains(l.stored.Spec.Released, text)) && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

func (e *Engine) referenceTo(owner Owner) (metav1.OwnerReference, error) {
	object := objectOf(owner)
	kind, err := apiutil.GVKForObject(object, e.Client.Scheme())
	return metav1.OwnerReference{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: object.GetName(), UID: object.GetUID(),
	}, err
}

// unchanged looks at the owner past the cache: for one that was deleted, replaced or paused meanwhile nothing begins.
func (g *Graph) unchanged(ctx context.Context) error {
	newest, err := g.newest(ctx)
	if err != nil {
		return err
	}
	if g.engine.Paused == nil {
		return nil
	}
	paused, err := g.engine.Paused(ctx, newest)
	if err == nil && paused {
		err = phases.ErrStale
	}
	return err
}

// newest is the owner's metadata past the cache. It is an error if the owner was deleted or replaced meanwhile.
func (g *Graph) newest(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	kind, err := apiutil.GVKForObject(objectOf(g.owner), g.engine.Client.Scheme())
	if err != nil {
		return nil, err
	}
	newest := &metav1.PartialObjectMetadata{}
	newest.SetGroupVersionKind(kind)
	if err := g.engine.Live.Get(ctx, client.ObjectKeyFromObject(g.owner), newest); err != nil {
		if apierrors.IsNotFound(err) {
			err = phases.ErrStale
		}
		return nil, err
	}
	deleted := newest.DeletionTimestamp != nil && g.owner.GetDeletionTimestamp() == nil
	if deleted || newest.UID != g.owner.GetUID() {
		return nil, phases.ErrStale
	}
	return newest, nil
}

// current fails where the spec isn't the newest one: what it doesn't name may be wanted.
func (g *Graph) current(ctx context.Context) error {
	newest, err := g.newest(ctx)
	if err == nil && newest.Generation != g.owner.GetGeneration() {
		err = phases.ErrStale
	}
	return err
}

func (l *ledger) keys() []string { return slices.Sorted(maps.Keys(l.Entries)) }

// owned are the keys of what isn't the user's own.
func (l *ledger) owned() []string {
	return slices.DeleteFunc(l.keys(), func(key string) bool { return l.Entries[key].Foreign })
}

// dependents of key that the ledger still knows: what comes after it, or lies in it. What was refused isn't there.
func (l *ledger) dependents(key string) []string {
	var found []string
	of := l.Entries[key]
	for _, other := range l.keys() {
		e := l.Entries[other]
		needs := slices.Contains(e.After, key) || of != nil && of.ID != "" && e.Scope[of.Kind] == of.ID
		if needs && (e.Foreign || e.Owned()) {
			found = append(found, other)
		}
	}
	return found
}
