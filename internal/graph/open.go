package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// open the owner's ledger, which was read from the cache. What is wrong with it, or missing from it, counts only once it was also
// read past the cache.
func (g *Graph) open(ctx context.Context, stored *ledgerv1.Ledger) (err error) {
	takesOver := g.owner.GetAnnotations()[ledgerv1.TakeOverAnnotation] == "true"
	if len(ledgers.Lacking(stored, g.owner)) == 0 {
		if stored.IsOf(g.owner.GetUID()) && g.atHome(stored) {
			g.ledger = g.engine.Open(g.owner, g.home, g.credentials, stored)
			return nil
		}
		if !stored.Owns() && !stored.IsOf(g.owner.GetUID()) && !takesOver {
			return g.begin(stored)
		}
	}
	if stored, err = g.read(ctx, g.engine.Live); err != nil {
		return err
	}
	switch shown := ledgers.Lacking(stored, g.owner); {
	case stored.IsOf(g.owner.GetUID()):
	case !stored.Owns() && len(shown) == 0:
		return g.begin(stored)
	case !stored.Owns() && !takesOver:
		return g.lost(shown)
	case !stored.Owns():
		return g.rebuild(ctx, stored, shown)
	case !takesOver:
		return g.isOthers(stored)
	}
	g.ledger = g.engine.Open(g.owner, g.home, g.credentials, stored)
	if !stored.IsOf(g.owner.GetUID()) { // it is being taken over
		if err := g.unclaimed(ctx); err != nil {
			return err
		}
	}
	// clusterctl writes a moved object's UID into its ledger.
	if !g.engine.OnlyLooks && (!stored.IsOf(g.owner.GetUID()) || !g.atHome(stored)) {
		if err := g.ledger.Write(ctx); err != nil {
			return err
		}
	}
	g.recall(ctx)
	return nil
}

func (g *Graph) read(ctx context.Context, c client.Reader) (*ledgerv1.Ledger, error) {
	return ledgers.Of(ctx, c, g.engine.Client.Scheme(), g.owner)
}

// atHome reports whether a ledger says that it is in this management cluster.
func (g *Graph) atHome(l *ledgerv1.Ledger) bool {
	return l.Spec.Home == g.home || g.home == ledgers.AnyHome
}

// begin a ledger, in the place of another if there is one.
func (g *Graph) begin(place *ledgerv1.Ledger) (err error) {
	g.ledger, err = g.engine.Begin(g.owner, g.home, g.credentials, place)
	return err
}

const takeOverRemedy = "pause and unpause the object here, or give it the annotation " + ledgerv1.TakeOverAnnotation + `="true"`

// isOthers is the error for a ledger of another owner or cluster: it says whose it is.
func (g *Graph) isOthers(l *ledgerv1.Ledger) error {
	if !g.atHome(l) {
		return fault.Invalidf("ledger %s is that of another management cluster, which may still act on what it names; nothing is "+
			"touched from here. If this cluster is to take over, and the other one doesn't have the object any more: %s",
			l.Name, takeOverRemedy)
	}
	return fault.Invalidf("ledger %s is that of an earlier %s of this name, whose resources still exist outside; nothing is touched. "+
		"If this object is to take them over: %s. To delete them, let this object take them over, then delete this object", l.Name, l.Spec.Owner.Kind, takeOverRemedy)
}

// lost says what to do without a ledger.
func (g *Graph) lost(shown []ledgerv1.OutsideID) error {
	var ids []string
	for _, o := range shown {
		ids = append(ids, o.String())
	}
	return fault.Invalidf("the ledger of this object is lost, but there is or was %s; nothing is touched. Restore the ledger; or, if "+
		"no other management cluster has this object, have it rebuilt from the tags of the external resources: %s; add resources without tags "+
		"with `bedplate ledger seed`. If all of it is gone, remove the finalizer", strings.Join(ids, ", "), takeOverRemedy)
}

// rebuild makes a ledger from the tags of what the owner shows. They have to agree.
func (g *Graph) rebuild(ctx context.Context, place *ledgerv1.Ledger, shown []ledgerv1.OutsideID) error {
	if err := g.begin(place); err != nil {
		return err
	}
	if place != nil { // in another account all that is shown looks gone
		g.ledger.Account = place.Spec.Account
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	owners := map[string]bool{}
	for _, o := range shown {
		tag, in, found, err := g.tagOf(ctx, o)
		switch {
		case err != nil:
			return err
		case !found:
			continue
		case tag.Owner == "" || tag.Key == "":
			return fault.Invalidf("the ledger is lost, and %s has no tag that says whose it is: write the ledger with `bedplate ledger seed`", o)
		}
		owners[tag.Owner] = true
		g.ledger.Entries[tag.Key] = tagged(o.Kind, o.ID, tag.Token, in)
		g.ledger.BelongsTo(tag.Owner)
	}
	if len(owners) != 1 {
		return fault.Invalidf("the ledger is lost, and it can't be rebuilt: what spec and status show carries %d different owner IDs: "+
			"write the ledger with `bedplate ledger seed`, or, if all of it is gone, remove the finalizer", len(owners))
	}
	if err := g.unclaimed(ctx); err != nil {
		return err
	}
	return g.ledger.Write(ctx)
}

// unclaimed fails if another ledger has the owner's ID: what is shown isn't this object's then. The ledger that is being replaced
// doesn't count as another.
func (g *Graph) unclaimed(ctx context.Context) error {
	others, err := g.others(ctx)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Spec.OwnerID == g.ledger.OwnerID {
			return fault.Invalidf("the resources with the owner ID %s are in ledger %s/%s and don't belong to this object. If %s %s is gone, and this object is to "+
				"take over its resources, remove the finalizer %s from that ledger and delete the ledger",
				other.Spec.OwnerID, other.Namespace, other.Name, other.Spec.Owner.Kind, other.Spec.Owner.Name, ledgerv1.Finalizer)
		}
	}
	return nil
}

// others are all ledgers of this management cluster except the owner's, read past a cache that may have one namespace only. If RBAC
// allows only one namespace, they are those of that namespace.
func (g *Graph) others(ctx context.Context) ([]ledgerv1.Ledger, error) {
	all := &ledgerv1.LedgerList{}
	err := g.engine.Live.List(ctx, all)
	if apierrors.IsForbidden(err) {
		err = g.engine.Live.List(ctx, all, client.InNamespace(g.owner.GetNamespace()))
	}
	if err != nil {
		return nil, &fault.Error{Class: fault.Transient, Op: "list the ledgers", Err: err}
	}
	return slices.DeleteFunc(all.Items, func(l ledgerv1.Ledger) bool {
		return client.ObjectKeyFromObject(&l) == client.ObjectKeyFromObject(g.ledger.Stored)
	}), nil
}

// shown is what spec or status of an owner show. The error, if any, is why its tag couldn't be read.
type shown struct {
	ledgerv1.OutsideID
	err error
}

func (o shown) phase() phases.Phase {
	if o.err != nil {
		return phases.Of(o.err)
	}
	return decide.Unproven(o.String())
}

// recall adds what the owner shows and an older ledger lacks, if it carries the owner's ID. It isn't written: a later
// reconcile finds it again.
func (g *Graph) recall(ctx context.Context) {
	for _, o := range ledgers.Lacking(g.ledger.Stored, g.owner) {
		tag, in, found, err := g.tagOf(ctx, o)
		if err != nil || found && tag.Owner == "" {
			g.unproven, g.ledger.Incomplete = append(g.unproven, shown{o, err}), true
		}
		if err != nil || !found || tag.Owner != g.ledger.OwnerID || tag.Key == "" {
			continue
		}
		g.ledger.Recall(tag.Key, tagged(o.Kind, o.ID, tag.Token, in))
	}
}

// tagged is the entry of a resource of which only the tag says that it is ours.
func tagged(kind, id, token string, in Scope) *ledgerv1.Entry {
	return &ledgerv1.Entry{Kind: kind, Condition: ReadyCondition, State: ledgerv1.Bound, ID: id, Proven: id, Token: token, Scope: in}
}

// tagOf reads the tag of what an owner shows. What isn't found is proven to be gone; a kind without tags has none.
func (g *Graph) tagOf(ctx context.Context, o ledgerv1.OutsideID) (tag Tag, in Scope, found bool, err error) {
	kind, known := g.kinds[o.Kind]
	if !known {
		return Tag{}, nil, true, nil
	}
	err = g.ask(kind.service(), func() (err error) {
		tag, in, err = kind.tagOf(ctx, g, o)
		return err
	})
	if fault.IsNotFound(err) {
		return Tag{}, nil, false, nil
	}
	if err != nil {
		return Tag{}, nil, false, fmt.Errorf("%s: %w", o, err)
	}
	return tag, in, true, nil
}

// tagOf reads it in the scope that the owner shows, or in every scope that something of the owner's may lie in.
func (k *Kind[T]) tagOf(ctx context.Context, g *Graph, o ledgerv1.OutsideID) (_ Tag, in Scope, err error) {
	places := k.scopes(g)
	if shown := k.shown(o); shown != nil {
		places = []Scope{shown}
	}
	err = fault.Invalidf("the ledger doesn't say in which %s it is: add that with `bedplate ledger adopt --in`", strings.Join(k.Within, " and "))
	for _, in = range places {
		var object *T
		if object, err = k.Get(ctx, o.ID, in); err == nil {
			if k.Tag == nil {
				return Tag{}, in, nil
			}
			return k.Tag(object), in, nil
		}
		if !fault.IsNotFound(err) {
			break
		}
	}
	return Tag{}, nil, err
}

// CannotLogIn reports whether an error says that there are no credentials, or none that the service accepts, and not just that they
// couldn't be read. Then an owner of which nothing is known may be released.
func CannotLogIn(err error) bool {
	class := fault.ClassOf(err)
	return class == fault.Credentials || class == fault.Invalid
}
