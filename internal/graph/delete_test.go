package graph_test

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"

	"github.com/bedplate/bedplate/internal/graph"
)

func TestDelete_goesInReverseOrderAndWaitsUntilEachIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())

	owner, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Deleting", "waits until left, right is gone")
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "net still has what lies in it")
	_, done = f.delete()
	f.Expect(done).To(BeFalse(), "asked to go is not gone")
	f.Expect(f.service.called("delete id-2")).To(Equal(1), "a delete is asked for once")

	f.service.finish()
	_, done = f.delete()
	f.Expect(done).To(BeFalse())
	f.service.finish()
	_, done = f.delete()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
}

func TestDelete_unknownIsNotGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.service.before = func(string) error { return errors.New("connection refused") }
	owner, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.expectCondition(owner, "leftReady", metav1.ConditionUnknown, "Transient", "connection refused")
}

func TestDelete_findsWhatAnUnansweredCreateHasMade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.below = nil
	f.service.after = func(call string) error {
		if call == "create net" {
			return errors.New("connection reset")
		}
		return nil
	}
	_, err := f.reconcile()
	f.Expect(err).To(HaveOccurred())
	_, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.service.finish()
	owner, done := f.delete()
	f.Expect(done).To(BeFalse(), "the service may still be at it")
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Settling", "")
	f.clock.Step(settle)
	_, done = f.delete()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
}

func TestDelete_leavesWhatDoesNotCarryOurTagAnyMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.below = nil
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.service.things["id-1"].tag.Owner = "somebody else"
	f.delete()
	f.service.finish()
	owner, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "ForeignTag", "carries the tag of another object")
	f.Expect(f.service.called("delete id-1")).To(BeZero())
}

// An older ledger that was restored doesn't know all that was made.
func TestDelete_takesAwayWhatAnOlderLedgerDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.below = nil
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	older := f.ledger().Spec
	f.below = []string{"left", "right"}
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	restored := f.ledger()
	restored.Spec = older
	f.Expect(f.client.Update(t.Context(), restored)).To(Succeed())
	for range 4 {
		f.delete()
		f.service.finish()
	}
	_, done := f.delete()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
}

// What can't be searched for may exist.
func TestDelete_isNotDoneWhileTheRestCannotBeLookedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.below = nil
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.delete()
	f.service.finish()
	f.service.failing("find", errors.New("connection refused"))
	owner, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.expectCondition(owner, "Ready", metav1.ConditionUnknown, "Transient", "connection refused")
}

// The second of the two searches isn't made when the first one fails: it would fail, too, and the condition would say so twice.
func TestDelete_saysOnceWhyTheRestCannotBeLookedFor(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.service.failing("find", errors.New("connection refused"))
	before := f.service.called("find")
	owner, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.expectCondition(owner, "Ready", metav1.ConditionUnknown, "Transient", "connection refused")
	f.Expect(strings.Count(meta.FindStatusCondition(owner.Status.Conditions, "Ready").Message, "connection refused")).To(Equal(1))
	f.Expect(f.service.called("find") - before).To(Equal(1))
}

// A newer version has written it, perhaps: the rest continues, and nothing is forgotten.
func TestDelete_keepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.below = nil
	f.madeSome("net", "lonely")
	newer := f.ledger()
	newer.Spec.Entries = append(newer.Spec.Entries, ledgerv1.Entry{
		Key: "moon", Kind: "rocket", Condition: "MoonReady", State: ledgerv1.Bound, ID: "id-9", After: []string{"net"},
	})
	f.Expect(f.client.Update(t.Context(), newer)).To(Succeed())
	const says = `doesn't know the kind "rocket" that the ledger names: go back to the version that wrote it`
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "MoonReady", metav1.ConditionFalse, "Failed", says)
	f.expectCondition(owner, "netReady", metav1.ConditionTrue, "Ready", "")
	for range 3 {
		owner, done := f.delete()
		f.service.finish()
		f.Expect(done).To(BeFalse())
		f.expectCondition(owner, "MoonReady", metav1.ConditionFalse, "Failed", says)
	}
	f.Expect(f.service.keys()).To(Equal([]string{"net"}), "what it needs stays")
	f.Expect(f.ledger().Entry("moon").ID == "id-9").To(BeTrue())
}

// The cache has no ledger yet when the owner is deleted.
func TestRelease_keepsTheFinalizerWhenTheLedgerWasStale(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.lag = &ledgerv1.Ledger{}
	f.Expect(f.ownsNothing(f.owner())).To(BeFalse())
	g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	result, err := g.DeleteAndRelease(t.Context(), finalizer)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
	f.Expect(f.owner().Finalizers).To(ContainElement(finalizer))
}

func TestEvents_oneForEachTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	reconcile := func() {
		for range 3 {
			_, err := f.reconcileObject(owner)
			f.Expect(err).NotTo(HaveOccurred())
		}
	}
	reconcile()
	f.Expect(f.events.Events).To(BeEmpty(), "what begins well hasn't turned")
	f.size++
	reconcile()
	f.Expect(f.events.Events).To(HaveLen(2*len(everything)), "changing, and ready again")
}

// What comes after something of the user's own comes after what that lies in.
func TestDelete_goesInReverseOrderAlsoAroundTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	g, kind := f.graphOf(f.owner())
	below := graph.Add(g, kind, f.want("below"))
	want := f.want("theirs", below)
	want.Claim = graph.Use(theirs.id)
	graph.Add(g, kind, f.want("above", graph.Add(g, kind, want)))
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal([]string{"", "above", "below"}))
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.service.finish()
	f.Expect(f.service.keys()).To(Equal([]string{"", "below"}))
	_, done = f.deletes()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(Equal([]string{""}))
}
