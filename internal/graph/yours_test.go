package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// The spec names as the user's own what was made under another key of this object (bmm: key "group" becomes "group/ID").
func TestYours_isWhatTheSpecUsesUnderAnotherKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.groups("")
	f.groups("")
	for range 5 {
		f.groups("id-1")
	}
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "the spec uses it as the user's own, and the ledger says so: %+v", f.ledger().Spec.Entries)
}

// The ledger says that it is the user's own, under another key than its tag names: the sweep at the end of a deletion takes it for a stray.
func TestYours_isNoStray(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed()) // lonely, id-1
	made, err := f.service.create(graph.Tag{Owner: f.ledger().Spec.OwnerID, Key: "group", Token: "earlier"})
	f.Expect(err).NotTo(HaveOccurred())
	// an operator says that it is the user's own: bedplate ledger adopt --yours, for which the key is group/ID
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "group/" + made.id, Kind: "thing", ID: made.id, Own: false})).To(Succeed())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, done := f.deletes()
	f.Expect(f.service.called("delete "+made.id)).To(BeZero(), "done %v", done)
}

// The spec gives what was made under one key another key, which uses what has the name: it is taken for the user's own, and deleted.
func TestYours_isNotWhatWasMadeUnderAnotherKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	round := func(key string) {
		g, kind := f.graphOf(f.owner(), titled)
		w := f.want(key)
		w.Claim = graph.UseOrCreate("name")
		w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				made, err := f.service.create(graph.Tag{})
				made.title = "name"
				return made, err
			}, nil
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
	}
	round("one")
	round("one")
	f.Expect(f.ledger().Entry("one").Foreign).To(BeFalse())
	for range 4 {
		round("other")
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(f.ledger().Spec.Entries).To(ConsistOf(And(HaveField("Key", "other"), HaveField("Foreign", false), HaveField("ID", "id-2"))))
	f.Expect(f.service.things).To(HaveLen(1), "what was made under the other key went first")
}
