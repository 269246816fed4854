package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// What left the spec uses up the quota that a change needs, and a lookup comes after what is to be changed.
func TestLookup_afterAChangeThatNeedsAQuotaIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	f.service.before = func(call string) error {
		if call == "resize id-2" && f.service.has("old") {
			return &fault.Error{Class: fault.Quota, Err: errors.New("nothing left: ask for more")}
		}
		return nil
	}
	f.specifies(3, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.want("node"))
		graph.Add(g, k, f.want("old"))
	})
	f.Expect(f.service.mustFind("node").id).To(Equal("id-2"))
	f.size = 5
	f.specifies(24, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		node := graph.Add(g, k, f.want("node"))
		graph.Add(g, k, f.claims("own", finding(theirs.id), node))
	})
	f.Expect(f.service.keys()).To(ConsistOf("", "node"), "%v", f.service.changes())
	f.Expect(f.ledger().Entry("own")).To(HaveField("ID", theirs.id))
}

// The same where what it comes after is broken until what left the spec is gone.
func TestLookup_afterWhatIsBrokenIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	f.specifies(3, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("node", graph.Create()))
		graph.Add(g, k, f.claims("old", graph.Create()))
	})
	for range 24 {
		f.service.mustFind("node").broken = 1
		if !f.service.has("old") {
			f.service.mustFind("node").broken = 0
		}
		f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
			node := graph.Add(g, k, f.claims("node", graph.Create()))
			graph.Add(g, k, f.claims("own", finding(theirs.id), node))
		})
	}
	f.Expect(f.service.keys()).To(ConsistOf("", "node"), "%v", f.service.changes())
}

// Rule 4, 7: a lookup comes after what isn't known, because the service doesn't answer. What the spec names isn't deleted meanwhile.
func TestLookup_afterWhatIsUnknownIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]bool{"directly": false, "after what waits for it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.put("n") // id-1
			f.specifies(2, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("old", graph.Create())) })
			spec := func(g *graph.Graph, k *graph.Kind[thing]) {
				before := graph.Ref(graph.Add(g, k, f.claims("net", graph.UseOrCreate("n"))))
				if between {
					before = graph.Add(g, k, f.claims("node", graph.Create(), before))
				}
				graph.Add(g, k, f.claims("own", finding("id-2"), before))
			}
			f.service.failing("find", errors.New("503"))
			f.specifies(2, as, spec)
			f.Expect(f.service.called("delete id-2")).To(BeZero(), "it isn't known whether there is what the lookup comes after")
		})
	}
}
