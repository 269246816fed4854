package graph

import (
	"github.com/bedplate/bedplate/internal/graph/phases"
	"testing"
)

// Of two that are ours the one of this attempt stays: its choices are those that the ledger has.
func TestDecide_keepsTheOneOfThisAttempt(t *testing.T) {
	t.Parallel()
	w := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	older := thing{id: "1", tag: Tag{Owner: "o", Key: "k", Token: "9"}, phase: phases.Ready()}
	newer := thing{id: "2", tag: Tag{Owner: "o", Key: "k", Token: "2"}, phase: phases.Ready()}
	e := &entry{Kind: "thing", State: statePending, Token: "2", At: stampOf(3)}
	d := decide(w, e, sight{began: epoch, listed: true, list: []thing{older, newer}, wrote: true}, epoch)
	if d.verb != remove || d.id != older.id {
		t.Errorf("%s %s", d.verb, d.id)
	}
}
