package orphans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// living is an object of the management cluster that may have something outside.
type living struct {
	kind *OwnerKind
	// name in readable form: KIND NAMESPACE/NAME.
	name, namespace string
	// secret that it logs in with; its name is empty if none is known.
	secret types.NamespacedName
	// owner is the ID that what it has carries; empty if it has nothing.
	owner string
	// ledger by key.
	ledger map[string]ledgers.Resource
	// damage of its ledger: then its resources aren't known.
	damage error
	// forsaken is the ledger, if that is all that is left of the object.
	forsaken *ledgerv1.Ledger
	// text is the spec, to check whether it contains an ID; the whole object if the ledger can't be used.
	text string
}

// uses reports whether the ledger or the text has the ID, as the object's own or the user's.
func (l living) uses(id string) bool {
	for _, r := range l.ledger {
		if r.ID == id {
			return true
		}
	}
	return strings.Contains(l.text, id)
}

// realm is the namespace of its Secret.
func (l living) realm() string { return cmp.Or(l.secret.Namespace, l.namespace) }

// logins are the Secrets in the ledger that is left which lead to its account.
func (l living) logins() []string {
	all := l.forsaken.Spec.Credentials
	if most := l.kind.Logins; most > 0 {
		return all[:min(most, len(all))]
	}
	return all
}

// OwnerKind is a kind of object for which something is made outside.
type OwnerKind struct {
	Name string
	// MayHave reports whether its objects may have a resource of a stage, or name one in their specs.
	MayHave func(Stage) bool
	// Logins is how many of the credentials in a ledger, from the first on, lead to its account; 0 is all. The others are for what is behind it.
	Logins int
	// List returns the objects of all namespaces that count.
	List func(context.Context, client.Reader, Ledgers) ([]Holder, error)
}

// Holder is an object as its kind shows it.
type Holder struct {
	graph.Owner
	// Spec is searched for the IDs that it names.
	Spec any
	// Secret that it logs in with; its name is empty if none is known.
	Secret types.NamespacedName
}

// Holders are the objects that count.
func Holders[T any](objects []T, hold func(*T) (_ Holder, counts bool)) (all []Holder) {
	for i := range objects {
		if h, counts := hold(&objects[i]); counts {
			all = append(all, h)
		}
	}
	return all
}

// claims are those of all living objects.
type claims struct {
	owners []*OwnerKind
	living []living
	// unread are the kinds whose objects can't be listed, and why.
	unread map[*OwnerKind]error
}

// readClaims reads all objects of all namespaces that may have something outside. A kind that the management cluster
// doesn't know has no objects; it is an error if it knows none.
func readClaims(ctx context.Context, c client.Reader, owners []*OwnerKind, global string) (claims, error) {
	all := claims{owners: owners, unread: map[*OwnerKind]error{}}
	known, unreadable := readLedgers(ctx, c)
	known.global = global
	var unknown []error
	for _, kind := range owners {
		found, err := kind.List(ctx, c, known)
		if err == nil && unreadable != nil {
			err = unreadable // then the resources of these aren't known
		}
		switch {
		case meta.IsNoMatchError(err):
			unknown = append(unknown, err)
		case err != nil:
			all.unread[kind] = err
		default:
			for _, h := range found {
				all.living = append(all.living, known.claimOf(kind, h))
			}
		}
	}
	all.living = append(all.living, known.left(owners, all.unread)...)
	if len(unknown) == len(owners) {
		return all, fmt.Errorf("look for the objects that may own something: %w", errors.Join(unknown...))
	}
	return all, nil
}

// secrets that the objects log in with, each once.
func (c claims) secrets() []types.NamespacedName {
	var all []types.NamespacedName
	for _, l := range c.living {
		if l.secret.Name != "" && !slices.Contains(all, l.secret) {
			all = append(all, l.secret)
		}
	}
	return all
}
