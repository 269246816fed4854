package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

	f.service.things["id-1"].size = 7 // somebody else
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
	f.Expect(f.service.called("resize id-1")).To(Equal(2))
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
		g, err := f.engine().New(f.owner(), "any", kind)
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

// An attempt that couldn't even be prepared was none: nothing has to settle, nothing has to be looked for.
func TestReconcile_intendsNothingThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kind := f.service.kind()
	owner := f.owner()
	g, err := f.engine().New(owner, "any", kind)
	f.Expect(err).NotTo(HaveOccurred())
	want := f.want("net")
	want.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
		return nil, &fault.Error{Class: fault.Invalid, Err: errors.New("the Secret is empty: fill it")}
	}
	graph.Add(g, kind, want)
	_, err = g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Invalid", "fill it")
	f.Expect(f.owner().Annotations).NotTo(HaveKey(graph.LedgerAnnotation))
}
