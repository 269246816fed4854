package orphans

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// System is what has to be known of a system: the objects that own something, and what is seen with a login.
type System struct {
	// Help says which objects these are, and what is known by which tag.
	Help   string
	Owners []*OwnerKind
	// Connect turns Secrets into accounts.
	Connect func(Access) func(*corev1.Secret) (Account, error)
}

// Access is what a system connects with.
type Access struct {
	// Reader of the management cluster.
	client.Reader
	// Egress says where Secrets may lead to.
	Egress egress.Policy
	// GlobalNamespace is that of Options.
	GlobalNamespace string
}

// Account is what is seen of a service with the credentials of one Secret.
type Account interface {
	// String names the account: logins with the same name see the same.
	String() string
	// ID of the account, as ledgers have it; empty where they don't say it.
	ID() string
	// SiteID of a site that is named by its ID or its name.
	SiteID(ctx context.Context, site string) (string, error)
	// Kinds are those of everything that Bedplate may have made, and of what lies in it.
	Kinds() []AnyKind
}

// Stage is the order in which the resources of one owner are deleted.
type Stage int

// Kind is one kind of resource. What the graph knows of it isn't repeated here.
type Kind[T any] struct {
	*graph.Kind[T]
	Stage Stage
	// List returns all of a site; of all sites if that is empty. A partial result is an error. A kind without tags has none: of that, only
	// what the ledger of an object has made that is gone is read, one by one.
	List func(ctx context.Context, site string) ([]T, error)
	// Read says what the graph doesn't know.
	Read func(*T) Item
	// Labelled reports whether the tag is in labels, which only Bedplate writes. In a name it may be by chance.
	Labelled bool
	// Part is what it is called as a part of another resource, such as "peering", if it has no tag and is judged by that of the
	// other one.
	Part string
}

// AnyKind is a Kind of any type.
type AnyKind interface {
	items(ctx context.Context, site string) ([]item, error)
	left(ctx context.Context, r ledgers.Resource, owner string) ([]item, error)
}

// Item is what is read of a resource.
type Item struct {
	Name, SiteID string
	// Scope that it is read and deleted in.
	Scope  graph.Scope
	Status string
	// Deleting reports whether it is being deleted.
	Deleting bool
	// Uses are the IDs of what has to outlive it.
	Uses []string
	// Gives is the ID of what is deleted with it.
	Gives string
}

// item is a resource outside, ours or not.
type item struct {
	Item
	kind  string
	stage Stage
	id    string
	// tag is that of its labels; if labelled is false, its name read as a tag.
	tag      graph.Tag
	labelled bool
	part     string

	// account that it was seen in, with which Secret.
	account, secret string
	get             func(context.Context) (item, error)
	remove          func(context.Context) error
}

func (i item) String() string {
	if i.Name == "" {
		return fmt.Sprintf("%s %s", i.kind, i.id)
	}
	return fmt.Sprintf("%s %s (%s)", i.kind, i.Name, i.id)
}

func (k Kind[T]) items(ctx context.Context, site string) ([]item, error) {
	if k.List == nil {
		return nil, nil
	}
	list, err := k.List(ctx, site)
	if err != nil {
		return nil, err
	}
	var all []item
	for n := range list {
		all = append(all, k.item(&list[n]))
	}
	return all, nil
}

// left is what a ledger has made, if it is of this kind and exists: none or one. The ledger is what says whose it is.
func (k Kind[T]) left(ctx context.Context, r ledgers.Resource, owner string) ([]item, error) {
	if k.List != nil || r.Kind != k.Name || !r.Own || r.ID == "" {
		return nil, nil
	}
	object, err := k.Get(ctx, r.ID, r.Scope)
	if fault.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	kind, read := *k.Kind, k.Read
	kind.Tag = func(*T) graph.Tag { return graph.Tag{Owner: owner, Key: r.Key} }
	k.Kind, k.Labelled = &kind, true
	k.Read = func(object *T) Item {
		i := read(object)
		i.Scope = r.Scope
		i.Uses = slices.AppendSeq(i.Uses, maps.Values(r.Scope)) // what it lies in
		return i
	}
	return []item{k.item(object)}, nil
}

func (k Kind[T]) item(object *T) item {
	i := item{Item: k.Read(object), kind: k.Name, stage: k.Stage, id: k.ID(object), labelled: k.Labelled, part: k.Part}
	if k.Tag != nil {
		i.tag = k.Tag(object)
	}
	i.remove = func(ctx context.Context) error { return k.Delete(ctx, i.id, i.Scope) }
	i.get = func(ctx context.Context) (item, error) {
		now, err := k.Get(ctx, i.id, i.Scope)
		if err != nil {
			return item{}, err
		}
		return k.item(now), nil
	}
	return i
}

// leftBy is what has no tags and was made for an object of which only the ledger is left, with a Secret that this names.
func leftBy(ctx context.Context, account Account, gone living, secret string) (all []item, _ error) {
	if gone.forsaken == nil || !slices.Contains(gone.forsaken.Spec.Credentials, secret) {
		return nil, nil
	}
	for _, key := range slices.Sorted(maps.Keys(gone.ledger)) {
		for _, k := range account.Kinds() {
			found, err := k.left(ctx, gone.ledger[key], gone.owner)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// world returns everything at a site that Bedplate may have made, and what lies in it; at all sites if that is empty. A
// partial result is an error.
func world(ctx context.Context, account Account, site string) ([]item, error) {
	var all []item
	for _, k := range account.Kinds() {
		found, err := k.items(ctx, site)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
