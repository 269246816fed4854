package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// The status shows it, an older ledger lacks it, and it has no tag that would prove whose it is: a peering of the user's own VPC, say.
// Only the operator knows; it must neither be leaked silently nor become the user's own.
func TestLedger_thatIsOlderThanWhatHasNoTag(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(f *fixture, owner graph.Owner) error{
		"goes on": func(f *fixture, owner graph.Owner) error {
			g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, f.service.kindOf(untagged))
			if err != nil {
				return err
			}
			want := f.want("lonely")
			want.Claim = graph.UseOrCreate("shared")
			graph.Add(g, f.service.kindOf(untagged), want)
			_, err = g.Reconcile(f.t.Context())
			if e := f.ledger().Entry("lonely"); e != nil {
				f.Expect(e.Foreign).To(BeFalse(), "it was made for this owner")
			}
			return err
		},
		"is deleted": func(f *fixture, owner graph.Owner) error {
			g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, f.service.kindOf(untagged))
			if err != nil {
				return err
			}
			done, _, err := g.Delete(f.t.Context())
			f.Expect(done).To(BeFalse(), "it is still there")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.Expect(f.round(f.owner(), graph.UseOrCreate("shared"), untagged)).To(Succeed())
			for _, made := range f.service.things {
				made.title = "shared"
			}
			f.update(f.ledger(), func(l *ledgerv1.Ledger) {
				f.Expect(l.Entry("lonely").Foreign).To(BeFalse())
				l.Spec.Entries = nil
			})
			_ = then(f, showing{f.owner(), []string{"id-1"}})
			f.Expect(f.service.things).To(HaveKey("id-1"))
		})
	}
}
