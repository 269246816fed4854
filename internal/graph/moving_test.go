package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// clusterctl waits for the annotation to go once it has paused the cluster. An owner that only waits must not hold it up.
func TestLetMove_waitsOnlyForWhatTheServiceMayBeAt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.stripFinalizers()
	f.below = nil
	owner := f.owner()
	f.Expect(f.engine().Hold(t.Context(), owner, finalizer)).To(Succeed())
	f.Expect(f.owner().Annotations).To(HaveKey(clusterctlv1.BlockMoveAnnotation))
	f.Expect(f.owner().Finalizers).To(ContainElement(finalizer))

	f.service.after = func(call string) error {
		if call == "create net" {
			return &fault.Error{Class: fault.Transient, Ambiguous: true, Op: call}
		}
		return nil
	}
	_, _ = f.reconcile()
	result, err := f.engine().LetMove(t.Context(), f.owner())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(result.RequeueAfter).To(BeNumerically("~", settle, settle/20))
	f.Expect(f.owner().Annotations).To(HaveKey(clusterctlv1.BlockMoveAnnotation))

	f.clock.Step(settle)
	result, err = f.engine().LetMove(t.Context(), f.owner())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(result.RequeueAfter).To(BeZero())
	f.Expect(f.owner().Annotations).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation))
}

func (f *fixture) stripFinalizers() {
	f.t.Helper()
	owner := f.owner()
	owner.Finalizers = nil
	f.Expect(f.client.Update(f.t.Context(), owner)).To(Succeed())
}

func TestMayMove_onceNothingIsPending(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	owner.Annotations = map[string]string{clusterctlv1.BlockMoveAnnotation: "true"}
	open := func() *graph.Graph {
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, f.service.kind())
		f.Expect(err).NotTo(HaveOccurred())
		return g
	}
	f.service.after = func(string) error { return &fault.Error{Class: fault.Transient, Ambiguous: true} }
	_, _ = f.reconcile()
	open().MayMove()
	f.Expect(owner.Annotations).NotTo(BeEmpty())
	f.service.after = nil
	f.untilReady(0)
	open().MayMove()
	f.Expect(owner.Annotations).To(BeEmpty())
}

// Later creates block a move as well.
func TestHold_holdsUpAMoveWhileSomethingNewIsPending(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.stripFinalizers()
	f.below = nil
	owner := f.owner()
	f.Expect(f.engine().Hold(t.Context(), owner, finalizer)).To(Succeed())
	_, err := f.reconcileObject(owner)
	f.Expect(err).NotTo(HaveOccurred())
	_, err = f.engine().LetMove(t.Context(), owner)
	f.Expect(err).NotTo(HaveOccurred())
	owner = f.owner()
	f.Expect(owner.Annotations).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation), "nothing is pending")

	f.below = []string{"left"}
	f.service.after = func(call string) error {
		if call == "create left" {
			return &fault.Error{Class: fault.Transient, Ambiguous: true}
		}
		return nil
	}
	f.Expect(f.engine().Hold(t.Context(), owner, finalizer)).To(Succeed())
	_, _ = f.reconcileObject(owner)
	f.Expect(f.ledger().Entry("left").State).To(BeEquivalentTo("pending"))
	f.Expect(f.owner().Annotations).To(HaveKey(clusterctlv1.BlockMoveAnnotation))
}
