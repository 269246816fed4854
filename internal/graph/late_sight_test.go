package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// The service refuses to change what is broken: the remedy, which would help, is never tried, and no limit ends it.
func TestRepair_changeThatIsRefusedKeepsNoRemedyAway(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	f.size = 7
	f.service.before = func(call string) error {
		if call == "resize id-1" && f.service.things["id-1"].broken > 0 {
			return &fault.Error{Class: fault.Invalid, Op: call, Err: errors.New("400: it is in state Error")}
		}
		return nil
	}
	message := ""
	for range 400 {
		message = f.mends().Message
		f.clock.Step(10 * poll)
	}
	f.Expect(f.service.called("remedy id-1")).To(BeNumerically(">", 0), "%d changes were tried: %s", f.service.called("resize id-1"), message)
}

// The write that has what was recalled is an intention, and is taken back because the owner was paused (or couldn't be read).
func TestRecall_outlivesAnIntentionThatIsTakenBack(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	for range 2 {
		g, kind := f.graphOf(f.owner())
		graph.Add(g, kind, f.want("first"))
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil }) // an older one
	f.paused = true
	owner := showing{f.owner(), []string{"id-1"}}
	g, kind := f.graphOf(owner)
	graph.Add(g, kind, f.want("second")) // the first has left the spec
	f.Expect(g.Names("thing", "id-1")).To(BeTrue())
	_, _ = g.Reconcile(t.Context())
	shows := g.Names("thing", "id-1")
	if !shows {
		t.Errorf("the status doesn't show id-1 any more")
	}
	f.paused = false
	for range 4 { // status is a projection of the ledger
		owner := showing{f.owner(), nil}
		if shows {
			owner.ids = []string{"id-1"}
		}
		g, kind := f.graphOf(owner)
		graph.Add(g, kind, f.want("second"))
		_, _ = g.Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
		shows = shows && g.Names("thing", "id-1")
	}
	f.Expect(f.service.keys()).To(Equal([]string{"second"}), "what left the spec is deleted: ledger %+v", f.ledger().Spec.Entries)
}

// The scope of an attempt is lost, and the cluster's status doesn't show its site: the first adopt makes the remedy impossible.
func TestAdoptInto_anEmptyScopeIsNone(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	lostAnswer(f.fixture, "create "+leafKey)
	_, _ = f.rounds(1, f.usual)
	f.service.after = nil
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry(leafKey).Scope = nil })
	adopt := func(in graph.Scope) error {
		return f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: leafKey, Kind: "leaf", ID: "id-2", Own: true, Scope: in})
	}
	t.Log(adopt(graph.Scope{netKind: ""})) // resourcesOf, of a cluster without a status
	owner, err := f.rounds(3, f.usual)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.why(owner)).To(ContainSubstring("ledger adopt --in"))
	f.Expect(adopt(graph.Scope{netKind: "id-1"})).To(Succeed(), "that is the remedy which the condition names")
}

// A ledger is closed; an operator reopens it with adopt; the cache still has the closed one.
func TestClosed_inTheCacheOnlyReleasesNoOwner(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	left := f.put("left")
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, done := f.deletes()
	f.Expect(done).To(BeTrue())
	closed := f.ledger()
	f.Expect(closed.Spec.Closed).To(BeTrue())
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "net", Kind: "thing", ID: left.id, Own: true})).To(Succeed())
	f.Expect(f.ledger().Owns()).To(BeTrue())
	f.lag = closed
	g, _ := f.graphOf(f.owner(), untagged)
	_, _ = g.DeleteAndRelease(t.Context(), finalizer)
	err := f.client.Get(t.Context(), f.name, &bmmv1.NvidiaBMMCluster{})
	f.Expect(client.IgnoreNotFound(err)).To(Succeed())
	f.Expect(err).NotTo(HaveOccurred(), "the owner is released, and its ledger names %+v", f.service.things)
}

// A plan says "use" of what is deleted.
func TestPlan_ofANameThatOursHasUnderAnotherKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.put("theirs") // id-1
	open := func(wants map[string]string) *graph.Graph {
		g, kind := f.graphOf(f.owner(), titled)
		for _, key := range []string{"one", "other"} {
			title := wants[key]
			if title == "" {
				continue
			}
			w := f.want(key)
			w.Claim, w.Update = graph.UseOrCreate(title), nil
			w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
				return func(context.Context) (*thing, error) {
					made, err := f.service.create(graph.Tag{})
					made.title = title
					return made, err
				}, nil
			}
			graph.Add(g, kind, w)
		}
		return g
	}
	for range 2 {
		_, err := open(map[string]string{"one": "name", "other": "theirs"}).Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.Expect(f.ledger().Entry("other").Foreign).To(BeTrue())
	f.Expect(f.ledger().Entry("one").ID).To(Equal("id-2"))
	after := map[string]string{"other": "name"}
	var plan []string
	for _, s := range open(after).Plan(t.Context()) {
		plan = append(plan, s.Key+" "+string(s.Action)+" "+s.ID+" "+s.Why)
	}
	for range 6 {
		_, _ = open(after).Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	e := f.ledger().Entry("other")
	f.Expect(e.ID).To(Equal("id-3"))
	f.Expect(plan).NotTo(ContainElement(HavePrefix("other use id-2")), "it was deleted: %v", f.service.changes())
}

// As TestRelease_byAnOwnerThatDoesNotShowItYet, and the cache is behind for one more reconcile, which writes the ledger.
func TestRelease_isRememberedUntilTheOwnerShowsIt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	run := func(shown []string, keys ...string) string {
		owner := showing{f.owner(), shown}
		g, kind := f.graphOf(owner)
		net := graph.Add(g, kind, f.want("net"))
		for _, key := range keys {
			w := f.want(key, net)
			if key == "peering" {
				w.Claim = graph.UseOrCreate("theirs")
			}
			graph.Add(g, kind, w)
		}
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		c := meta.FindStatusCondition(owner.Status.Conditions, "Ready")
		return c.Reason + ": " + c.Message
	}
	run(nil, "peering")
	run(nil)
	run(nil, "more") // still the status of before
	why := ""
	for range 5 {
		f.clock.Step(time.Hour)
		why = run([]string{"id-2", theirs.id}, "more")
	}
	f.Expect(why).NotTo(HavePrefix("Unproven"))
}

// A plan says that part of a circle is deleted, which never happens.
func TestPlan_deletesNoPartOfACircle(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		l.Spec.Entries = []ledgerv1.Entry{*l.Entry("left"), *l.Entry("right")}
		l.Entry("left").After, l.Entry("right").After = []string{"right"}, []string{"left"}
	})
	delete(f.service.things, f.service.mustFind("net").id)
	delete(f.service.things, f.service.mustFind("lonely").id)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	g, _ := f.graphOf(f.owner())
	steps := g.Plan(t.Context())
	_, done := f.deletes()
	f.Expect(done).To(BeFalse())
	f.Expect(f.service.changes()).NotTo(ContainElement(HavePrefix("delete")))
	f.Expect(steps).NotTo(ContainElement(HaveField("Action", graph.ActionDelete)), "%+v", steps)
}
