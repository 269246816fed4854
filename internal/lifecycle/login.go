package lifecycle

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
)

// Logins gives the graphs of owners their clients.
type Logins[C any] struct {
	Engine *graph.Engine
	// Clients and Guard are for owners whose credentials are one Secret.
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
	// Keep what the login is made of, before the first thing is created with it. Optional.
	Keep func(context.Context) error
}

// Login logs an owner in, with the Secret that secretOf names. Before the first create the Secret is kept. It is nil for a deleted owner
// that can be released: all is gone, or nothing of it is known and no credentials exist to search for more.
func (l *Logins[C]) Login(
	ctx context.Context, owner graph.Owner, secretOf func(context.Context) (types.NamespacedName, error),
) (*Login[C], error) {
	return l.LoginBy(ctx, owner, func(ctx context.Context) (*Login[C], error) {
		secret, err := secretOf(ctx)
		if err != nil {
			return nil, err
		}
		api, err := l.Clients.Client(ctx, secret)
		if err != nil {
			return nil, err
		}
		return &Login[C]{API: api, Secret: secret, Keep: func(ctx context.Context) error { return l.Guard.Keep(ctx, secret) }}, nil
	})
}

// LoginBy is Login where one Secret isn't all that it takes.
func (l *Logins[C]) LoginBy(
	ctx context.Context, owner graph.Owner, logIn func(context.Context) (*Login[C], error),
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
	login, err := logIn(ctx)
	if deleted && nothing && graph.CannotLogIn(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if login.OwnsNothing = nothing; nothing && !deleted && login.Keep != nil {
		if err := login.Keep(ctx); err != nil {
			return nil, err
		}
	}
	return login, nil
}
