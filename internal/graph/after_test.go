package graph_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// The create of a VPC is answered when the spec has another group, which isn't ready yet: it was created with the old one.
func TestReplaced_isKeptForWhatIsBeingCreatedAfterIt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs") // id-1
	g, kind := f.graphOf(f.owner())
	graph.Add(g, kind, f.want("group")) // id-2
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.pool = &creates.Pool{Limit: 10, Patience: time.Millisecond}
	answer := f.slow()
	f.groups("")
	f.Expect(f.ledger().Entry("vpc").State).To(Equal(ledgerv1.Pending))
	f.service.things[theirs.id].creating = true // it isn't ready
	answer()
	f.Eventually(func() int { return f.service.called("create vpc") }).Should(Equal(1))
	f.Eventually(func() ledgerv1.State {
		f.groups(theirs.id)
		return f.ledger().Entry("vpc").State
	}).Should(Equal(ledgerv1.Bound))
	f.Expect(f.service.called("delete id-2")).To(BeZero(), "the VPC was created with it: %v", f.service.calls)
}

// A ledger that was rebuilt doesn't say what comes after what, and the net isn't ready.
func TestDelete_inReverseOrderOfALedgerWithoutOne(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		for i := range l.Spec.Entries {
			l.Spec.Entries[i].After = nil
		}
	})
	f.service.things["id-1"].creating = true // it isn't ready
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.delete()
	f.Expect(f.service.called("delete " + f.service.mustFind("left").id)).To(Equal(1))
	f.Expect(f.service.called("delete "+f.service.mustFind("net").id)).To(BeZero(), "what comes after it exists: %v", f.service.changes())
}

// What comes after it is wanted, and only gets a new predecessor.
func TestReplaced_isNotSaidToWaitUntilWhatIsWantedIsGone(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs") // id-1
	f.groups("")
	f.groups("")
	f.service.things[theirs.id].creating = true
	owner := f.owner()
	g, kind := f.graphOf(owner)
	w := f.want("group/" + theirs.id)
	w.Claim = graph.Use(theirs.id)
	graph.Add(g, kind, f.want("vpc", graph.Add(g, kind, w)))
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	c := meta.FindStatusCondition(owner.Status.Conditions, "groupReady")
	f.Expect(c).NotTo(BeNil())
	f.Expect(c.Message).To(ContainSubstring("vpc"))
	f.Expect(c.Message).NotTo(ContainSubstring("vpc is gone"), "the VPC stays")
}

// Two change their order while one of them, or what the first comes after now, isn't ready, and the owner is deleted.
func TestDelete_ofTwoThatChangeTheirOrder(t *testing.T) {
	t.Parallel()
	for _, unready := range []string{"id-1", "id-2", "id-3"} {
		f := inMemory(t)
		theirs := f.put("theirs")
		round := func(turned bool) {
			g, kind := f.graphOf(f.owner())
			if turned {
				w := f.want("gate")
				w.Claim = graph.Use(theirs.id)
				graph.Add(g, kind, f.want("second", graph.Add(g, kind, f.want("first", graph.Add(g, kind, w)))))
			} else {
				graph.Add(g, kind, f.want("first", graph.Add(g, kind, f.want("second"))))
			}
			_, err := g.Reconcile(t.Context())
			f.Expect(err).NotTo(HaveOccurred())
		}
		round(false)
		f.service.things[unready].creating = true
		round(true)
		round(true)
		f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
		owner, done := f.deletes()
		f.Expect(done).To(BeTrue(), "%s: %v", unready, meta.FindStatusCondition(owner.Status.Conditions, "Ready"))
	}
}

// Two change their order while what the second one comes after isn't ready, and the first one is gone: it is made again, after the second.
// While it exists the service doesn't delete that.
func TestDelete_ofTwoThatChangeTheirOrderWhenOneIsGone(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	round := func(turned bool) {
		g, kind := f.graphOf(f.owner())
		w := f.want("gate")
		w.Claim = graph.Use(theirs.id)
		gate := graph.Add(g, kind, w)
		if turned {
			graph.Add(g, kind, f.want("first", graph.Add(g, kind, f.want("second", gate))))
		} else {
			graph.Add(g, kind, f.want("second", gate, graph.Add(g, kind, f.want("first"))))
		}
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	round(false)
	f.service.things[theirs.id].creating = true // it isn't ready
	delete(f.service.things, f.service.mustFind("first").id)
	for range 3 {
		round(true)
	}
	f.Expect(f.service.keys()).To(Equal([]string{"", "first", "second"}))
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	needed := "delete " + f.service.mustFind("second").id
	f.service.before = func(call string) error {
		if call == needed && len(f.service.things) > 2 {
			return &fault.Error{Class: fault.Conflict, Err: errors.New("it is in use")}
		}
		return nil
	}
	owner, done := f.deletes()
	f.Expect(done).To(BeTrue(), "%v %v", f.service.changes(), meta.FindStatusCondition(owner.Status.Conditions, "Ready"))
}
