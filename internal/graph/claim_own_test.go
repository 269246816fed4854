package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// A lookup by the owner's ID and by a name shows what this owner has under another key. That isn't the user's own.
func TestUseOrCreate_doesNotTakeWhatItsOwnerHasUnderAnotherKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	for n := range 4 {
		g, kind := f.graphOf(f.owner())
		graph.Add(g, kind, f.want("net"))
		named := f.want("lonely")
		named.Claim = graph.UseOrCreate("shared")
		graph.Add(g, kind, named)
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		if lonely := f.ledger().Entry("lonely"); n == 0 {
			delete(f.service.things, lonely.ID) // so that it is searched for
		}
	}
	f.Expect(f.ledger().Entry("lonely").ID).NotTo(Equal(f.ledger().Entry("net").ID))
	f.Expect(f.ledger().Entry("lonely").Foreign).To(BeFalse())
}
