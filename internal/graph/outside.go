package graph

import "sigs.k8s.io/controller-runtime/pkg/client"

// Resource is a line of an owner's ledger, for people.
type Resource struct {
	// Key within the owner's graph, such as "subnet/worker".
	Key string `json:"key"`
	// Kind of the resource, such as "subnet".
	Kind string `json:"kind"`
	// ID outside; empty while it isn't known.
	ID string `json:"id,omitempty"`
	// Own is false for what is the user's, and never deleted.
	Own bool `json:"own"`
}

// Resources lists what the ledger of an object says was made or taken for it, sorted by key. An object without a ledger
// has none.
func Resources(object client.Object) ([]Resource, error) {
	l, err := parseLedger(object)
	if l == nil {
		return nil, err
	}
	var resources []Resource
	for _, key := range l.keys() {
		e := l.Entries[key]
		resources = append(resources, Resource{Key: key, Kind: e.Kind, ID: e.ID, Own: !e.Foreign})
	}
	return resources, nil
}

// Credentials names what the resources of an object were made with, so that they can be deleted when nothing else says so
// any more. It is empty for an object without a ledger.
func Credentials(object client.Object) string {
	l, err := parseLedger(object)
	if err != nil || l == nil {
		return ""
	}
	return l.Credentials
}

// OwnerID is what everything that was made for an owner carries outside; empty where nothing was attempted yet. The error is
// a ledger that can't be used: then nobody knows what is the owner's.
func OwnerID(owner Owner) (string, error) {
	l, err := readLedger(owner)
	if err != nil {
		return "", err
	}
	if _, written := owner.GetAnnotations()[LedgerAnnotation]; !written {
		return "", nil
	}
	return l.Owner, nil
}
