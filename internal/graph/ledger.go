package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bedplate/bedplate/internal/fault"
)

// LedgerAnnotation of an owner holds what was made for it outside.
const LedgerAnnotation = "bedplate.dev/ledger"

type entryState string

const (
	// statePending: seen absent, then attempted by us; whether it exists now isn't known.
	statePending entryState = "pending"
	// stateRefused: the service has definitely not made it.
	stateRefused entryState = "refused"
	// stateBound: id is the resource.
	stateBound entryState = "bound"
)

// entry is what the ledger says of one key. It is enough to find and delete the resource without the spec.
type entry struct {
	Kind      string     `json:"kind"`
	Condition string     `json:"condition"`
	After     []string   `json:"after,omitempty"`
	State     entryState `json:"state"`
	ID        string     `json:"id,omitempty"`
	// Title is the name outside that the claim gave.
	Title string `json:"title,omitempty"`
	Token string `json:"token,omitempty"`
	// Params are the choices made for the attempt.
	Params map[string]string `json:"params,omitempty"`
	// At is when the resource was attempted or refused.
	At *metav1.Time `json:"at,omitempty"`
	// Refusal, Message and Generation say why it was refused, and to which generation of the owner.
	Refusal    fault.Class `json:"refusal,omitempty"`
	Message    string      `json:"message,omitempty"`
	Generation int64       `json:"generation,omitempty"`
	// Foreign: the user's own, never deleted.
	Foreign bool `json:"foreign,omitempty"`
	// Applied are the changes that were made last, and when.
	Applied   string       `json:"applied,omitempty"`
	AppliedAt *metav1.Time `json:"appliedAt,omitempty"`
	// InEffect: the service said so, since the last changes.
	InEffect bool `json:"inEffect,omitempty"`
	// GoneAt is when it was first seen to be gone, where that has to last to count.
	GoneAt *metav1.Time `json:"goneAt,omitempty"`
}

// ledger is the content of LedgerAnnotation.
type ledger struct {
	// Object is the namespace/name the ledger was written for.
	Object string `json:"object"`
	// Owner is the ID that everything made outside carries. It is short, because it has to fit into names where an API has
	// no tags, and it isn't the UID, which changes with `clusterctl move`.
	Owner string `json:"owner"`
	// Credentials is the name of what the resources were made with.
	Credentials string            `json:"credentials,omitempty"`
	Entries     map[string]*entry `json:"entries"`
}

// errStale: the owner was read from a cache that lags behind the server. Nothing has been done on the strength of it.
var errStale = errors.New("the object changed meanwhile")

// readLedger reads the ledger of an owner. One that has none gets a new one, which isn't written before it is needed.
func readLedger(owner Owner) (*ledger, error) {
	l, err := parseLedger(owner)
	if err != nil || l != nil {
		return l, err
	}
	if lost := owner.OutsideIDs(); len(lost) > 0 {
		return nil, fault.Invalidf("annotation %s is lost, but there is or was %s: put the annotation back; or delete that yourself, "+
			"and then the finalizer here", LedgerAnnotation, strings.Join(lost, ", "))
	}
	return newLedger(owner), nil
}

// ownerIDLength is short enough for names of resources where an API has no tags.
const ownerIDLength = 12

// IsOwnerID reports whether a text may be an owner's ID.
func IsOwnerID(text string) bool {
	return len(text) == ownerIDLength && strings.Trim(text, "0123456789abcdef") == ""
}

func newLedger(owner client.Object) *ledger {
	id := strings.ReplaceAll(uuid.NewString(), "-", "")[:ownerIDLength]
	return &ledger{Object: client.ObjectKeyFromObject(owner).String(), Owner: id, Entries: map[string]*entry{}}
}

// parseLedger returns nil for an object without a ledger. An error wants a person: nothing is made, and nothing deleted, on
// the strength of a ledger that can't be used.
func parseLedger(object client.Object) (*ledger, error) {
	text, ok := object.GetAnnotations()[LedgerAnnotation]
	if !ok {
		return nil, nil
	}
	l := &ledger{Entries: map[string]*entry{}}
	if err := json.Unmarshal([]byte(text), l); err != nil {
		return nil, fault.Invalidf("annotation %s can't be read: %w", LedgerAnnotation, err)
	}
	if l.Object != client.ObjectKeyFromObject(object).String() {
		return nil, fault.Invalidf("annotation %s belongs to %s: this object was copied from it; remove the annotation here",
			LedgerAnnotation, l.Object)
	}
	damaged := l.Owner == "" || l.Entries == nil
	for _, e := range l.Entries {
		damaged = damaged || e == nil
	}
	if damaged {
		return nil, fault.Invalidf("annotation %s is damaged: put it back as it was", LedgerAnnotation)
	}
	return l, nil
}

// write stores the ledger in the owner's annotation, on the server and in memory. It fails with errStale where the server
// has another ledger than the one that was read, so what is intended is always intended on the newest one. After a failure
// the ledger in memory is again the one that was read.
func (g *Graph) write(ctx context.Context) error {
	err := g.store(ctx)
	if err == nil {
		return nil
	}
	if before, parseErr := parseLedger(g.owner); parseErr == nil && before != nil {
		g.ledger = before
	} else {
		g.ledger = newLedger(g.owner)
	}
	if apierrors.IsConflict(err) {
		return errStale
	}
	return fmt.Errorf("write the ledger: %w", err)
}

func (g *Graph) store(ctx context.Context) error {
	g.ledger.Credentials = g.credentials
	text, err := json.Marshal(g.ledger)
	if err != nil {
		return err
	}
	err = g.patchLedger(ctx, string(text))
	if !apierrors.IsConflict(err) {
		return err
	}
	// Somebody changed the owner. That is no matter as long as it was neither the ledger nor a deletion.
	newest, readErr := g.readOwner(ctx)
	if readErr != nil {
		return readErr
	}
	known, mine := newest.Annotations[LedgerAnnotation], g.owner.GetAnnotations()[LedgerAnnotation]
	deleted := newest.DeletionTimestamp != nil && g.owner.GetDeletionTimestamp() == nil
	if known != mine || deleted || newest.UID != g.owner.GetUID() {
		return err
	}
	g.owner.SetResourceVersion(newest.ResourceVersion)
	return g.patchLedger(ctx, string(text))
}

func (g *Graph) readOwner(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	kind, err := apiutil.GVKForObject(objectOf(g.owner), g.engine.Client.Scheme())
	if err != nil {
		return nil, err
	}
	newest := &metav1.PartialObjectMetadata{}
	newest.SetGroupVersionKind(kind)
	return newest, g.engine.Live.Get(ctx, client.ObjectKeyFromObject(g.owner), newest)
}

func (g *Graph) patchLedger(ctx context.Context, text string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": g.owner.GetResourceVersion(),
		"annotations":     map[string]string{LedgerAnnotation: text},
	}})
	if err != nil {
		return err
	}
	// The patch goes through a copy: the server's answer would overwrite the status that is being built in memory.
	answer := objectOf(g.owner).DeepCopyObject().(client.Object)
	if err := g.engine.Client.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	g.owner.SetResourceVersion(answer.GetResourceVersion())
	g.owner.SetAnnotations(answer.GetAnnotations())
	return nil
}

func (l *ledger) keys() []string { return slices.Sorted(maps.Keys(l.Entries)) }

// owned are the keys of what isn't the user's own.
func (l *ledger) owned() []string {
	return slices.DeleteFunc(l.keys(), func(key string) bool { return l.Entries[key].Foreign })
}

// dependents of key that the ledger still knows.
func (l *ledger) dependents(key string) []string {
	var found []string
	for _, other := range l.keys() {
		if slices.Contains(l.Entries[other].After, key) {
			found = append(found, other)
		}
	}
	return found
}
