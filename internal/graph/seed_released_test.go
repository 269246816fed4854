package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// `bedplate ledger seed` in the place of a ledger that owns nothing keeps the owner's ID, and forgets what the ledger has released: what
// the user has kept carries that ID, and is deleted with the owner.
func TestSeed_forgetsNothingThatWasReleased(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"released": true, "still used": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := kept(t)
			if released {
				f.keeps("")
				f.Expect(f.ledger().Spec.Released).To(Equal([]string{"thing id-2"}))
			}
			f.Expect(f.engine().Seed(t.Context(), f.owner(), "", []string{"any"}, []graph.AnyKind{f.service.kind()},
				ledgers.Resource{Key: "site", Kind: "thing", ID: "id-1"})).To(Succeed())
			if !released {
				f.keeps("")
			}
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			f.expectKept()
		})
	}
}
