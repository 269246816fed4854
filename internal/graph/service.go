package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Service is one outside API, with an endpoint, limits and outages of its own: one that refuses credentials or doesn't answer stops
// only the nodes of its kinds. Zero fields default to the Engine's.
type Service struct {
	// Endpoint is its address: creates at the same endpoint share a limit, whatever their credentials. By default it is the
	// credentials.
	Endpoint string
	// Account is the one that the credentials lead to, of a service where those of another account find nothing of what was made here.
	// Optional; the same for all services of a graph.
	Account func(context.Context) (string, error)
	// Creates limits the concurrent creates at the endpoint.
	Creates int
	// Poll, CreateTimeout and Settle are as in Engine. Settle is at least twice CreateTimeout.
	Poll, CreateTimeout, Settle time.Duration
}

// enter the account that the credentials lead to: it has to be that of what the ledger has. A deletion without anything to delete needs none;
// what the owner shows and an older ledger lacks is to be deleted, too.
func (g *Graph) enter(ctx context.Context) error {
	if g.owner.GetDeletionTimestamp() != nil && len(g.ledger.Entries) == 0 && len(ledgers.Lacking(g.ledger.Stored, g.owner)) == 0 {
		return nil
	}
	for _, k := range g.kinds {
		if s := k.service(); s != nil && s.Account != nil {
			account, err := s.Account(ctx)
			if err != nil {
				return fmt.Errorf("ask for the account: %w", err)
			}
			return g.ledger.Enter(account)
		}
	}
	return nil
}

// inside stands for Kubernetes, which gates read. Several stands for all services that were searched.
var inside, several = &Service{}, &Service{}

// service with defaults for its zero fields.
func (e *Engine) service(s *Service) Service {
	var all Service
	if s != nil {
		all = *s
	}
	all.Poll, all.CreateTimeout = cmp.Or(all.Poll, e.Poll), cmp.Or(all.CreateTimeout, e.CreateTimeout)
	all.Settle = max(cmp.Or(all.Settle, e.Settle), 2*all.CreateTimeout)
	return all
}

// slowly is how often something is polled that won't change by itself soon.
func (s Service) slowly() time.Duration { return 10 * s.Poll }

// ask calls a service, unless a call has timed out in this reconcile: then it returns that error.
func (g *Graph) ask(s *Service, call func() error) error {
	if err := g.stopped[s]; err != nil {
		return err
	}
	err := call()
	if errors.Is(err, context.DeadlineExceeded) {
		g.stopped[s] = err
	}
	return err
}

// attempt gives a create the time that is left of its deadline. The deadline counts from the written intention: a process
// that was suspended in between must not send a create that another process may have settled already.
func (e *Engine) attempt(ctx context.Context, intended *ledgerv1.Entry, timeout time.Duration) (context.Context, context.CancelFunc, error) {
	if timeout == 0 {
		return ctx, func() {}, nil
	}
	held := max(e.Clock.Now().Sub(intended.At.Time), 0)
	// The service needs the rest of the time to answer: it may continue with a request that its client has given up.
	if most := timeout / 5; held > most {
		return nil, nil, &fault.Error{Class: fault.Transient, Err: fmt.Errorf(
			"not sent, because this process was held up for more than %s: it is tried again", most)}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout-held)
	return ctx, cancel, nil
}
