package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// The service has done a create twice. One is bound; the other is used by the spec as the user's own for a while, and then isn't. A
// deletion leaves it, whatever tag it carries: also the token of the same attempt.
func TestTheirs_areADoubleThatWasReleased(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"the owner is deleted": true, "the key leaves the spec": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			round := func(keys ...string) {
				g, kind := f.graphOf(f.owner())
				for _, key := range keys {
					w := f.want(key)
					if key == "own" {
						w.Claim = graph.Use("id-2")
					}
					graph.Add(g, kind, w)
				}
				_, _ = g.Reconcile(t.Context())
				f.service.finish()
				f.clock.Step(2 * settle)
			}
			round("lonely")
			e := f.ledger().Entry("lonely")
			f.Expect(e).To(And(HaveField("State", ledgerv1.Bound), HaveField("ID", "id-1")))
			_, err := f.service.create(graph.Tag{Owner: f.ledger().Spec.OwnerID, Key: "lonely", Token: e.Token}) // id-2
			f.Expect(err).NotTo(HaveOccurred())
			round("lonely", "own")
			f.Expect(f.ledger().Entry("own").Foreign).To(BeTrue())
			round("lonely")
			f.Expect(f.ledger().Spec.Released).To(Equal([]string{"thing id-2"}))
			if all {
				f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
				for range 4 {
					f.deletes()
					f.clock.Step(2 * settle)
				}
			} else {
				for range 6 {
					round()
				}
			}
			f.Expect(f.service.called("delete id-1")).To(Equal(1))
			f.Expect(f.service.called("delete id-2")).To(BeZero(), "the ledger has released it as the user's own: %v", f.service.changes())
		})
	}
}
