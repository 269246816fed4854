package graph

import (
	"cmp"
	"context"
	"errors"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/decide"
)

// errUnanswered says that a change was begun, or is to be, and isn't done.
var errUnanswered = errors.New("the service hasn't answered yet")

// Behind makes a call that changes a resource and that its service takes long to answer, such as an Update: no worker waits for it,
// as for a create, and it takes a turn among those. Until it is answered the error is Busy; the answer enqueues the owner, and is
// returned to the next call. There is one at a time for each key: with another token, which says what is changed to what, a call is
// made after the answer to the one before. A call that is lost with its process is made again.
func (h *Handle[T]) Behind(ctx context.Context, token string, call func(context.Context) error) error {
	pool, timeout := h.g.engine.Creates, h.g.engine.service(h.kind.Service).CreateTimeout
	answer, known := pool.Answer(h.changing())
	if of, is := answer.Object.(string); !known || is && of != token {
		turn, free := pool.Turn(h.place())
		if !free {
			return &fault.Error{Class: fault.Busy, Op: "change " + h.want.Key + ", which waits for its turn", Err: errUnanswered}
		}
		defer turn.End()
		answer = turn.Run(ctx, h.changing(), func(ctx context.Context) (any, error) {
			if timeout > 0 {
				bounded, cancel := context.WithTimeout(ctx, timeout)
				defer cancel()
				ctx = bounded
			}
			return token, call(ctx)
		})
	}
	if answer.Running {
		return &fault.Error{Class: fault.Busy, Op: "change " + h.want.Key, Err: errUnanswered}
	}
	return answer.Err
}

// changing is what the pool knows a change of the resource by.
func (h *Handle[T]) changing() string { return string(h.g.owner.GetUID()) + "/" + h.want.Key }

// change what isn't as wanted. As long as that is unanswered, it isn't noted as tried.
func (r *round[T]) change(ctx context.Context, s decide.Step) error {
	before := r.entry()
	if err := r.write(ctx, s); err != nil {
		return err
	}
	r.sight.Applied = true
	err := r.update.Apply(ctx)
	if s.Entry != nil && errors.Is(err, errUnanswered) {
		return cmp.Or(r.write(ctx, decide.Step{Verb: decide.Note, Entry: before}), err)
	}
	return err
}
