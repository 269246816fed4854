package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Rule 4, 7: as TestLookup_afterWhatIsUnknownIsWaitedFor, where what isn't known is decided after what is to be deleted.
func TestLookup_afterWhatIsFoundUnknownLaterIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.put("n") // id-1
	down := func(k *graph.Kind[thing]) {
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			if key.Name == "net" {
				return nil, errors.New("503")
			}
			return find(ctx, key)
		}
	}
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("first"))) // id-2
	})
	f.service.after = nil
	spec := func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("second")))
		net := graph.Add(g, k, f.claims("net", graph.UseOrCreate("n")))
		graph.Add(g, k, f.claims("own", finding("id-2"), net))
	}
	f.specifies(2, down, spec)
	f.Expect(f.service.called("delete id-2")).To(BeZero(), "it isn't known whether there is what the lookup comes after")
}
