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
	// ID of a resource, unique among all resources of the kind at its endpoint, whatever they lie in. A kind without tags gives no ID twice,
	// unless IDs are titles.
	ID func(*T) string
	// Tag that a resource carries; the zero Tag if it carries none of ours. A Kind of an API that has no room for tags, not
	// even in names, leaves it nil: then a resource is ours if the ledger says that we tried to create it.
	Tag func(*T) Tag
	// Within names the kinds of what a resource lies in and can't be read without, such as "site": the parts of its Scope. By
	// default it lies in those of them that it comes after; of several of a kind, in the first. The ledger keeps the scope: a resource stays where it was created.
	Within []string
	// Scope is the scope of another owner's resource that the resource under a key lies in; for an empty key, the scope of all
	// that may lie in it. Optional.
	Scope func(key string) Scope
	// Get reads a resource. The error's class is fault.NotFound only if that is proven.
	Get func(ctx context.Context, id string, in Scope) (*T, error)
	// Find lists resources in the scope of key that may be the one of key: by its tag, and by its Title if it has one. It may return resources
	// with other tags, because the engine compares those; it must not return resources with other titles, nor, if it knows
	// them by titles only, any without one. A deletion finds strays by it: it returns all in that scope that carry the owner's ID. A Kind of which only the user's own resources are used has none.
	Find func(ctx context.Context, key Key) ([]T, error)
	// Phase a resource is in.
	Phase func(*T) phases.Phase
	// Delete requests the deletion of a resource; the engine polls Get until it is gone.
	Delete func(ctx context.Context, id string, in Scope) error
	// Service that creates the resources. Kinds without one share one.
	Service *Service
	// Site is the one of Within that may hang by itself, if there is one: creates at a site that isn't known to answer leave a turn
	// to other sites.
	Site string
	// GoneAfter is how long a resource has to stay absent before it counts as gone, for a service that restores deleted
	// ones.
	GoneAfter time.Duration
}

// Key says which resource of which owner is meant.
type Key struct {
	// Owner is an ID made for the owning object; it outlives `clusterctl move`, which a UID doesn't.
	Owner string
	// Name within the owner's graph, such as "subnet/worker".
	Name string
	// Token is a UUID of the attempt to create the resource; empty before the first.
	Token string
	// Title is the resource's name outside if the claim is UseOrCreate or CreateNamed; otherwise the Kind generates names.
	Title string
	// Params are what the Want chose for the attempt; empty before the first.
	Params map[string]string
	// Scope is what the resource lies in.
	Scope Scope
}

// Types that systems, the decision and the ledger share.
type (
	// Scope is what a resource lies in: IDs by the names of their kinds.
	Scope = ledgerv1.Scope
	// Tag identifies a resource outside, so that it is found again.
	Tag = decide.Tag
	// Change is one difference between the actual and the wanted state, in readable form.
	Change = decide.Change
	// Limits how often a remedy is tried.
	Limits = decide.Limits
)

// Claim is how a Want gets its resource.
type Claim struct {
	claim decide.Claim
	// by is the title, if that is known only when what it comes after is ready.
	by func() string
	// resolve looks up the user's own resource, or checks it if the spec gives its ID.
	resolve func(context.Context) (id string, err error)
}

func (c Claim) decided() decide.Claim {
	if c.by != nil {
		c.claim.Title = c.by()
	}
	return c.claim
}

// Create creates the resource, and deletes it with its owner. It is the zero Claim.
func Create() Claim { return Claim{} }

// Use takes a resource of the user's own. It is never changed and never deleted.
func Use(id string) Claim {
	return UseChecked(id, func(context.Context) (string, error) { return id, nil })
}

// UseFound takes a resource of the user's own that has to be looked up, by what the spec says. That happens once: the ledger keeps the
// answer, until the spec says something else. An error of the class fault.NotFound says that there is none.
func UseFound(by string, resolve func(context.Context) (id string, err error)) Claim {
	return Claim{claim: decide.Claim{Uses: true, Title: by}, resolve: resolve}
}

// UseFoundBy is UseFound with a by that is known when what the resource comes after is ready.
func UseFoundBy(by func() string, resolve func(context.Context) (id string, err error)) Claim {
	return Claim{claim: decide.Claim{Uses: true}, by: by, resolve: resolve}
}

// UseChecked takes the resource of the user's own with the ID that the spec names, if a check, which returns the ID, doesn't fail.
func UseChecked(id string, check func(context.Context) (id string, err error)) Claim {
	return Claim{claim: decide.Claim{Uses: true, ID: id, Title: id}, resolve: check}
}

// UseOrCreate takes the resource that has this name outside, as the user's own; if there is none, it creates one, and
// deletes it with its owner.
func UseOrCreate(title string) Claim { return Claim{claim: decide.Claim{Title: title}} }

// CreateNamed creates the resource under a name from the spec, and deletes it with its owner. An existing resource with
// that name is a conflict, and isn't touched.
func CreateNamed(title string) Claim { return Claim{claim: decide.Claim{Title: title, Made: true}} }

// Want is one resource that an owner's spec asks for.
type Want[T any] struct {
	// Key within the graph, such as "vpc" or "subnet/worker".
	Key string
	// Condition of the owner that reports on it. Several wants may share one.
	Condition string
	// After lists what must be ready before the resource is searched for and created.
	After []Ref
	// Claim is Create, CreateNamed, Use, UseFound or UseOrCreate.
	Claim Claim
	// Choose decides, once for each attempt, what must not be decided again while its outcome is unknown, such as a zone among those
	// that are up. The ledger keeps the answer. It is also called once, with existing set, for a resource that exists already: the
	// user's own, or ours if the ledger is an older one. Optional.
	Choose func(ctx context.Context, existing *T) (params map[string]string, err error)
	// Create prepares the call that creates the resource with the tag of key: it reads whatever is needed, and its own error
	// means that nothing was attempted. Not needed with Use.
	Create func(ctx context.Context, key Key) (Call[T], error)
	// Lock names what the service locks while it creates the resource, such as its instance type: creates with the same lock
	// at the same endpoint run one after the other. It is called when what the resource comes after is ready. Optional.
	Lock func() string
	// Update compares the resource with the spec, and says how to correct it. It makes no call: Plan and drift repair both use
	// it. Optional, and never used for the user's own resources.
	Update func(*T) Update
	// Again applies an Update once more, without changes, when the last ones have settled: for a service that may undo them
	// while it works on an earlier state, and keep showing them.
	Again bool
	// InEffect reports whether the service says that a resource is in effect. Not every resource ever is; if it was and isn't
	// any more, an Update is applied once, without changes. Used together with Again.
	InEffect func(*T) bool
	// Repair is what to do when it isn't ready and won't be by itself. Optional, and never used for the user's own
	// resources.
	Repair *Repair[T]
	// Given is a number that changes with what the resource is made with beside the spec, such as a Secret. What was refused, and what no
	// remedy has helped, is tried again then, as for another spec. Optional.
	Given int64
	// IfLost is what the user has to do when the resource was deleted outside Bedplate; empty if it is created again.
	IfLost string
}

// Repair recovers a resource that isn't ready. If it differs from the spec, an Update is tried first.
type Repair[T any] struct {
	// After is how long it may be in progress, also after a remedy, until it counts as failed; 0 sets no limit.
	After time.Duration
	// Remedy is a call that may help. The engine reads the resource again afterwards. The call may be made twice.
	Remedy func(ctx context.Context, object *T) error
	Limits Limits
}

// Call creates a resource. It may outlive the reconcile that started it, so it must not share state with a reconcile.
type Call[T any] func(ctx context.Context) (*T, error)

// Update makes a resource match the spec. The zero Update means that it does already.
type Update struct {
	// Changes that Apply makes.
	Changes []Change
	// Apply makes the changes. The engine reads the resource again afterwards.
	Apply func(context.Context) error
	// Refused says why the changes can't be made, and what to do instead. Then nothing is applied.
	Refused error
}
