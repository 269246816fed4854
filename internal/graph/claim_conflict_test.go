package graph_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// Two owners peer with each other, or a user is quicker: the service says that the name is taken, and so that ours wasn't made.
func TestDelete_leavesWhatHasTheNameOfARefusedAttempt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.pool = &creates.Pool{Limit: 1, Patience: time.Millisecond}
	meanwhile := make(chan struct{})
	f.slowly = func() { <-meanwhile }
	f.Expect(f.round(f.owner(), graph.UseOrCreate("shared"), untagged)).To(Succeed())
	theirs := f.put("shared")
	f.service.failing("create lonely", &fault.Error{Class: fault.Conflict, Err: errors.New("there is one")})
	close(meanwhile)
	f.Eventually(func() int { return f.service.called("create lonely") }).Should(Equal(1))
	f.pool.Drain()

	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	for range 6 {
		g, _ := f.graphOf(f.owner(), untagged)
		if done, _, _ := g.Delete(t.Context()); done {
			break
		}
		f.clock.Step(settle)
	}
	f.Expect(f.service.called("delete " + theirs.id)).To(BeZero())
}
