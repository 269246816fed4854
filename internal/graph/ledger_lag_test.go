package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// That a ledger is lost, or another's, is read past the cache.
func TestLedger_isNeitherLostNorAnothersWhereTheCacheIsBehind(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	another := ledger.DeepCopy()
	another.Spec.Home, another.Spec.OwnerUID, another.OwnerReferences[0].UID = "another", "another", "another"
	for what, lag := range map[string]*ledgerv1.Ledger{"there is none": {}, "it is another's": another} {
		f.lag = lag
		_, err := f.reconcileObject(f.shown())
		f.Expect(err).NotTo(HaveOccurred(), what)
	}
}

func TestAdoptInto_notInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "net", Kind: "thing", ID: "id-9", Own: true})).
		To(MatchError(ContainSubstring("id-1 under the key net already")))
}
