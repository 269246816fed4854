package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// As TestOurs_stayOursWhenALookupFindsThem, but the lookup isn't answered, or waits for something else. What it finds isn't known, so that what left
// the spec may be what the spec names.
func TestOurs_stayOursWhileALookupIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"it fails": false, "it waits for something else": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.names(naming{ours: true})
			f.names(naming{ours: true})
			f.Expect(f.ledger().Entry("group").ID).To(Equal("id-1"))
			for range 3 {
				g, kind := f.graphOf(f.owner())
				before := g.Gate("BeforeReady", func() phases.Phase {
					if waits {
						return phases.Waiting("it isn't ready")
					}
					return phases.Ready()
				})
				w := f.want("own", before)
				w.Update = nil
				w.Claim = graph.UseFound("by name", func(context.Context) (string, error) { return "", errors.New("503") })
				graph.Add(g, kind, w)
				_, _ = g.Reconcile(t.Context())
				f.clock.Step(2 * settle)
			}
			f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.changes())
		})
	}
}
