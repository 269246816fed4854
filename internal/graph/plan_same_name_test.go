package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: a key is replaced by another one with the same name, and something else comes after both. The old one stays, because it is needed
// until the new one exists, and that needs its name. The plan doesn't say that it is deleted.
func TestPlan_deletesNothingThatIsNeededUntilItsNameIsFree(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	spec := func(key string) *graph.Graph {
		g, kind := f.graphOf(f.owner(), titled)
		w := f.want(key)
		w.Claim, w.Update = graph.UseOrCreate("name"), nil
		create := w.Create
		w.Create = func(ctx context.Context, key graph.Key) (graph.Call[thing], error) {
			call, err := create(ctx, key)
			return func(ctx context.Context) (*thing, error) {
				made, err := call(ctx)
				made.title = key.Title
				return made, err
			}, err
		}
		graph.Add(g, kind, f.want("left", graph.Add(g, kind, w)))
		return g
	}
	_, err := spec("one").Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	one := f.ledger().Entry("one").ID
	plan := spec("other").Plan(t.Context())
	for range 12 {
		_, _ = spec("other").Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.called("delete "+one)).To(BeZero(), "%v", f.service.changes())
	f.Expect(plan).NotTo(ContainElement(HaveField("Action", graph.ActionDelete)), "%+v", plan)
}
