package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// What was refused doesn't exist, so nothing that it comes after has to wait until it is deleted; and it is wanted, so it never is.
func TestReconcile_takesAwayWhatSomethingRefusedWasToComeAfter(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.below = []string{"left"}
	f.service.failing("create left", &fault.Error{Class: fault.Quota, Err: errors.New("nothing left")})
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal([]string{"lonely", "net"}))

	for range 3 { // now left comes after nothing, and can't be made because of something else
		g, kind := f.graphOf(f.owner())
		left := f.want("left")
		left.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
			return nil, fault.Invalidf("not at this site: choose another")
		}
		graph.Add(g, kind, left)
		graph.Add(g, kind, f.want("lonely"))
		_, err = g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		f.service.finish()
		f.clock.Step(20 * poll)
	}
	f.Expect(f.service.keys()).To(Equal([]string{"lonely"}))
}
