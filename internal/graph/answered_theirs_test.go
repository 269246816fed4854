package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// The create is still running when the user sees what it makes, names that as their own under another key, and deletes the owner before
// it is bound. The answer comes later: rule 7 says that what the spec has named is never deleted.
func TestTheirs_areNamedByTheAnswerToACreate(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"then the owner is deleted": false, "then the spec doesn't name it any more": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			site := f.put("site") // id-1
			f.pool = &creates.Pool{Limit: 10}
			answer := f.slow()
			round := func(own string) {
				g, kind := f.graphOf(f.owner())
				w := f.want("site")
				w.Claim = graph.Use(site.id)
				s := graph.Add(g, kind, w)
				graph.Add(g, kind, f.want("group"))
				if own != "" {
					w := f.want("group/"+own, s)
					w.Claim = graph.Use(own)
					graph.Add(g, kind, w)
				}
				_, _ = g.Reconcile(t.Context())
			}
			round("")
			f.Expect(f.ledger().Entry("group").State).To(Equal(ledgerv1.Pending))
			site.creating = true // what theirs comes after isn't ready: they aren't bound
			round("id-2")
			f.Expect(f.ledger().Entry("group").Theirs).To(ContainElement("id-2"), "recorded")
			answer()
			f.Eventually(func() int { return len(f.service.keys()) }).Should(Equal(2))
			if stays {
				f.Eventually(func() bool {
					round("id-2")
					e := f.ledger().Entry("group")
					return e != nil && e.State == ledgerv1.Bound
				}).Should(BeTrue())
				round("")
				f.Expect(f.ledger().Entry("group").ID).NotTo(Equal("id-2"), "the spec has named that as the user's own: %+v", f.ledger().Spec)
			}
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			f.Eventually(func() bool {
				f.clock.Step(2 * settle)
				_, done := f.deletes()
				return done
			}).Should(BeTrue())
			f.Expect(f.service.called("delete id-2")).To(BeZero(), "the spec has named it as the user's own: %v", f.service.changes())
		})
	}
}
