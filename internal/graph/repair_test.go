package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

func TestRepair_changesWhatIsNotAsWanted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.size = 3
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Changing", "size: 0 → 3")
	owner, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionTrue, "Ready", "")
	f.Expect(f.service.called("resize id-1")).To(Equal(1))

	f.service.things["id-1"].size = 7 // another client
	_, _ = f.reconcile()
	f.Expect(f.service.things["id-1"].size).To(Equal(3))
}

func TestRepair_leavesAloneWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.size = 3
	f.service.things["id-1"].creating = true
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Waiting", "being made")
	f.Expect(f.service.called("resize id-1")).To(BeZero())
}

// Otherwise it would be a change on every reconcile.
func TestRepair_asksSlowlyForWhatTheServiceWritesInAWayOfItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.size = 3
	f.service.stubborn = true
	for range 5 {
		owner, err := f.reconcile()
		f.Expect(err).NotTo(HaveOccurred())
		f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Changing", "size: 0 → 3")
	}
	f.Expect(f.service.called("resize id-1")).To(Equal(1))
	f.clock.Step(10 * poll)
	_, _ = f.reconcile()
	f.Expect(f.service.called("resize id-1")).To(Equal(1), "it may show late")
	f.clock.Step(settle - 10*poll)
	_, _ = f.reconcile()
	f.Expect(f.service.called("resize id-1")).To(Equal(2))
}

// again reconciles a graph of one thing, net, that a service may undo the changes of.
func (f *fixture) again(inEffect func(*thing) bool) *bmmv1.NvidiaBMMCluster {
	f.t.Helper()
	kind, owner := f.service.kind(), f.owner()
	g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	want := f.want("net")
	want.Again, want.InEffect = true, inEffect
	graph.Add(g, kind, want)
	_, _ = g.Reconcile(f.t.Context())
	return owner
}

func TestRepair_appliesOnceMoreWhatTheServiceMayHaveUndone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	never := func(*thing) bool { return false }
	f.again(never)
	f.clock.Step(2 * settle)
	f.again(never)
	f.Expect(f.service.called("resize id-1")).To(BeZero(), "nothing was changed")

	f.size = 3
	f.again(never)
	for range 3 {
		owner := f.again(never)
		f.expectCondition(owner, "netReady", metav1.ConditionTrue, "Ready", "")
	}
	f.Expect(f.service.called("resize id-1")).To(Equal(1))
	for range 3 {
		f.clock.Step(settle)
		owner := f.again(never)
		f.expectCondition(owner, "netReady", metav1.ConditionTrue, "Ready", "")
		f.Expect(f.service.called("resize id-1")).To(Equal(2))
	}
}

// A process that dies between the change and its record has made the change all the same.
func TestRepair_appliesOnceMoreAlsoWhereverItCrashed(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		f := newFixture(t)
		never := func(*thing) bool { return false }
		f.again(never)
		f.size = 3
		crashed := f.crashAfter(n)
		f.again(never)
		f.recover()
		before := f.service.called("resize id-1")
		for range 3 {
			f.again(never)
		}
		f.clock.Step(settle)
		f.again(never)
		if before > 0 { // it was asked for, so it has to be asked for again
			f.Expect(f.service.called("resize id-1")).To(BeNumerically(">", before), "crashed after %d steps", n)
		}
		f.Expect(f.service.called("resize id-1")).To(BeNumerically(">", 1), "crashed after %d steps", n)
		if !crashed() {
			t.Logf("crashed at %d points", n)
			return
		}
	}
}

func TestRepair_appliesOnceWhatIsInEffectNoMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lit := false
	isLit := func(*thing) bool { return lit }
	f.again(isLit)
	f.again(isLit)
	f.Expect(f.service.called("resize id-1")).To(BeZero(), "it never was")
	lit = true
	f.again(isLit)
	lit = false
	owner := f.again(isLit)
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Changing", "id-1 is no longer in effect")
	for range 3 {
		owner = f.again(isLit)
		f.expectCondition(owner, "netReady", metav1.ConditionTrue, "Ready", "")
		f.clock.Step(settle)
	}
	f.Expect(f.service.called("resize id-1")).To(Equal(1))
}

func TestRepair_saysWhyAChangeWasRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.size = 3
	f.service.failing("resize id-1", &fault.Error{Class: fault.Invalid, Op: "resize", Err: errors.New("3 is too big")})
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Invalid", "3 is too big")
	f.expectCondition(owner, "leftReady", metav1.ConditionFalse, "Changing", "size")
}

// A resource that was wanted after another one and isn't any more must not keep that one from being deleted.
func TestReconcile_keepsTheOrderOfDeletionUpToDate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	kind := f.service.kind()
	reconcile := func() {
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		for _, key := range everything {
			if key != "net" {
				graph.Add(g, kind, f.want(key))
			}
		}
		_, err = g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	reconcile()
	f.service.finish()
	reconcile()
	f.Expect(f.service.keys()).To(Equal([]string{"left", "lonely", "right"}))
}

// An attempt that couldn't even be prepared was none: nothing has to settle, nothing has to be searched for.
func TestReconcile_intendsNothingThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kind := f.service.kind()
	owner := f.owner()
	g, err := f.engine().New(t.Context(), owner, []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	want := f.want("net")
	want.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
		return nil, &fault.Error{Class: fault.Invalid, Err: errors.New("the Secret is empty: fill it")}
	}
	graph.Add(g, kind, want)
	_, err = g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Invalid", "fill it")
	f.Expect(f.ledger()).To(BeNil())
}

// What comes after a resource must not begin because the answer to a create says ready, where that has ignored something.
func TestRepair_whatWasMadeOtherwiseIsNotReady(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.size = 3 // and the service makes everything of size 0
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Changing", "size: 0 → 3")
	f.expectCondition(owner, "leftReady", metav1.ConditionFalse, "Waiting", "waits for net")
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.things["id-1"].size).To(Equal(3))
}
