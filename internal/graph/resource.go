package graph

import (
	"context"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// reconcile one node, unless its service has refused a call or is silent.
func (g *Graph) reconcile(ctx context.Context, n *node, report *report) {
	phase, refused := report.stop(n.condition, n.service)
	before := g.firstUnready(n.after)
	switch {
	case refused:
	case before != "" && n.service == inside:
		phase = phases.WaitsFor(before)
	default:
		phase = n.reconcile(ctx, before)
	}
	g.phases[n.key] = phase
	if phase.State != "" || g.wants(n.key) { // otherwise it has left the ledger
		report.add(n.condition, n.key, n.service, phase)
	}
}

func (h *Handle[T]) node() *node {
	claim := h.want.Claim
	n := &node{
		key: h.want.Key, condition: h.want.Condition, after: h.want.After, service: h.kind.Service, kind: h.kind.Name,
		made: !claim.claim.Uses, named: claim.claim.ID, reconcile: h.reconcile, plan: h.plan,
	}
	if claim.resolve != nil && n.named == "" {
		n.recorded = h.recorded
	}
	return n
}

// handleOf is a handle of a key that is only in the ledger.
func handleOf[T any](g *Graph, k *Kind[T], key string) *Handle[T] {
	return &Handle[T]{g: g, kind: k, want: Want[T]{Key: key}}
}

// leftover is what the ledger has under a key that the spec doesn't ask for. It is deleted.
func (k *Kind[T]) leftover(g *Graph, key string) *node {
	n := handleOf(g, k, key).node()
	n.condition = g.ledger.Entries[key].Condition
	return n
}

func (k *Kind[T]) kindName() string  { return k.Name }
func (k *Kind[T]) service() *Service { return k.Service }

// wish is what the spec says of a key, which may be that it is to be gone, and what the kind and the engine add to that. Before is what it
// comes after that isn't ready.
func (h *Handle[T]) wish(before string) decide.Wish {
	g, k, key := h.g, h.kind, h.want.Key
	service := g.engine.service(k.Service)
	w := decide.Wish{
		Kind: k.Name, Ledger: g.ledger.Entries, Named: g.named(k.Name), Unnamed: g.unnamed(k.Name, key),
		Owner: g.ledger.OwnerID, New: g.ledger.Fresh, Key: key, Lies: k.scopeOf(g, key), Within: k.Within, Undeletable: k.Delete == nil,
		Tagged: k.Tag != nil, GoneAfter: k.GoneAfter, Settle: service.Settle,
		Poll: service.Poll, Slowly: service.slowly(), Leads: g.engine.Creates.Leads(), Deleting: g.ledger.Leaving,
	}
	if k.Tag == nil {
		w.Released = g.ledger.Released(k.Name)
	}
	if !g.wants(key) {
		return w
	}
	w.Wanted, w.Claim, w.Fresh, w.Before, w.IfLost = true, h.want.Claim.decided(), h.fresh(), before, h.want.IfLost
	w.Chooses, w.Updates, w.Again = h.want.Choose != nil, h.want.Update != nil, h.want.Again
	if r := h.want.Repair; r != nil {
		w.Repairs, w.Patience, w.Limits = true, r.After, r.Limits
	}
	w.Unproven = map[string]phases.Phase{}
	for _, o := range g.unproven {
		if o.Kind == k.Name {
			w.Unproven[o.ID] = o.phase()
		}
	}
	w.Generation, w.Moved = g.owner.GetGeneration()+h.want.Given, g.ledger.Moved()
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
