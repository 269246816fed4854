// Package lifecycle takes an owner through one reconcile: its finalizer, its login, its graph, and one write at the end. A controller
// says how its graph is opened.
package lifecycle

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/patch"
)

// Lifecycle is that of all owners of one kind.
type Lifecycle[C any] struct {
	Client client.Client
	Logins[C]
	Finalizer string
	// LoginCondition reports credentials that are missing or refused, GraphCondition a ledger that can't be used, and
	// DeletionCondition what a deletion waits for.
	LoginCondition, GraphCondition, DeletionCondition string
	// StatusFirst: admission compares the spec with the status.
	StatusFirst bool
}

// Steps are what is particular to an owner.
type Steps[C any] struct {
	// Stop reports whether the owner isn't reconciled now, as one that is paused. Nothing is written then.
	Stop func(context.Context) (bool, ctrl.Result, error)
	// Secret names the credentials.
	Secret func(context.Context) (types.NamespacedName, error)
	// Login logs in instead, where one Secret isn't all that it takes.
	Login func(context.Context) (*Login[C], error)
	// Deletable fails as long as a deletion has to wait. Optional.
	Deletable func(context.Context) error
	// Open the graph with what its ledger has.
	Open func(context.Context, *Login[C]) (Graph, error)
	// Show in the status what the conditions say, before it is written. Optional.
	Show func()
}

// Graph of an owner.
type Graph interface {
	// Reconcile makes what the spec asks for, and shows it in the owner.
	Reconcile(context.Context) (ctrl.Result, error)
	// Delete all of it, and remove the finalizer when it is gone.
	Delete(ctx context.Context, finalizer string) (ctrl.Result, error)
}

// Reconcile brings an owner a step further, and writes what has changed in it.
func (l *Lifecycle[C]) Reconcile(ctx context.Context, owner graph.Owner, steps Steps[C]) (ctrl.Result, error) {
	before := owner.DeepCopyObject().(client.Object)
	if stop, result, err := steps.Stop(ctx); stop || err != nil {
		return result, err
	}
	if owner.GetDeletionTimestamp().IsZero() {
		if err := l.Engine.Hold(ctx, owner, l.Finalizer); err != nil {
			return ctrl.Result{}, err
		}
		ledgers.Held(before, owner)
	}
	result, err := l.advance(ctx, owner, steps)
	if steps.Show != nil {
		steps.Show()
	}
	write := patch.All
	if l.StatusFirst {
		write = patch.StatusFirst
	}
	return result, errors.Join(err, write(ctx, l.Client, before, owner))
}

func (l *Lifecycle[C]) advance(ctx context.Context, owner graph.Owner, steps Steps[C]) (ctrl.Result, error) {
	deleted := !owner.GetDeletionTimestamp().IsZero()
	if deleted && steps.Deletable != nil {
		if err := steps.Deletable(ctx); err != nil {
			return l.Engine.Blocked(owner, l.DeletionCondition, err)
		}
	}
	login, err := l.login(ctx, owner, steps)
	switch {
	case err != nil:
		return l.Engine.Blocked(owner, l.LoginCondition, err)
	case login == nil:
		return ctrl.Result{}, l.Engine.Release(ctx, owner, l.Finalizer)
	}
	g, err := steps.Open(ctx, login)
	switch {
	case err != nil:
		return l.Engine.Blocked(owner, l.GraphCondition, err)
	case deleted:
		return g.Delete(ctx, l.Finalizer)
	default:
		return g.Reconcile(ctx)
	}
}

func (l *Lifecycle[C]) login(ctx context.Context, owner graph.Owner, steps Steps[C]) (*Login[C], error) {
	if steps.Login != nil {
		return l.LoginBy(ctx, owner, steps.Login)
	}
	return l.Login(ctx, owner, steps.Secret)
}
