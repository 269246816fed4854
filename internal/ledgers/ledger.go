package ledgers

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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Ledger is an owner's ledger as one reconcile sees it.
type Ledger struct {
	// OwnerID is what the owner's resources are tagged with.
	OwnerID string
	// Credentials are the names of the Secrets that the calls log in with. Each write stores them.
	Credentials []string
	// Account is where the owner's resources are, of a service that has many. Each write stores it.
	Account string
	// Entries by their keys. An entry is never changed, only replaced.
	Entries map[string]*ledgerv1.Entry
	// Stored is the object as it was read or written last; without a resource version there is none yet.
	Stored *ledgerv1.Ledger
	// Fresh: the owner's ID is new, so nothing can carry it.
	Fresh bool
	// Incomplete: the owner shows what the ledger lacks, and nothing proves whose that is. So it doesn't prove that all is
	// gone.
	Incomplete bool
	// Leaving: everything of the owner is being deleted, and what isn't in the ledger was searched for. Once it is empty,
	// it is closed.
	Leaving bool

	// recalled is what the stored ledger lacks and the owner shows. It is found again each time the ledger is opened.
	recalled map[string]*ledgerv1.Entry
	// replaced is the ledger whose place this one takes; nil if there was none.
	replaced *ledgerv1.Ledger

	store *Store
	owner Owner
	home  string
}

// ownerIDLength is short enough for names of resources where an API has no tags.
const ownerIDLength = 12

// IsOwnerID reports whether a text may be an owner's ID.
func IsOwnerID(text string) bool {
	return len(text) == ownerIDLength && strings.Trim(text, "0123456789abcdef") == ""
}

func newID() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:ownerIDLength] }

// Open a ledger that was read.
func (s *Store) Open(owner Owner, home string, credentials []string, stored *ledgerv1.Ledger) *Ledger {
	l := &Ledger{OwnerID: stored.Spec.OwnerID, Credentials: credentials, Account: stored.Spec.Account, store: s, owner: owner, home: home}
	l.take(stored)
	return l
}

// Begin a ledger, which isn't written before it is needed; then it replaces the existing one, if there is one.
func (s *Store) Begin(owner Owner, home string, credentials []string, place *ledgerv1.Ledger) (*Ledger, error) {
	object := ObjectOf(owner)
	kind, err := apiutil.GVKForObject(object, s.Client.Scheme())
	if err != nil {
		return nil, err
	}
	stored := &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: ledgerv1.Name(kind.Kind, object.GetName())},
		Spec: ledgerv1.LedgerSpec{
			Owner: ledgerv1.Owner{Kind: kind.Kind, Name: object.GetName()}, OwnerID: newID(), Home: home,
		},
	}
	if place != nil {
		stored.ObjectMeta = *place.ObjectMeta.DeepCopy()
	}
	l := s.Open(owner, home, credentials, stored)
	l.Fresh, l.replaced = true, place
	return l, nil
}

// take what was read or written last.
func (l *Ledger) take(stored *ledgerv1.Ledger) {
	l.Stored, l.Entries = stored, EntriesOf(stored)
	for key, e := range l.recalled {
		l.Recall(key, e)
	}
}

// Recall adds what the owner shows and an older ledger lacks. The next write has it, and a write that fails doesn't lose it.
func (l *Ledger) Recall(key string, e *ledgerv1.Entry) {
	if known := l.Entries[key]; known != nil && known.Owned() {
		return // a search finds it by the same tag
	}
	if l.recalled == nil {
		l.recalled = map[string]*ledgerv1.Entry{}
	}
	l.recalled[key], l.Entries[key] = e, e
}

// IsYours reports whether it has a resource as the user's own, under any key, or had it so and has released it.
func (l *Ledger) IsYours(kind, id string) bool {
	has := func(e *ledgerv1.Entry) bool { return e.Foreign && e.Kind == kind && e.ID == id }
	return slices.ContainsFunc(slices.Collect(maps.Values(l.Entries)), has) || slices.Contains(l.Released(kind), id)
}

// Released are the IDs of a kind's resources that were the user's own and aren't in use any more.
func (l *Ledger) Released(kind string) (ids []string) {
	for _, text := range l.released() {
		if id, is := strings.CutPrefix(text, kind+" "); is && !l.attempts(kind, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// attempts reports whether there is an attempt of a name. Where IDs are names what has it was seen to be gone before.
func (l *Ledger) attempts(kind, name string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(l.Entries)), func(e *ledgerv1.Entry) bool {
		return e.Kind == kind && !e.Foreign && e.Token != "" && e.Title == name
	})
}

// EntriesOf are the effective entries of a ledger, by key.
func EntriesOf(stored *ledgerv1.Ledger) map[string]*ledgerv1.Entry {
	entries := map[string]*ledgerv1.Entry{}
	for i := range stored.Spec.Entries {
		e := &stored.Spec.Entries[i]
		if e.State == ledgerv1.Bound && e.ID == "" { // it was edited: ours is searched for, and the user's own is what the spec names
			if e.Foreign {
				continue
			}
			e = e.DeepCopy()
			e.State = ledgerv1.Pending
		}
		entries[e.Key] = e
	}
	return entries
}

// BelongsTo gives a ledger the owner ID that was found, or is known otherwise. If that is the one of the ledger that it replaces, the owner
// may show what was the user's own there.
func (l *Ledger) BelongsTo(ownerID string) {
	l.OwnerID, l.Stored.Spec.OwnerID = ownerID, ownerID
	if l.replaced != nil && l.replaced.Spec.OwnerID == ownerID {
		l.Stored.Spec.Released = theirs(l.replaced)
	}
}

// Write stores the ledger, on the server and in memory. It fails with phases.ErrStale if the server has another version than was
// read, so an intention is always written on the newest ledger; and if the owner has changed since, for an intention. After a
// failure the ledger in memory is again the one that was read.
func (l *Ledger) Write(ctx context.Context) error {
	before, fresh, recalled := l.Stored, l.Fresh, l.recalled
	intends := l.intends()
	var err error
	blocked := false
	if intends {
		blocked, err = l.blockMove(ctx)
	}
	if err == nil {
		err = l.put(ctx)
	}
	if err == nil && intends {
		// In this order: a client that removes the finalizer has read the ledger before, and one that pauses the owner waits
		// for what is pending. So either it sees the intention, or its change is seen here.
		if err = l.unchanged(ctx); err != nil {
			undone := before.DeepCopy()
			undone.ObjectMeta, l.recalled = l.Stored.ObjectMeta, recalled
			l.take(undone)
			err = errors.Join(err, l.put(ctx))
			if blocked && !l.pends() {
				err = errors.Join(err, l.unblockMove(ctx))
			}
		}
	}
	if err == nil {
		return nil
	}
	l.take(l.Stored)
	l.Fresh = fresh && l.Stored == before
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, phases.ErrStale) {
		return phases.ErrStale
	}
	return fmt.Errorf("write the ledger: %w", err)
}

// Restore puts back what another client has removed from a ledger: the reference to its owner, and its finalizer.
func (l *Ledger) Restore(ctx context.Context) error {
	reference, err := ReferenceTo(l.owner, l.store.Client.Scheme())
	s := l.Stored
	kept := s.DeletionTimestamp != nil || s.Spec.Closed || controllerutil.ContainsFinalizer(s, ledgerv1.Finalizer)
	if err != nil || l.store.OnlyLooks || l.Fresh || kept && slices.Equal(s.OwnerReferences, []metav1.OwnerReference{reference}) {
		return err
	}
	return l.Write(ctx)
}

// pends reports whether an attempt may still be running.
func (l *Ledger) pends() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(l.Entries)), func(e *ledgerv1.Entry) bool { return e.State == ledgerv1.Pending })
}

// intends reports whether a create is about to start that isn't in the stored ledger.
func (l *Ledger) intends() bool {
	for key, e := range l.Entries {
		if before := l.Stored.Entry(key); e.State == ledgerv1.Pending && (before == nil || before.Token != e.Token) {
			return true
		}
	}
	return false
}

func (l *Ledger) put(ctx context.Context) error {
	next, err := l.object()
	if err != nil {
		return err
	}
	if next.ResourceVersion != "" {
		err = l.store.Client.Update(ctx, next)
	} else {
		err = l.store.Client.Create(ctx, next)
	}
	if err == nil {
		next.ManagedFields = nil
		l.Stored, l.Fresh, l.recalled = next, false, nil
	}
	return err
}

// object is the ledger as it is to be stored. One that is empty at the end of a deletion is closed and loses its finalizer: it
// is deleted with its owner. One that is already being deleted keeps its finalizer until the owner is gone: it is the proof
// that all is gone.
func (l *Ledger) object() (*ledgerv1.Ledger, error) {
	next := l.Stored.DeepCopy()
	next.Spec.Credentials, next.Spec.Account, next.Spec.Home = l.Credentials, l.Account, l.home
	next.Spec.Entries, next.Status = nil, ledgerv1.LedgerStatus{}
	for _, key := range l.Keys() {
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
	next.Spec.Released = l.released()
	next.Spec.Closed = l.Leaving && len(l.Entries) == 0 && !l.Incomplete && l.owner.GetDeletionTimestamp() != nil
	if next.DeletionTimestamp == nil {
		controllerutil.AddFinalizer(next, ledgerv1.Finalizer)
		if next.Spec.Closed {
			controllerutil.RemoveFinalizer(next, ledgerv1.Finalizer)
		}
	}
	reference, err := ReferenceTo(l.owner, l.store.Client.Scheme())
	next.OwnerReferences, next.Spec.OwnerUID = []metav1.OwnerReference{reference}, string(reference.UID)
	return next, err
}

// maxReleased bounds what a ledger remembers of what it has released.
const maxReleased = 64

// released are the user's own resources that have left the ledger, the last ones at the end: they aren't lost if the owner shows them.
// The owner may be a copy from before, or may not show yet what was bound a moment ago.
func (l *Ledger) released() (all []string) {
	names := map[string]bool{}
	for _, e := range l.Entries {
		names[shownAs(e)] = true
	}
	for _, text := range theirs(l.Stored) {
		if !names[text] {
			all, names[text] = append(all, text), true
		}
	}
	shown := map[string]bool{}
	for _, o := range l.owner.OutsideIDs() {
		shown[o.String()] = true
	}
	over := len(all) - maxReleased
	return slices.DeleteFunc(all, func(text string) bool { // the first ones that the owner doesn't show
		over--
		return over >= 0 && !shown[text]
	})
}

// theirs are the resources that are or were the user's own, as KIND ID: those that it has released come first.
func theirs(stored *ledgerv1.Ledger) []string {
	all := slices.Clip(stored.Spec.Released)
	for i := range stored.Spec.Entries {
		if e := &stored.Spec.Entries[i]; e.Foreign {
			all = append(all, shownAs(e))
		}
	}
	return all
}

// shownAs is how an owner shows what an entry names.
func shownAs(e *ledgerv1.Entry) string { return ledgerv1.OutsideID{Kind: e.Kind, ID: e.ID}.String() }

// unchanged reads the owner past the cache: if it was deleted, replaced, paused or given another spec meanwhile, nothing is created. Until the
// ledger shows the intention, admission may have allowed a spec that what is created can't follow.
func (l *Ledger) unchanged(ctx context.Context) error {
	newest, err := l.newest(ctx)
	if err != nil || l.store.Paused == nil {
		return err
	}
	paused, err := l.store.Paused(ctx, newest)
	if err == nil && paused {
		err = phases.ErrStale
	}
	return err
}

// newest is the owner's metadata past the cache. It is an error if the owner was deleted, replaced or given another spec meanwhile.
func (l *Ledger) newest(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	kind, err := apiutil.GVKForObject(ObjectOf(l.owner), l.store.Client.Scheme())
	if err != nil {
		return nil, err
	}
	newest := &metav1.PartialObjectMetadata{}
	newest.SetGroupVersionKind(kind)
	if err := l.store.Live.Get(ctx, client.ObjectKeyFromObject(l.owner), newest); err != nil {
		if apierrors.IsNotFound(err) {
			err = phases.ErrStale
		}
		return nil, err
	}
	deleted := newest.DeletionTimestamp != nil && l.owner.GetDeletionTimestamp() == nil
	if deleted || newest.UID != l.owner.GetUID() || newest.Generation != l.owner.GetGeneration() {
		return nil, phases.ErrStale
	}
	return newest, nil
}

// Current fails if the spec isn't the newest one: what it doesn't name may be wanted.
func (l *Ledger) Current(ctx context.Context) error {
	_, err := l.newest(ctx)
	return err
}

// Newest fails if the server has another version than was read: what is ours in this one may be the user's own by now.
func (l *Ledger) Newest(ctx context.Context) error {
	newest, err := Of(ctx, l.store.Live, l.store.Client.Scheme(), l.owner)
	if err == nil && (newest == nil || newest.ResourceVersion != l.Stored.ResourceVersion) {
		err = phases.ErrStale
	}
	return err
}

// Keys of the entries, sorted.
func (l *Ledger) Keys() []string { return slices.Sorted(maps.Keys(l.Entries)) }

// Owned are the keys of what isn't the user's own.
func (l *Ledger) Owned() []string {
	return slices.DeleteFunc(l.Keys(), func(key string) bool { return l.Entries[key].Foreign })
}

// Dependents of key in the ledger: what comes after it, or lies in it. What was refused doesn't exist.
func (l *Ledger) Dependents(key string) []string {
	var found []string
	of := l.Entries[key]
	for _, other := range l.Keys() {
		e := l.Entries[other]
		lies := of != nil && of.ID != "" && e.Scope[of.Kind] == of.ID && !slices.Contains(of.After, other) // it can't lie in what comes after it
		needs := lies || slices.Contains(e.After, key)
		if needs && (e.Foreign || e.Owned()) {
			found = append(found, other)
		}
	}
	return found
}
