package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// The user's own, by its ID, in a net; the spec names another net, in which something has the same ID (a name), or nothing.
// docs: what exists in another scope than the spec asks for is ClaimChanged; or else it is bound again.
func TestUse_inAnotherScope(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	a, b, x := f.put("a"), f.put("b"), f.put("x")
	f.in[x.id] = a.id
	net := a.id
	want := func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
		w := f.want(netKey)
		w.Claim = graph.Use(net)
		l := f.leaf(leafKey, graph.Add(g, nets, w))
		l.Claim = graph.Use(x.id)
		graph.Add(g, leaves, l)
	}
	_, err := f.rounds(3, want)
	f.Expect(err).NotTo(HaveOccurred())
	net = b.id
	owner, _ := f.rounds(4, want)
	f.Expect(f.why(owner)).NotTo(HavePrefix("Ready"), "in net %s there is no leaf %s: %+v", b.id, x.id, f.ledger().Spec.Entries)
}
