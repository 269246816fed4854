package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
)

// A manager has just begun, and its cache of owners is behind that of ledgers: the spec that it has doesn't name all that exists.
func TestReconcile_takesNothingAwayForASpecThatIsBehind(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	behind := f.outdated()
	f.madeAll()

	f.below = nil
	_, err := f.reconcileObject(behind)
	f.Expect(err).NotTo(HaveOccurred())
	f.service.finish()
	f.Expect(f.service.keys()).To(Equal(everything))
}

// The spec has changed since it was read. Admission allowed that, because nothing was created by it.
func TestReconcile_createsNothingByASpecThatIsBehind(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	behind := f.outdated()

	_, err := f.reconcileObject(behind)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.changes()).To(BeEmpty())
	f.Expect(f.ownsNothing(f.owner())).To(BeTrue(), "the intention was taken back")
	f.madeAll()
}

// The spec named one of the user's own when it was read. By the newest one another create needs the user.
func TestReconcile_makesNothingLostAgainAfterASpecThatIsBehind(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.ifLost = "make another one"
	behind, theirs := f.outdated(), f.put("theirs")
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	delete(f.service.things, f.service.mustFind("lonely").id)
	for range 2 {
		_ = f.round(behind, graph.Use(theirs.id))
	}
	for range 2 {
		f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	}
	f.Expect(f.service.called("create lonely")).To(Equal(1), "%v", f.service.calls)
}

// outdated is the owner as it was before its spec changed.
func (f *fixture) outdated() *bmmv1.NvidiaBMMCluster {
	f.t.Helper()
	behind, newest := f.owner(), f.owner()
	newest.Generation++
	f.Expect(f.client.Update(f.t.Context(), newest)).To(Succeed())
	f.Expect(f.owner().Generation).To(Equal(behind.Generation + 1))
	return behind
}
