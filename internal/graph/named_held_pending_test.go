package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: what something comes after was deleted outside, and its next create isn't answered. The spec names one of the user's own in
// its place. That waits for the create, which isn't searched for as long as something comes after it, and this comes after both until the
// user's own is ready.
func TestOwn_withoutATagReplacesWhatIsPendingAndStillNeeded(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(*thing) graph.Claim{
		"Use":         func(own *thing) graph.Claim { return graph.Use(own.id) },
		"UseOrCreate": func(own *thing) graph.Claim { return graph.UseOrCreate(own.title) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			own := f.put("theirs")
			round := func(replaced bool) *bmmv1.NvidiaBMMCluster {
				owner := f.owner()
				g, kind := f.graphOf(owner, named(f))
				w := f.want("net")
				if replaced {
					w = f.want("own")
					w.Claim, w.Update = claim(own), nil
				}
				graph.Add(g, kind, f.want("right", graph.Add(g, kind, w)))
				_, _ = g.Reconcile(t.Context())
				f.service.finish()
				f.clock.Step(2 * settle)
				return owner
			}
			round(false)
			f.Expect(f.ledger().Entry("right").ID).NotTo(BeEmpty())
			delete(f.service.things, f.ledger().Entry("net").ID) // outside Bedplate
			f.service.failing("create net", errors.New("connection reset"))
			round(false)
			round(false)
			f.service.before = nil
			f.Expect(f.ledger().Entry("net")).To(And(HaveField("ID", ""), HaveField("Token", Not(BeEmpty()))))
			var owner *bmmv1.NvidiaBMMCluster
			for range 30 {
				owner = round(true)
			}
			is, ready := meta.FindStatusCondition(owner.Status.Conditions, "ownReady"), meta.FindStatusCondition(owner.Status.Conditions, "netReady")
			f.Expect(is.Reason).To(Equal("Ready"), "own: %s; net: %v", is.Message, ready)
			f.Expect(f.ledger().Entry("net")).To(BeNil())
		})
	}
}
