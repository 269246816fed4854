package graph

import (
	"context"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// reconcile one node, unless its service has refused a call or is silent.
func (g *Graph) reconcile(ctx context.Context, n node, report *report) {
	phase, refused := report.stop(n.condition(), n.service())
	if !refused {
		phase = n.reconcile(ctx, g)
	}
	g.phases[n.ref()] = phase
	report.add(n.condition(), n.ref(), n.service(), phase)
}

// reconcile brings one resource a step further.
func (h *Handle[T]) reconcile(ctx context.Context, g *Graph) phases.Phase {
	before, _ := g.firstUnready(h.want.After)
	phase, _ := h.run(ctx, h.wish(before))
	return phase
}

// leave deletes the resource under a key that the spec doesn't ask for, and reports whether it is confirmed gone.
func (k *Kind[T]) leave(ctx context.Context, g *Graph, key string) (gone bool, _ phases.Phase) {
	phase, gone := handleOf(g, k, key).run(ctx, k.unwanted(g, key))
	return gone, phase
}

// handleOf is a handle of a key that is only in the ledger.
func handleOf[T any](g *Graph, k *Kind[T], key string) *Handle[T] {
	return &Handle[T]{g: g, kind: k, want: Want[T]{Key: key}}
}

func (k *Kind[T]) kindName() string  { return k.Name }
func (k *Kind[T]) service() *Service { return k.Service }

// unwanted is the wish that nothing is under a key.
func (k *Kind[T]) unwanted(g *Graph, key string) decide.Wish {
	service := g.engine.service(k.Service)
	var released []string
	if k.Tag == nil {
		released = g.ledger.Released(k.Name)
	}
	return decide.Wish{
		Kind: k.Name, Ledger: g.ledger.Entries, Named: g.named[k.Name], Unnamed: g.unnamed(k.Name, key), Released: released,
		Owner: g.ledger.OwnerID, Key: key, Lies: k.scopeOf(g, key), Within: k.Within, Undeletable: k.Delete == nil,
		Tagged: k.Tag != nil, GoneAfter: k.GoneAfter, Settle: service.Settle,
		Poll: service.Poll, Slowly: service.slowly(), Leads: g.engine.Creates.Leads(), Deleting: g.deleting,
	}
}

func (h *Handle[T]) wish(before string) decide.Wish {
	w := h.kind.unwanted(h.g, h.want.Key)
	w.Wanted, w.Claim, w.Fresh, w.Before, w.IfLost = true, h.want.Claim.decided(), h.fresh(), before, h.want.IfLost
	w.Chooses, w.Updates, w.Again = h.want.Choose != nil, h.want.Update != nil, h.want.Again
	if r := h.want.Repair; r != nil {
		w.Repairs, w.Patience, w.Limits = true, r.After, r.Limits
	}
	w.Unproven = map[string]phases.Phase{}
	for _, o := range h.g.unproven {
		if o.Kind == h.kind.Name {
			w.Unproven[o.ID] = o.phase()
		}
	}
	w.Generation, w.Moved = h.g.owner.GetGeneration()+h.want.Given, h.g.ledger.Moved()
	return w
}

// entry of the ledger; nil if there is none.
func (h *Handle[T]) entry() *ledgerv1.Entry { return h.g.ledger.Entries[h.want.Key] }

// fresh is the entry of a resource before anything is known of it.
func (h *Handle[T]) fresh() ledgerv1.Entry {
	e := ledgerv1.Entry{Kind: h.kind.Name, Condition: h.want.Condition, State: ledgerv1.Refused, Title: h.want.Claim.decided().Title}
	e.After = refs(h.want.After)
	e.Scope = h.kind.around(h.g, h.want.Key, e.After)
	return e
}

func (g *Graph) keyOf(name string, e *ledgerv1.Entry) Key {
	return Key{Owner: g.ledger.OwnerID, Name: name, Token: e.Token, Title: e.Title, Params: e.Params, Scope: e.Scope}
}
