package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// The spec exchanges what something comes after, while the create of that isn't answered yet.
func TestRemove_whatIsHeldByTheWantedIsNoCircle(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := func(group string) *bmmv1.NvidiaBMMMachine {
		owner := f.owner()
		g, kind := f.graphOf(owner)
		before := graph.Add(g, kind, f.want(group))
		graph.Add(g, kind, f.want("vpc", before))
		_, _ = g.Reconcile(t.Context())
		return owner
	}
	f.service.after = func(call string) error {
		if call == "create vpc" {
			return errors.New("connection reset")
		}
		return nil
	}
	run("group")
	f.service.after = nil
	f.service.things["id-2"].tag.Owner = "hidden" // the list lags
	f.Expect(f.ledger().Entry("vpc").State).To(Equal(ledgerv1.Pending))
	owner := run("group/other")
	c := meta.FindStatusCondition(owner.Status.Conditions, "groupReady")
	f.Expect(c).NotTo(BeNil())
	f.Expect(c.Reason).NotTo(Equal("Circle"), c.Message)
}

// What is kept holds something that left the spec.
func TestRemove_whatIsHeldByTheKeptIsNoCircle(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	g, kind := f.graphOf(f.owner())
	zone := graph.Add(g, kind, f.want("zone"))
	graph.Add(g, kind, f.want("net/a", zone))
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	owner := f.owner()
	g, _ = f.graphOf(owner)
	g.Keep("net/", "the zones can't be looked up")
	_, _ = g.Reconcile(t.Context())
	c := meta.FindStatusCondition(owner.Status.Conditions, "zoneReady")
	f.Expect(c).NotTo(BeNil())
	f.Expect(c.Reason).NotTo(Equal("Circle"), c.Message)
}

// Whatever a lookup would say: nothing is wanted any more.
func TestDelete_takesAwayWhatIsKept(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	done := false
	owner := f.owner()
	for range 6 {
		owner = f.owner()
		g, _ := f.graphOf(owner)
		g.Keep("l", "the zones can't be looked up")
		var err error
		done, _, err = g.Delete(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		f.service.finish()
	}
	f.Expect(done).To(BeTrue(), "left: %v; %v", f.service.keys(), owner.Status.Conditions)
}

// Deletion with a circle around the user's own, and with an entry of an unknown kind.
func TestDelete_aroundACircleThroughTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	theirs := f.put("theirs")
	f.update(ledger, func(l *ledgerv1.Ledger) {
		l.Spec.Entries = append(l.Spec.Entries,
			ledgerv1.Entry{Key: "a", Kind: "thing", State: ledgerv1.Bound, ID: theirs.id, Foreign: true, After: []string{"net", "b"}},
			ledgerv1.Entry{Key: "b", Kind: "thing", State: ledgerv1.Bound, ID: theirs.id, Foreign: true, After: []string{"a"}})
		l.Entry("net").After = []string{"b"}
	})
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	done := false
	for range 8 {
		g, _ := f.graphOf(f.owner())
		if done, _, _ = g.Delete(t.Context()); done {
			break
		}
		f.service.finish()
	}
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(Equal([]string{""}))
}
