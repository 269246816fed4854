package graph

import (
	"context"
	"errors"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// Behind makes a call that changes a resource and that its service takes long to answer, such as an Update: no worker waits for it, as for a
// create, and it takes a turn among those. Until it is answered the error is Busy; the answer enqueues the owner, and is returned to the next
// call with the same token, which says what is changed to what. A call that is lost with its process is made again.
func (h *Handle[T]) Behind(ctx context.Context, token string, call func(context.Context) error) error {
	pool, service := h.g.engine.Creates, h.g.engine.service(h.kind.Service)
	answer, known := pool.Answer(token)
	if !known {
		credentials := strings.Join(h.g.credentials, ",")
		turn, free := pool.Turn(creates.Place{
			Endpoint: service.Endpoint, Most: service.Creates, Owner: sleeperOf(h.g.owner), Credentials: credentials, Key: h.want.Key,
		})
		if !free {
			return &fault.Error{Class: fault.Busy, Err: errors.New("the change of " + h.want.Key + " waits for its turn")}
		}
		defer turn.End()
		answer = turn.Run(ctx, token, func(ctx context.Context) (any, error) {
			if service.CreateTimeout > 0 {
				bounded, cancel := context.WithTimeout(ctx, service.CreateTimeout)
				defer cancel()
				ctx = bounded
			}
			return nil, call(ctx)
		})
	}
	if answer.Running {
		return &fault.Error{Class: fault.Busy, Err: errors.New(h.want.Key + " is being changed: the service hasn't answered yet")}
	}
	return answer.Err
}
