package graph

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// Resource is a line of an owner's ledger, for people.
type Resource struct {
	// Key within the owner's graph, such as "subnet/worker".
	Key string `json:"key"`
	// Kind of the resource, such as "subnet".
	Kind string `json:"kind"`
	// ID outside; empty while it isn't known.
	ID string `json:"id,omitempty"`
	// Scope is what it lies in, for a kind that can't be asked for without.
	Scope Scope `json:"scope,omitempty"`
	// Own is false for what is the user's, and never deleted.
	Own bool `json:"own"`
}

// Resources lists what a ledger says was made or taken, sorted by key; nothing without a ledger.
func Resources(l *ledgerv1.Ledger) (resources []Resource) {
	if l == nil {
		return nil
	}
	all := ledgerFrom(l)
	for _, key := range all.keys() {
		e := all.Entries[key]
		resources = append(resources, Resource{Key: key, Kind: e.Kind, ID: e.ID, Scope: e.Scope, Own: !e.Foreign})
	}
	return resources
}

// OwnsNothing reports whether nothing of an owner would have to be deleted: then it can go without its credentials, or
// whatever else a graph needs. What spec or status show and the ledger doesn't know counts: that ledger is an older one, or lost.
func OwnsNothing(ctx context.Context, c client.Reader, scheme *runtime.Scheme, owner Owner) (bool, error) {
	l, err := LedgerOf(ctx, c, scheme, owner)
	if err != nil {
		return false, err
	}
	return ownsNothing(l) && len(lacking(l, owner)) == 0, nil
}

// OwnsNothing reads from the cache. For an owner that is being deleted that isn't enough to let it go.
func (e *Engine) OwnsNothing(ctx context.Context, owner Owner) (bool, error) {
	nothing, err := OwnsNothing(ctx, e.Client, e.Client.Scheme(), owner)
	if err != nil || !nothing || owner.GetDeletionTimestamp() == nil {
		return nothing, err
	}
	return OwnsNothing(ctx, e.Live, e.Client.Scheme(), owner)
}

// CannotLogIn reports whether an error says that there are no credentials to log in with, or none that the service takes, and not just
// that they couldn't be read. Then an owner of which nothing is known may go.
func CannotLogIn(err error) bool {
	class := fault.ClassOf(err)
	return class == fault.Credentials || class == fault.Invalid
}

// NothingToLookFor reports whether an owner that owns nothing has no ledger, or one which proves that all is gone. Any other may be an
// older one, of before something was made that carries the owner's ID: a deletion looks for that, if it can log in.
func (e *Engine) NothingToLookFor(ctx context.Context, owner Owner) (bool, error) {
	l, err := LedgerOf(ctx, e.Live, e.Client.Scheme(), owner)
	return l == nil || closes(l, owner), err
}
