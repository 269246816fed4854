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

	"github.com/bedplate/bedplate/internal/fault"
)

const (
	// LedgerAnnotation of an owner holds what was made for it outside.
	LedgerAnnotation = "bedplate.dev/ledger"
	// OwnerAnnotation holds the ID that is put on everything made outside.
	OwnerAnnotation = "bedplate.dev/owner-id"
)

type entryState string

const (
	// statePending: seen absent, then attempted by us; whether it exists now isn't known.
	statePending entryState = "pending"
	// stateRefused: the service has definitely not made it; the same token serves the next attempt.
	stateRefused entryState = "refused"
	// stateBound: id is the resource.
	stateBound entryState = "bound"
)

// entry is what the ledger says of one key. It is enough to find and delete the resource without the spec.
type entry struct {
	Kind      string       `json:"kind"`
	Condition string       `json:"condition"`
	After     []string     `json:"after,omitempty"`
	State     entryState   `json:"state"`
	ID        string       `json:"id,omitempty"`
	Token     string       `json:"token,omitempty"`
	At        *metav1.Time `json:"at,omitempty"`
	// Foreign: the user's own, never deleted.
	Foreign bool `json:"foreign,omitempty"`
}

// ledger is the content of LedgerAnnotation.
type ledger struct {
	// Object is the namespace/name the ledger was written for.
	Object  string            `json:"object"`
	Entries map[string]*entry `json:"entries"`
}

// errStale: the owner was read from a cache that lags behind the server. Nothing has been done on the strength of it.
var errStale = errors.New("the object changed meanwhile")

func readLedger(owner client.Object) (*ledger, error) {
	name := client.ObjectKeyFromObject(owner).String()
	l := &ledger{Object: name, Entries: map[string]*entry{}}
	text, ok := owner.GetAnnotations()[LedgerAnnotation]
	if !ok {
		return l, nil
	}
	if err := json.Unmarshal([]byte(text), l); err != nil {
		return nil, unusable("annotation %s can't be read: %w", LedgerAnnotation, err)
	}
	if l.Object != name {
		return nil, unusable("annotation %s belongs to %s: this object was copied from it; remove the annotations %s and %s here",
			LedgerAnnotation, l.Object, LedgerAnnotation, OwnerAnnotation)
	}
	if l.Entries == nil {
		l.Entries = map[string]*entry{}
	}
	if len(l.Entries) > 0 && owner.GetAnnotations()[OwnerAnnotation] == "" {
		return nil, unusable("annotation %s is missing, and what is outside can't be found without it: put it back", OwnerAnnotation)
	}
	return l, nil
}

// unusable wants a person: nothing is made, and nothing deleted, on the strength of such a ledger.
func unusable(format string, args ...any) error {
	return &fault.Error{Class: fault.Invalid, Err: fmt.Errorf(format, args...)}
}

// write stores the ledger in the owner's annotation, on the server and in memory. It fails with errStale where the server
// has another ledger than the one that was read, so what is intended is always intended on the newest one.
func (g *Graph) write(ctx context.Context) error {
	text, err := json.Marshal(g.ledger)
	if err != nil {
		return fmt.Errorf("encode the ledger: %w", err)
	}
	if g.ownerID == "" {
		g.ownerID = newOwnerID()
	}
	before := g.owner.GetAnnotations()[LedgerAnnotation]
	err = g.patchLedger(ctx, string(text))
	if apierrors.IsConflict(err) {
		// Somebody changed the owner. That is no matter as long as it wasn't the ledger.
		newest := g.owner.DeepCopyObject().(client.Object)
		if err := g.engine.Live.Get(ctx, client.ObjectKeyFromObject(g.owner), newest); err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		if newest.GetAnnotations()[LedgerAnnotation] != before || newest.GetUID() != g.owner.GetUID() {
			return errStale
		}
		g.owner.SetResourceVersion(newest.GetResourceVersion())
		err = g.patchLedger(ctx, string(text))
	}
	if apierrors.IsConflict(err) {
		return errStale
	}
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

func (g *Graph) patchLedger(ctx context.Context, text string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": g.owner.GetResourceVersion(),
		"annotations":     map[string]string{LedgerAnnotation: text, OwnerAnnotation: g.ownerID},
	}})
	if err != nil {
		return err
	}
	// The patch goes through a copy: the server's answer would overwrite the status that is being built in memory.
	answer := g.owner.DeepCopyObject().(client.Object)
	if err := g.engine.Client.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	g.owner.SetResourceVersion(answer.GetResourceVersion())
	g.owner.SetAnnotations(answer.GetAnnotations())
	return nil
}

// newOwnerID is short because it has to fit into names where an API has no tags.
func newOwnerID() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:12] }

func (l *ledger) keys() []string { return slices.Sorted(maps.Keys(l.Entries)) }

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
