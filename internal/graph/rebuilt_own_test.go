package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// As TestLedger_thatIsRebuiltInPlaceOfAnOlderOneOfItsOwn; the older one has the user's own, which the object shows, too. The deletion doesn't wait
// for a statement whose that is: the older ledger says so.
func TestLedger_thatIsRebuiltKnowsTheUsersOwnOfTheOlderOne(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	own := f.put("own") // id-5
	f.update(ledger, func(l *ledgerv1.Ledger) {
		l.Spec.Entries = []ledgerv1.Entry{{Key: "own", Kind: "thing", Condition: "ownReady", State: ledgerv1.Bound, ID: own.id, Foreign: true}}
		l.Spec.OwnerUID, l.OwnerReferences = "earlier", nil
	})
	ids := []string{"id-1", "id-2", "id-3", "id-4", own.id}
	owner := showing{f.owner(), ids}
	owner.SetAnnotations(map[string]string{ledgerv1.TakeOverAnnotation: "true"})
	_, err := f.reconcileObject(owner)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	left, done := f.deletes(ids...)
	why := ""
	if c := meta.FindStatusCondition(left.GetConditions(), "Ready"); c != nil {
		why = c.Message
	}
	f.Expect(f.service.called("delete " + own.id)).To(BeZero())
	f.Expect(done).To(BeTrue(), why)
}
