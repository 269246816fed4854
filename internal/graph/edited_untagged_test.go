package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// A ledger was edited by hand, or `bedplate ledger adopt` was given a wrong ID: it names one of the user's own, which carries no tag. That
// isn't a tag that went missing, to be put back.
func TestLedger_thatWasEditedByHandMakesNothingOfTheUsersOurs(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	reconcile := func() {
		g, kind := f.graphOf(f.owner())
		want := f.want("lonely")
		var h *graph.Handle[thing]
		want.Update = func(o *thing) (u graph.Update) { // as bmm's kinds with labels do
			own := h.OwnKey()
			if o.tag.Owner != own.Owner {
				u.Changes = []graph.Change{{Field: "label owner", To: own.Owner}}
			}
			u.Apply = func(context.Context) error {
				f.service.things[o.id].tag = graph.Tag{Owner: own.Owner, Key: own.Name, Token: own.Token}
				return nil
			}
			return u
		}
		h = graph.Add(g, kind, want)
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	reconcile()
	theirs := f.put("theirs")
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("lonely").ID = theirs.id })
	reconcile()
	f.Expect(theirs.tag).To(Equal(graph.Tag{}))
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	for range 3 {
		f.delete()
		f.service.finish()
	}
	f.Expect(f.service.called("delete " + theirs.id)).To(BeZero())
}
