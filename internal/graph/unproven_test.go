package graph_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// Status shows it, the ledger lacks it, its tag went missing, and the claim is Create.
func TestUnproven_isNotMadeOnceMore(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	f.service.things["id-1"].tag = graph.Tag{}
	f.Expect(f.round(showing{f.owner(), []string{"id-1"}}, graph.Create())).To(Succeed())
	f.Expect(f.service.called("create lonely")).To(Equal(1), "%v", f.service.calls)
}

func TestUnproven_isNotInTheWay(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.CreateNamed("shared"), untagged)).To(Succeed())
	f.service.things["id-1"].title = "shared"
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	owner := showing{f.owner(), []string{"id-1"}}
	f.Expect(f.round(owner, graph.CreateNamed("shared"), untagged)).To(Succeed())
	c := meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady")
	f.Expect(c.Reason).To(Equal("Unproven"), c.Message)
}

// The spec doesn't ask for it any more.
func TestUnproven_isSaidWhereNoKeyStandsForIt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.UseOrCreate("shared"), untagged)).To(Succeed())
	f.service.things["id-1"].title = "shared"
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	owner := showing{f.owner(), []string{"id-1"}}
	g, _ := f.graphOf(owner, untagged) // the spec doesn't ask for it any more
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	c := meta.FindStatusCondition(owner.Status.Conditions, "Ready")
	f.Expect(c.Reason).To(Equal("Unproven"), "%s %s", c.Status, c.Message)
}

func TestUnproven_isInThePlanOfADeletion(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	f.service.things["id-1"].tag = graph.Tag{}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	g, _ := f.graphOf(showing{f.owner(), []string{"id-1"}})
	steps := g.Plan(t.Context())
	owner := showing{f.owner(), []string{"id-1"}}
	g, _ = f.graphOf(owner)
	done, _, _ := g.Delete(t.Context())
	f.Expect(done).To(BeFalse())
	f.Expect(steps).NotTo(BeEmpty(), "the deletion says: %v", owner.Status.Conditions[0].Message)
}

// The status shows it all the time, an older ledger lacks it, and it has lost its tag. Something else is in the ledger.
func TestUnproven_holdsADeletionToItsEnd(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("net")} })
	f.service.things["id-4"].tag = graph.Tag{}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, done := f.deletes("id-1", "id-2", "id-3", "id-4")
	f.Expect(done).To(BeFalse(), "left: %v, ledger: %+v", f.service.things["id-4"], f.ledger().Spec)
}

// peered has something of the user's own in use, which comes after something of ours.
func (f *fixture) peered() (theirs *thing) {
	f.t.Helper()
	theirs = f.put("theirs")
	g, kind := f.graphOf(f.owner())
	w := f.want("peering", graph.Add(g, kind, f.want("net")))
	w.Claim = graph.UseOrCreate("theirs")
	graph.Add(g, kind, w)
	_, err := g.Reconcile(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().Entry("peering").Foreign).To(BeTrue())
	return theirs
}

// What is the user's own, was released, and is shown until the status is written, isn't called unproven.
func TestUnproven_isNotSaidOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.peered()
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	for range 3 {
		owner := showing{f.owner(), []string{theirs.id}}
		g, _ := f.graphOf(owner)
		_, _, _ = g.Delete(t.Context())
		if c := meta.FindStatusCondition(owner.Status.Conditions, "Ready"); c != nil {
			if strings.Contains(c.Message, theirs.id) {
				t.Errorf("%s: %s", c.Reason, c.Message)
			}
		}
	}
}

// The user's own that comes after something of ours leaves the ledger early in a deletion; the status shows it until that is written.
func TestUnproven_isNotWhatWasReleased(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.peered()
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	owner, done := f.deletes(theirs.id)
	f.Expect(done).To(BeTrue(), "%v", owner.Status.Conditions)
}
