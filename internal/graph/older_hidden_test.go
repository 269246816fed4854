package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// The user's own of that name was deleted, and one was made in its place. Then a ledger from before that was put back.
func TestLedger_thatIsOlderThanWhatWasMadeInPlaceOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	claim := graph.UseOrCreate("shared")
	theirs := f.put("shared")
	f.Expect(f.round(f.owner(), claim)).To(Succeed())
	older := f.ledger().Spec
	f.Expect(older.Entries).To(ConsistOf(HaveField("Foreign", true)))
	delete(f.service.things, theirs.id)
	for range 3 {
		f.Expect(f.round(f.owner(), claim)).To(Succeed())
	}
	f.Expect(f.service.keys()).To(Equal([]string{"lonely"}))
	f.Expect(f.ledger().Entry("lonely").Foreign).To(BeFalse())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec = older })

	f.deleteAll(func() graph.Owner { return showing{f.owner(), []string{f.service.mustFindAny().id}} })
}

func (s *service) mustFindAny() *thing {
	for _, t := range s.things {
		return t
	}
	return &thing{}
}

// What was refused when the ledger was written was made later.
func TestDelete_takesAwayWhatAnOlderLedgerHasAsRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.below = []string{"left"}
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	delete(f.service.things, f.service.mustFind("lonely").id)
	now := metav1.Time{Time: f.clock.Now()}
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		net := l.Entry("net")
		*net = ledgerv1.Entry{Key: "net", Kind: "thing", Condition: "netReady", State: ledgerv1.Refused, Refusal: string(fault.Quota), At: &now}
		l.Spec.Entries = []ledgerv1.Entry{*l.Entry("left"), *net}
	})
	f.deleteAll(func() graph.Owner { return f.owner() })
}
