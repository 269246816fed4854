package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func TestReconcile_makesEverythingOnceAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 3 {
		owner, err := f.reconcile()
		f.Expect(err).NotTo(HaveOccurred())
		f.expectCondition(owner, "Ready", metav1.ConditionTrue, "Ready", "")
		f.expectCondition(owner, "leftReady", metav1.ConditionTrue, "Ready", "")
	}
	f.Expect(f.service.keys()).To(Equal(everything))
	f.Expect(f.service.called("find")).To(BeNumerically("==", 6), "each is looked for twice, but for the first one of a new owner")
}

func TestReconcile_waitsForWhatComesBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.service.failing("create net", &fault.Error{Class: fault.Quota, Op: "create net", Err: errors.New("no more nets: ask for some")})
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Quota", "no more nets: ask for some")
	f.expectCondition(owner, "leftReady", metav1.ConditionFalse, "Waiting", "waits for net")
	f.Expect(f.service.keys()).To(Equal([]string{"lonely"}), "an independent branch goes on")
}

// Others begin, and the owner isn't ready all the same.
func TestReconcile_doesNotWaitForWhatCanBeUsedBeforeItIsReady(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kind := f.service.kind()
	phase := phases.Waiting("it isn't seen yet").Usable()
	kind.Phase = func(t *thing) phases.Phase {
		if t.tag.Key == "net" {
			return phase
		}
		return phases.Ready()
	}
	reconcile := func() *bmmv1.NvidiaBMMCluster {
		owner := f.owner()
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		f.wants(g, kind)
		_, err = g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		return owner
	}
	owner := reconcile()
	f.Expect(f.service.keys()).To(Equal(everything))
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Waiting", "it isn't seen yet")
	f.expectCondition(owner, "leftReady", metav1.ConditionTrue, "Ready", "")
	f.expectCondition(owner, "Ready", metav1.ConditionFalse, "Waiting", "netReady: it isn't seen yet")

	phase = phases.Failed("it has failed")
	delete(f.service.things, f.service.mustFind("left").id)
	reconcile()
	owner = reconcile()
	f.expectCondition(owner, "leftReady", metav1.ConditionFalse, "Waiting", "waits for net")
}

func TestReconcile_createsNothingWhenFindFails(t *testing.T) {
	t.Parallel()
	for _, class := range []fault.Class{fault.Transient, fault.Credentials, fault.Invalid, fault.Quota, fault.Busy} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.service.failing("create net", &fault.Error{Class: fault.Invalid, Err: errors.New("refused")})
			_, _ = f.reconcile() // now the owner has an ID, and net was refused once
			f.clock.Step(10 * poll)
			f.service.failing("find", &fault.Error{Class: class, Err: errors.New("can't say")})
			owner, _ := f.reconcile()
			f.expectCondition(owner, "netReady", meta.FindStatusCondition(owner.Status.Conditions, "netReady").Status, string(class), "can't say")
			f.Expect(f.service.called("create net")).To(Equal(1))
		})
	}
}

func TestReconcile_unknownIsNotAbsent(t *testing.T) {
	t.Parallel()
	for _, class := range []fault.Class{fault.Transient, fault.Credentials, fault.Invalid, fault.Busy} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			_, err := f.reconcile()
			f.Expect(err).NotTo(HaveOccurred())
			before := f.ledger()
			f.service.before = func(string) error { return &fault.Error{Class: class, Err: errors.New("can't say")} }
			owner, err := f.reconcile()
			f.Expect(err != nil).To(Equal(class == fault.Transient), "only what may heal by itself is tried again with backoff")
			f.Expect(meta.IsStatusConditionTrue(owner.Status.Conditions, "netReady")).To(BeFalse())
			f.Expect(f.ledger()).To(Equal(before), "nothing is cleared")
			f.service.before = nil
			_, err = f.reconcile()
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(f.service.keys()).To(Equal(everything), "nothing is doubled")
		})
	}
}

func TestReconcile_stopsAskingOnceTheCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.service.before = func(string) error {
		return &fault.Error{Class: fault.Credentials, Err: errors.New("secret x/y: the token is refused")}
	}
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.calls).To(HaveLen(1))
	f.expectCondition(owner, "netReady", metav1.ConditionUnknown, "Credentials", "secret x/y")
	f.expectCondition(owner, "lonelyReady", metav1.ConditionUnknown, "Credentials", "waits for netReady")
	f.expectCondition(owner, "Ready", metav1.ConditionUnknown, "Credentials", "netReady: secret x/y")
}

func TestReconcile_waitsUntilAnUnansweredCreateHasSettled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.service.failing("create net", errors.New("connection reset"))
	_, err := f.reconcile()
	f.Expect(err).To(MatchError(ContainSubstring("connection reset")))

	f.service.before = nil
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Settling", "the service may still finish the last attempt")
	f.Expect(f.service.called("create net")).To(Equal(1))

	f.clock.Step(settle)
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal(everything))
}

// Whatever enqueues the owner: a create that the service has refused isn't repeated at once, but when its time has come,
// or when the spec has changed.
func TestReconcile_asksSlowlyForWhatWasRefused(t *testing.T) {
	t.Parallel()
	for _, class := range []fault.Class{fault.Quota, fault.Conflict, fault.Invalid} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.service.failing("create net", &fault.Error{Class: class, OtherID: "id-of-another", Err: errors.New("refused")})
			for range 20 {
				owner, err := f.reconcile()
				f.Expect(err).NotTo(HaveOccurred())
				f.expectCondition(owner, "netReady", metav1.ConditionFalse, string(class), "refused")
			}
			f.Expect(f.service.called("create net")).To(Equal(1))
			f.Expect(f.service.called("find")).To(BeNumerically("<=", 2), "a list may be wrong once")

			f.clock.Step(10 * poll)
			_, _ = f.reconcile()
			f.Expect(f.service.called("create net")).To(Equal(2))

			owner := f.owner()
			owner.Spec.VPC.Description = "changed"
			f.Expect(f.client.Update(t.Context(), owner)).To(Succeed())
			f.service.before = nil
			_, err := f.reconcile()
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(f.service.keys()).To(Equal(everything))
		})
	}
}

func TestReconcile_keepsOneOfSeveralThatCarryOurTagWhereverItCrashes(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		f := newFixture(t)
		f.service.after = func(call string) error {
			if call == "create net" {
				double := new(*f.service.things["id-1"])
				double.id = "id-0"
				f.service.things[double.id] = double
				return errors.New("connection reset")
			}
			return nil
		}
		_, err := f.reconcile()
		f.Expect(err).To(HaveOccurred())
		crashed := f.crashAfter(n)
		_, _ = f.reconcile()
		f.recover()
		f.untilReady(n)
		f.service.finish()
		f.Expect(f.service.keys()).To(Equal(everything), "crashed after %d steps", n)
		if !crashed() {
			t.Logf("crashed at %d points", n)
			return
		}
	}
}

func TestReconcile_makesAgainWhatSomebodyElseDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	delete(f.service.things, "id-1")
	_, _ = f.reconcile()
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal(everything))
}

func TestReconcile_failsWhenWhatSomebodyElseDeletedCannotBeMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ifLost = "get another one"
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	delete(f.service.things, "id-1")
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Lost", "thing id-1 was deleted outside Bedplate: get another one")
	f.Expect(f.service.called("create net")).To(Equal(1))
}

func TestReconcile_startsNothingForAnOwnerThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	readBefore := f.owner()
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, err := f.reconcileObject(readBefore)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(BeEmpty())
}

func TestReconcile_doesNothingOnTheStrengthOfAStaleOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stale := f.owner()
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.lag = &ledgerv1.Ledger{}
	result, err := f.reconcileObject(stale)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
	f.Expect(stale.Status.Conditions).To(BeEmpty(), "what is known to be old isn't reported")
	f.Expect(f.service.keys()).To(Equal(everything))
}

// The cache still has the ID of a thing that was lost and made again.
func TestReconcile_doesNotForgetAnIDOnTheStrengthOfAStaleOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	stale, old := f.owner(), f.ledger()
	delete(f.service.things, "id-1")
	_, _ = f.reconcile()
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())

	f.lag = old
	kind := f.service.kind()
	g, err := f.engine().New(t.Context(), stale, []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	net := graph.Add(g, kind, f.want("net"))
	_, err = g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(net.ID()).To(Equal("id-1"), "old, but not cleared: the next look at the owner has the new one")
}

func TestReconcile_goesOnWhenSomebodyElseChangesTheOwnerMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	other := f.owner()
	other.Labels = map[string]string{"touched": "yes"}
	f.Expect(f.client.Update(t.Context(), other)).To(Succeed())
	_, err := f.reconcileObject(owner)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal(everything))
}

func TestReconcile_takesAwayWhatLeftTheSpec(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.below = []string{"left"}
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "rightReady", metav1.ConditionFalse, "Deleting", "")
	f.service.finish()
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal([]string{"left", "lonely", "net"}))
	f.Expect(f.ledger().Entry("right")).To(BeNil())
}

func TestReconcile_usesTheUsersOwnAndNeverDeletesIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	theirs, err := f.service.create(graph.Tag{})
	f.Expect(err).NotTo(HaveOccurred())
	kind := f.service.kind()
	run := func() (*bmmv1.NvidiaBMMCluster, string) {
		owner := f.owner()
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		h := graph.Add(g, kind, graph.Want[thing]{Key: "theirs", Condition: "TheirsReady", Claim: graph.Use(theirs.id)})
		_, err = g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		return owner, h.ID()
	}
	owner, id := run()
	f.Expect(id).To(Equal(theirs.id))
	f.expectCondition(owner, "TheirsReady", metav1.ConditionTrue, "Ready", "")
	_, done := f.delete()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.things).To(HaveKey(theirs.id))

	delete(f.service.things, theirs.id)
	owner, _ = run()
	f.expectCondition(owner, "TheirsReady", metav1.ConditionFalse, "Missing", theirs.id+" does not exist")
}
