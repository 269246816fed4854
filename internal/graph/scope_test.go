package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// leaf is a thing that can't be named without the net that it lies in.
const (
	netKey, leafKey = "net", "leaf"
	netKind         = "net"
)

// scoped is a fixture with nets and leaves. Asked are the nets that leaves were asked for in.
type scoped struct {
	*fixture
	asked []string
	// outer is the net of another owner's, and tagged says whether leaves have tags.
	outer  string
	tagged bool
}

func (f *scoped) kinds() (nets, leaves *graph.Kind[thing]) {
	nets, leaves = f.service.kind(), f.service.kind()
	nets.Name, leaves.Name, leaves.Within = netKind, "leaf", []string{netKind}
	get, find, remove := leaves.Get, leaves.Find, leaves.Delete
	nets.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
		all, err := find(ctx, key)
		return slices.DeleteFunc(all, func(t thing) bool { return t.tag.Key != netKey }), err
	}
	note := func(in graph.Scope) { f.asked = append(f.asked, in[netKind]) }
	leaves.Get = func(ctx context.Context, id string, in graph.Scope) (*thing, error) {
		note(in)
		return get(ctx, id, in)
	}
	leaves.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
		note(key.Scope)
		all, err := find(ctx, key)
		return slices.DeleteFunc(all, func(t thing) bool { return t.tag.Key != leafKey }), err
	}
	leaves.Delete = func(ctx context.Context, id string, in graph.Scope) error { note(in); return remove(ctx, id, in) }
	if !f.tagged {
		leaves.Tag = nil
	}
	if f.outer != "" {
		leaves.Scope = func(string) graph.Scope { return graph.Scope{netKind: f.outer} }
	}
	return nets, leaves
}

// open the graph of an owner that shows things.
func (f *scoped) open(shown ...string) (owner showing, g *graph.Graph, want func()) {
	f.t.Helper()
	nets, leaves := f.kinds()
	owner = showing{f.owner(), shown}
	g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, nets, leaves)
	f.Expect(err).NotTo(HaveOccurred())
	return owner, g, func() {
		var after []graph.Ref
		if f.outer == "" {
			after = append(after, graph.Add(g, nets, f.want(netKey)))
		}
		graph.Add(g, leaves, f.want(leafKey, after...))
	}
}

func (f *scoped) reconcile() *bmmv1.NvidiaBMMCluster {
	f.t.Helper()
	owner, g, want := f.open()
	want()
	_, err := g.Reconcile(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	return owner.NvidiaBMMCluster
}

func (f *scoped) deletes() (owner showing, done bool) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), f.owner())).To(Succeed())
	for range 8 {
		var g *graph.Graph
		owner, g, _ = f.open()
		if done, _, _ = g.Delete(f.t.Context()); done {
			break
		}
		f.service.finish()
	}
	return owner, done
}

// What a resource lies in is that of its kind which it comes after; the intention says so, and all calls use it.
func TestScope_isWhatAResourceComesAfter(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), tagged: true}
	f.service.before = func(call string) error {
		if call == "create "+leafKey {
			f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(graph.Scope{netKind: "id-1"}), "with the intention")
		}
		return nil
	}
	f.reconcile()
	f.reconcile()
	_, done := f.deletes()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
	f.Expect(f.asked).NotTo(BeEmpty())
	f.Expect(f.asked).To(HaveEach("id-1"))
}

// The cluster of a machine changes to another workspace: the machine stays where it was created, and is deleted from
// there.
func TestScope_ofAnotherOwnersStaysAsItWas(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), outer: "first"}
	f.reconcile()
	f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(graph.Scope{netKind: "first"}))
	f.outer = "second"
	f.reconcile()
	f.outer = "" // its owner is gone
	_, done := f.deletes()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
	f.Expect(f.asked).To(HaveEach("first"))
}

// An attempt whose answer was lost is searched for where it was made, whatever the other owner says now.
func TestScope_ofAnAttemptStaysAsItWas(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), outer: "first"}
	f.service.after = func(call string) error {
		if call == "create "+leafKey {
			return errors.New("connection reset")
		}
		return nil
	}
	_, g, want := f.open()
	want()
	_, _ = g.Reconcile(t.Context())
	f.service.after = nil
	f.outer = "second"
	f.reconcile()
	f.Expect(f.service.called("create " + leafKey)).To(Equal(1))
	f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(graph.Scope{netKind: "first"}))
	f.Expect(f.asked).To(HaveEach("first"))
}

// What was refused is tried where it is wanted now.
func TestScope_ofWhatWasRefusedIsTheNewest(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), outer: "first", tagged: true}
	f.service.before = func(call string) error {
		if call == "create "+leafKey {
			return &fault.Error{Class: fault.Quota, Err: errors.New("nothing left")}
		}
		return nil
	}
	f.reconcile()
	f.Expect(f.ledger().Entry(leafKey).State).To(Equal(ledgerv1.Refused))
	f.service.before = nil
	f.outer, f.asked = "second", nil
	f.reconcile()
	f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(graph.Scope{netKind: "second"}))
	f.Expect(f.asked).To(HaveEach("second"))
}

// Another client has removed the scope. The owner shows it, and it is written again.
func TestScope_isFoundAgain(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"a reconcile": false, "a deletion": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &scoped{fixture: inMemory(t), outer: "first"}
			f.reconcile()
			f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry(leafKey).Scope = nil })
			f.outer, f.asked = "second", nil // the other owner has moved on
			if deleted {
				f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			}
			nets, leaves := f.kinds()
			owner := inNet{showing{f.owner(), []string{"id-1"}}, "first"}
			g, err := f.engine().New(t.Context(), owner, []string{"any"}, nets, leaves)
			f.Expect(err).NotTo(HaveOccurred())
			if deleted {
				_, _, _ = g.Delete(t.Context())
				f.service.finish()
				f.Expect(f.service.keys()).To(BeEmpty())
			} else {
				graph.Add(g, leaves, f.want(leafKey))
				_, err = g.Reconcile(t.Context())
				f.Expect(err).NotTo(HaveOccurred())
				f.Expect(f.ledger().Entry(leafKey).Scope).To(Equal(graph.Scope{netKind: "first"}))
			}
			f.Expect(f.asked).To(HaveEach("first"))
		})
	}
}

// Its scope isn't known: it is neither read without one nor taken for gone.
func TestScope_thatNothingSaysIsAskedFor(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), outer: "first"}
	f.reconcile()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry(leafKey).Scope = nil })
	f.outer, f.asked = "", nil
	owner, done := f.deletes()
	f.Expect(done).To(BeFalse())
	f.Expect(f.asked).To(BeEmpty())
	c := meta.FindStatusCondition(owner.Status.Conditions, leafKey+"Ready")
	f.Expect(c.Reason).To(Equal("NoScope"))
	f.Expect(c.Message).To(ContainSubstring("bedplate ledger adopt --in"))
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{
		Key: leafKey, Kind: "leaf", ID: "id-1", Own: true, Scope: graph.Scope{netKind: "first"},
	})).To(Succeed())
	_, g, _ := f.open()
	_, _, err := g.Delete(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.service.finish()
	f.Expect(f.service.keys()).To(BeEmpty())
}

// An older ledger lacks the leaf: the sweep looks for it in every net that the ledger knows.
func TestScope_isSweptWhereverSomethingMayLie(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), tagged: true}
	f.reconcile()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry(netKey)} })
	f.asked = nil
	_, done := f.deletes()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
	f.Expect(f.asked).To(HaveEach("id-1"))
}

// What the owner shows is asked for where the owner shows it.
func TestScope_ofWhatTheOwnerShows(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), tagged: true, outer: "first"}
	f.reconcile()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	f.asked = nil
	nets, leaves := f.kinds()
	owner := inNet{showing{f.owner(), []string{"id-1"}}, "first"}
	g, err := f.engine().New(t.Context(), owner, []string{"any"}, nets, leaves)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(g.Scope(leafKey)).To(Equal(graph.Scope{netKind: "first"}))
	f.Expect(f.asked).To(HaveEach("first"))
}

// inNet is an owner that shows leaves of a net.
type inNet struct {
	showing
	net string
}

func (o inNet) OutsideIDs() []ledgerv1.OutsideID {
	all := o.showing.OutsideIDs()
	for i := range all {
		all[i].Kind, all[i].Scope = "leaf", graph.Scope{netKind: o.net}
	}
	return all
}

// An older ledger has the net alone, which is the user's own. A plan keeps it until what lies in it has gone, as a deletion does.
func TestScope_isKeptByThePlanOfADeletion(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), tagged: true}
	f.reconcile()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		l.Spec.Entries = []ledgerv1.Entry{*l.Entry(netKey)}
		l.Spec.Entries[0].Foreign = true
	})
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, g, _ := f.open()
	var steps []string
	for _, s := range g.Plan(t.Context()) {
		steps = append(steps, s.Key+" "+string(s.Action))
	}
	f.Expect(steps).To(Equal([]string{leafKey + " delete", netKey + " release"}))
}

func TestScope_isTheFirstOfAKindThatAResourceComesAfter(t *testing.T) {
	t.Parallel()
	f := &scoped{fixture: inMemory(t), tagged: true}
	nets, leaves := f.kinds()
	nets.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
		all, err := f.service.kind().Find(ctx, key)
		return slices.DeleteFunc(all, func(t thing) bool { return t.tag.Key != key.Name }), err
	}
	for range 4 {
		owner := f.owner()
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, nets, leaves)
		f.Expect(err).NotTo(HaveOccurred())
		other := graph.Add(g, nets, f.want("another"))
		net := graph.Add(g, nets, f.want(netKey))
		leaf := graph.Add(g, leaves, f.want(leafKey, net, other))
		_, err = g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		if leaf.ID() != "" {
			f.Expect(g.Scope(leafKey)).To(Equal(graph.Scope{netKind: net.ID()}))
		}
	}
	f.Expect(f.asked).NotTo(BeEmpty())
	f.Expect(slices.Compact(f.asked)).To(HaveLen(1))
}
