package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// The lookup that says which keys there are has failed: what the ledger has of them stays, and so does what it needs.
func TestKeep_whatCannotBeKnownNowStays(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	open := func(known bool) *graph.Graph {
		kind := f.service.kind()
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		if known {
			zone := graph.Add(g, kind, f.want("zone/dal10"))
			graph.Add(g, kind, f.want("net", zone))
		} else {
			g.Keep("net", "the zones can't be looked up")
		}
		return g
	}
	_, err := open(true).Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(open(false).Plan(t.Context())).To(ContainElement(graph.Step{
		Key: "net", Kind: "thing", Action: graph.ActionKeep, ID: "id-2", Why: "the zones can't be looked up",
	}))
	for range 3 {
		_, err = open(false).Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		f.service.finish()
	}
	f.Expect(f.service.keys()).To(Equal([]string{"net", "zone/dal10"}), "the zone is left as long as something needs it")
	g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	for range 3 {
		_, err = g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		f.service.finish()
	}
	f.Expect(f.service.keys()).To(BeEmpty(), "it goes when it is known that it isn't wanted")
}
