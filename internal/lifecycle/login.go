package lifecycle

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
)

// Logins gives the graphs of owners their clients.
type Logins[C any] struct {
	Engine  *graph.Engine
	Clients *credentials.Cache[C]
	// Guard keeps the Secrets that are in use.
	Guard *credentials.Guard
}

// Login is what an owner's graph calls a service with.
type Login[C any] struct {
	API    C
	Secret types.NamespacedName
	// OwnsNothing: nothing of the owner would have to be deleted.
	OwnsNothing bool
}

// Login logs an owner in, with the Secret that secretOf names. Before the first create the Secret is kept. It is nil for a deleted owner
// that can be released: all is gone, or nothing of it is known and no credentials exist to search for more.
func (l *Logins[C]) Login(
	ctx context.Context, owner graph.Owner, secretOf func(context.Context) (types.NamespacedName, error),
) (*Login[C], error) {
	deleted := !owner.GetDeletionTimestamp().IsZero()
	nothing, err := l.Engine.OwnsNothing(ctx, owner)
	if err != nil {
		return nil, err
	}
	if deleted && nothing {
		if over, err := l.Engine.NothingToLookFor(ctx, owner); err != nil || over {
			return nil, err
		}
	}
	secret, err := secretOf(ctx)
	var api C
	if err == nil {
		api, err = l.Clients.Client(ctx, secret)
	}
	if deleted && nothing && graph.CannotLogIn(err) {
		return nil, nil
	}
	if err == nil && nothing && !deleted {
		err = l.Guard.Keep(ctx, secret)
	}
	if err != nil {
		return nil, err
	}
	return &Login[C]{API: api, Secret: secret, OwnsNothing: nothing}, nil
}
