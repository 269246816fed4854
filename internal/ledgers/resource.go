package ledgers

import (
	"maps"
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// Resource is a line of an owner's ledger, in readable form.
type Resource struct {
	// Key within the owner's graph, such as "subnet/worker".
	Key string `json:"key"`
	// Kind of the resource, such as "subnet".
	Kind string `json:"kind"`
	// ID outside; empty while it isn't known.
	ID string `json:"id,omitempty"`
	// Scope is what it lies in, for a kind that can't be read without.
	Scope ledgerv1.Scope `json:"scope,omitempty"`
	// Own is false for what is the user's, and never deleted.
	Own bool `json:"own"`
}

// Resources lists what a ledger says was created or taken, sorted by key; nothing without a ledger.
func Resources(l *ledgerv1.Ledger) (resources []Resource) {
	if l == nil {
		return nil
	}
	entries := EntriesOf(l)
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		e := entries[key]
		resources = append(resources, Resource{Key: key, Kind: e.Kind, ID: e.ID, Scope: e.Scope, Own: !e.Foreign})
	}
	return resources
}
