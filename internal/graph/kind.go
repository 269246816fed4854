package graph

import (
	"context"
	"time"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Kind is one sort of outside resource. It works from the ledger alone, without the spec, so that deletion and lookups
// don't need one.
type Kind[T any] struct {
	// Name in the ledger and in messages, such as "VPC".
	Name string
	// ID of a resource.
	ID func(*T) string
	// Tag that a resource carries; the zero Tag where it carries none of ours. A Kind of an API that has no room for tags, not
	// even in names, has none: then a resource is ours if the ledger says that we tried to make it.
	Tag func(*T) Tag
	// Within names the kinds of what a resource lies in and can't be asked for without, such as "site": the parts of its Scope. By
	// default it lies in those of them that it comes after. The ledger keeps it: what was made stays where it is.
	Within []string
	// Scope is that of something of another owner's which the resource under a key lies in; without a key, of all that may lie in
	// it. Optional.
	Scope func(key string) Scope
	// Get looks a resource up. The error's class is fault.NotFound only where that is proven.
	Get func(ctx context.Context, id string, in Scope) (*T, error)
	// Find looks in the scope of key for resources that may be the one of key: by its tag, and by its Title where it has one. It may return others
	// with other tags, because the engine compares those; it must not return others with other titles. A deletion looks for strays by
	// it: it returns all in that scope that carry the owner's ID.
	// A Kind of which only the user's own resources are used has none.
	Find func(ctx context.Context, key Key) ([]T, error)
	// Phase a resource is in.
	Phase func(*T) phases.Phase
	// Delete asks for a resource to be deleted; the engine polls Get until it is gone.
	Delete func(ctx context.Context, id string, in Scope) error
	// Service that makes the resources. Kinds without one share one.
	Service *Service
	// Site is one of Within which may hang alone, if there is one: creates at a site that isn't known to answer leave a turn to the
	// others.
	Site string
	// GoneAfter is how long a resource has to stay away before it counts as gone, where a service brings deleted ones back.
	GoneAfter time.Duration
}

// Key says which resource of which owner is meant.
type Key struct {
	// Owner is an ID made for the owning object; it outlives `clusterctl move`, which a UID doesn't.
	Owner string
	// Name within the owner's graph, such as "subnet/worker".
	Name string
	// Token is a UUID made for the attempt to create the resource; empty before the first.
	Token string
	// Title is the resource's name outside, where the claim is UseOrCreate or CreateNamed; otherwise the Kind makes names of its own.
	Title string
	// Params are what the Want chose for the attempt; empty before the first.
	Params map[string]string
	// Scope is what the resource lies in.
	Scope Scope
}

// What a system says of its resources, and the decision and the ledger know too.
type (
	// Scope is what a resource lies in: IDs by the names of their kinds.
	Scope = ledgerv1.Scope
	// Tag is what a resource carries to be found again.
	Tag = decide.Tag
	// Change is one difference between what is and what is wanted, for people.
	Change = decide.Change
	// Limits of how often a remedy is tried.
	Limits = decide.Limits
)

// Claim says how a Want gets its resource.
type Claim struct {
	claim decide.Claim
	// resolve looks up what is the user's own.
	resolve func(context.Context) (id string, err error)
}

// Create makes the resource, and deletes it in the end. It is the zero Claim.
func Create() Claim { return Claim{} }

// Use takes a resource of the user's own. It is never changed and never deleted.
func Use(id string) Claim {
	return Claim{claim: decide.Claim{Uses: true, ID: id}, resolve: func(context.Context) (string, error) { return id, nil }}
}

// UseFound takes a resource of the user's own that has to be looked for. That happens once: the ledger keeps the answer.
func UseFound(resolve func(context.Context) (id string, err error)) Claim {
	return Claim{claim: decide.Claim{Uses: true}, resolve: resolve}
}

// UseOrCreate takes the resource that has this name outside, as the user's own; where there is none, it makes one, and
// deletes that in the end.
func UseOrCreate(title string) Claim { return Claim{claim: decide.Claim{Title: title}} }

// CreateNamed makes the resource under a name that the spec gives, and deletes it in the end. What had the name before is a
// conflict, and isn't touched.
func CreateNamed(title string) Claim { return Claim{claim: decide.Claim{Title: title, Made: true}} }

// Want is one resource that an owner's spec asks for.
type Want[T any] struct {
	// Key within the graph, such as "vpc" or "subnet/worker".
	Key string
	// Condition of the owner that reports on it. Several wants may share one.
	Condition string
	// After lists what must be ready before the resource can be looked for and created.
	After []Ref
	// Claim is Create, CreateNamed, Use, UseFound or UseOrCreate.
	Claim Claim
	// Choose decides, once for each attempt, what must not be decided anew while its outcome is unknown, such as a zone among
	// those that are up. The ledger keeps the answer. Of what exists, because it is the user's own or the ledger is an older one, it
	// is asked once too, and gets it; otherwise existing is nil. Optional.
	Choose func(ctx context.Context, existing *T) (params map[string]string, err error)
	// Create prepares the call that makes the resource with the tag of key: it reads whatever is needed, and an error of its
	// own means that nothing was attempted. Not needed with Use.
	Create func(ctx context.Context, key Key) (Call[T], error)
	// Lock names what the service locks while it makes the resource, such as its instance type: creates with the same lock at
	// the same endpoint go one after the other. It is asked when what the resource comes after is ready. Optional.
	Lock func() string
	// Update says what isn't as the spec wants it, and how to make it so. It makes no call: Plan and the repair of drift both use
	// it. Optional, and never used for what is the user's own.
	Update func(*T) Update
	// Again applies an Update once more, without changes, when the last ones have settled: for a service that may undo them at
	// work on what it knew before, and go on showing them.
	Again bool
	// InEffect reports whether the service says that a resource does what it is for. Not every one ever says so; where it did
	// and does no more, an Update is applied once, without changes. It goes with Again.
	InEffect func(*T) bool
	// Repair is what to do when it isn't ready and won't be by itself. Optional, and never used for what is the user's own.
	Repair *Repair[T]
	// IfLost is what a person has to do when somebody else has deleted the resource; empty where it is made again.
	IfLost string
}

// Repair brings back a resource that isn't ready. If it isn't as the spec wants it, that is tried first, by an Update.
type Repair[T any] struct {
	// After is how long it may be on its way until it counts as failed; 0 is without end.
	After time.Duration
	// Remedy is a call that may help. The engine looks at the resource again afterwards. It may happen that it is made twice.
	Remedy func(ctx context.Context, object *T) error
	Limits Limits
}

// Call makes a resource. It may go on when the reconcile that began it is over, so it must not touch what a reconcile does.
type Call[T any] func(ctx context.Context) (*T, error)

// Update makes a resource as the spec wants it. The zero Update is that of one which is.
type Update struct {
	// Changes that it makes.
	Changes []Change
	// Apply makes them. The engine looks at the resource again afterwards.
	Apply func(context.Context) error
	// Refused says why the changes can't be made, and what to do instead. Then nothing is applied.
	Refused error
}
