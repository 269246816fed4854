package graph

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Seed writes a ledger for an object that has none, from other knowledge: given by hand, or from another provider's status. Without an
// owner ID it gets a new one. If kinds are given, each resource has to exist, and one that is to be ours must not carry the tag of
// another object.
func (e *Engine) Seed(ctx context.Context, owner Owner, ownerID string, credentials []string, kinds []AnyKind, resources ...ledgers.Resource) error {
	g, stored, err := e.unopened(ctx, e.Live, owner, credentials, kinds)
	if err != nil {
		return err
	}
	if stored.Owns() {
		return fmt.Errorf("there is ledger %s already, and it names what exists: add to it with `bedplate ledger adopt`", stored.Name)
	}
	if err := g.begin(stored); err != nil {
		return err
	}
	if stored.IsOf(owner.GetUID()) { // resources that carry that ID may still exist, in that account
		ownerID, g.ledger.Account = cmp.Or(ownerID, stored.Spec.OwnerID), stored.Spec.Account
	}
	if ownerID != "" {
		g.ledger.BelongsTo(ownerID)
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	if err := g.unclaimed(ctx); err != nil {
		return err
	}
	untagged := map[string]string{}
	for _, r := range resources {
		if len(kinds) == 0 {
			break
		}
		id, err := g.verify(ctx, r)
		if err != nil {
			return fmt.Errorf("write the ledger: %w", err)
		}
		untagged[r.Key] = id
	}
	return g.note(ctx, resources, untagged)
}

// verify that a resource to be entered exists, unless all is being deleted, and isn't another object's. Its ID is returned if it is to be
// ours and has no tag that would say so.
func (g *Graph) verify(ctx context.Context, r ledgers.Resource) (untagged string, _ error) {
	o := ledgerv1.OutsideID{Kind: r.Kind, ID: r.ID, Scope: r.Scope}
	if g.kinds[r.Kind] == nil {
		return "", fault.Invalidf("nothing is known of the kind of %s", o)
	}
	tag, _, found, err := g.tagOf(ctx, o)
	switch {
	case err != nil:
		return "", err
	case !found && g.owner.GetDeletionTimestamp().IsZero():
		return "", fault.Invalidf("%s doesn't exist: correct what names it", o)
	case r.Own && tag.Owner != "" && tag.Owner != g.ledger.OwnerID:
		return "", fault.Invalidf("%s carries the tag of another object, %q: it isn't this one's", o, tag.Owner)
	case found && r.Own && tag.Owner == "":
		return r.ID, nil
	}
	return "", nil
}

// AdoptInto adds resources to an object's existing ledger.
func (e *Engine) AdoptInto(ctx context.Context, owner Owner, resources ...ledgers.Resource) error {
	g, stored, err := e.unopened(ctx, e.Live, owner, nil, nil)
	if err != nil {
		return err
	}
	if !stored.IsOf(owner.GetUID()) {
		return fmt.Errorf("there is no ledger of this object: write one with `bedplate ledger seed`")
	}
	g.ledger = e.Open(owner, g.home, stored.Spec.Credentials, stored)
	return g.note(ctx, resources, nil)
}

// note resources in the ledger, and which of what is ours carries no tag: IDs by keys.
func (g *Graph) note(ctx context.Context, resources []ledgers.Resource, untagged map[string]string) error {
	others, err := g.others(ctx)
	if err != nil {
		return err
	}
	for _, r := range resources {
		if err := g.isNoOther(r, others); err != nil {
			return err
		}
		switch known := g.ledger.Entries[r.Key]; {
		case known == nil || known.State == ledgerv1.Refused && !known.Owned():
		case known.State != ledgerv1.Bound && unknown(known.Scope) && !unknown(r.Scope): // what comes of the attempt is searched there
			e := known.DeepCopy()
			e.Scope = r.Scope
			g.ledger.Entries[r.Key] = e
			continue
		case known.State != ledgerv1.Bound:
			return fmt.Errorf("an attempt to create the %s under the key %s may have succeeded: the manager searches for its result "+
				"and continues with it; to prevent that, stop the manager and delete what the attempt created", known.Kind, r.Key)
		case known.ID != r.ID || known.Kind != r.Kind || known.Foreign != !r.Own:
			return fmt.Errorf("the ledger has %s %s under the key %s already", known.Kind, known.ID, r.Key)
		}
		e := &ledgerv1.Entry{Kind: r.Kind, Condition: ReadyCondition, State: ledgerv1.Bound, ID: r.ID, Foreign: !r.Own}
		if known := g.ledger.Entries[r.Key]; known != nil && known.State == ledgerv1.Bound {
			e = known.DeepCopy()
		}
		if r.Own {
			e.Proven, e.Untagged = r.ID, untagged[r.Key]
		}
		if len(r.Scope) > 0 {
			e.Scope = r.Scope
		}
		g.ledger.Entries[r.Key] = e
	}
	return g.ledger.Write(ctx)
}

// unknown reports whether a scope doesn't say everything.
func unknown(s Scope) bool { return len(s) == 0 || slices.Contains(slices.Collect(maps.Values(s)), "") }

// isNoOther fails if another ledger has a resource as its own, or this one has it under another key: one of the two would delete
// what the other keeps.
func (g *Graph) isNoOther(r ledgers.Resource, others []ledgerv1.Ledger) error {
	for key, e := range g.ledger.Entries {
		if key != r.Key && e.Kind == r.Kind && e.ID == r.ID {
			return fmt.Errorf("the ledger has %s %s already, under the key %s", r.Kind, r.ID, key)
		}
	}
	for _, other := range others {
		for _, e := range other.Spec.Entries {
			if r.Own && e.Kind == r.Kind && e.ID == r.ID && !e.Foreign {
				return fault.Invalidf("%s %s is in ledger %s/%s, so it isn't this object's: correct what names it; if nothing is this object's, "+
					"remove its finalizer and delete it", r.Kind, r.ID, other.Namespace, other.Name)
			}
		}
	}
	return nil
}

// TakeOver asks the manager to act on a ledger that belongs to another management cluster or to an earlier object of this name, or
// to rebuild one that is lost.
func TakeOver(ctx context.Context, c client.Client, owner client.Object) error {
	owner = ledgers.ObjectOf(owner)
	before := owner.DeepCopyObject().(client.Object)
	ledgers.Annotate(owner, ledgerv1.TakeOverAnnotation, "true")
	return c.Patch(ctx, owner, client.MergeFrom(before))
}
