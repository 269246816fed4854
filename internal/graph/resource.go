package graph

import (
	"context"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"slices"
)

// ReasonLost is that of a resource which is proven to be gone, and isn't made again.
const ReasonLost = "Lost"

// reconcile brings one resource a step further.
func (h *Handle[T]) reconcile(ctx context.Context, g *Graph) phases.Phase {
	before, _ := g.firstUnready(h.want.After)
	phase, _ := h.run(ctx, h.wish(before))
	return phase
}

// leave takes the resource under a key away that the spec doesn't ask for, and says whether it is confirmed gone.
func (k *Kind[T]) leave(ctx context.Context, g *Graph, key string) (gone bool, _ phases.Phase) {
	phase, gone := handleOf(g, k, key).run(ctx, k.unwanted(g, key))
	return gone, phase
}

// handleOf is a handle of a key that only the ledger knows.
func handleOf[T any](g *Graph, k *Kind[T], key string) *Handle[T] {
	return &Handle[T]{g: g, kind: k, want: Want[T]{Key: key}}
}

func (k *Kind[T]) kindName() string  { return k.Name }
func (k *Kind[T]) service() *Service { return k.Service }

// unwanted is the wish that nothing is under a key.
func (k *Kind[T]) unwanted(g *Graph, key string) wish {
	service := g.engine.service(k.Service)
	return wish{
		owner: g.ledger.Owner, key: key, lies: k.scopeOf(g, key), within: k.Within, undeletable: k.Delete == nil,
		tagged: k.Tag != nil, goneAfter: k.GoneAfter, settle: service.Settle,
		poll: service.Poll, slowly: service.slowly(), leads: g.engine.Creates.Leads(), deleting: g.deleting,
	}
}

func (h *Handle[T]) wish(before string) wish {
	w := h.kind.unwanted(h.g, h.want.Key)
	w.wanted, w.claim, w.fresh, w.before, w.ifLost = true, h.want.Claim.claim, h.fresh(), before, h.want.IfLost
	w.chooses, w.updates, w.again = h.want.Choose != nil, h.want.Update != nil, h.want.Again
	if r := h.want.Repair; r != nil {
		w.repairs, w.patience, w.limits = true, r.After, r.Limits
	}
	for _, o := range h.g.unproven {
		if o.Kind == h.kind.Name {
			w.unproven = o.phase()
		}
	}
	w.generation, w.moved = h.g.owner.GetGeneration(), !slices.Equal(h.g.ledger.Credentials, h.g.credentials)
	return w
}

// entry is what the ledger says; nil where it says nothing.
func (h *Handle[T]) entry() *entry { return h.g.ledger.Entries[h.want.Key] }

// fresh is the entry of a resource of which nothing is known.
func (h *Handle[T]) fresh() entry {
	e := entry{Kind: h.kind.Name, Condition: h.want.Condition, State: stateRefused, Title: h.want.Claim.claim.title}
	e.After = refs(h.want.After)
	e.Scope = h.kind.around(h.g, h.want.Key, e.After)
	return e
}

func (g *Graph) keyOf(name string, e *entry) Key {
	return Key{Owner: g.ledger.Owner, Name: name, Token: e.Token, Title: e.Title, Params: e.Params, Scope: e.Scope}
}
