package decide

import (
	"testing"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Of two that are ours the one of this attempt stays: its choices are those that the ledger has.
func TestDecide_keepsTheOneOfThisAttempt(t *testing.T) {
	t.Parallel()
	w := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	older := Thing{ID: "1", Tag: Tag{Owner: "o", Key: "k", Token: "9"}, Phase: phases.Ready()}
	newer := Thing{ID: "2", Tag: Tag{Owner: "o", Key: "k", Token: "2"}, Phase: phases.Ready()}
	e := &ledgerv1.Entry{Kind: "thing", State: ledgerv1.Pending, Token: "2", At: stampOf(3)}
	d := Next(w, e, Sight{Began: epoch, Listed: true, List: []Thing{older, newer}, ID: newer.ID, Object: &newer, Wrote: true}, epoch)
	if d.Verb != Remove || d.ID != older.ID {
		t.Errorf("%s %s", d.Verb, d.ID)
	}
}
