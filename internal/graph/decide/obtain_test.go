package decide

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// A list may be wrong once, and a ledger older than what it lacks. Nothing carries the ID of a new owner, but anything may have a name.
func TestObtain_looksOnceForWhatANewOwnerCannotHave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		traits
		fresh bool
		verb  Verb
	}{
		"tags":                         {traits{tagged: true, claims: []uint8{claimCreate}}, false, LookByName},
		"tags, a new owner":            {traits{tagged: true, claims: []uint8{claimCreate}}, true, Prepare},
		"tags, a name, a new owner":    {traits{tagged: true, claims: []uint8{claimCreateNamed}}, true, Prepare},
		"no tags":                      {traits{claims: []uint8{claimCreate}}, false, LookByName},
		"no tags, a new owner":         {traits{claims: []uint8{claimCreate}}, true, Prepare},
		"no tags, a name, a new owner": {traits{claims: []uint8{claimCreateNamed}}, true, LookByName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.wish(c.claims[0])
			w.New = c.fresh
			NewWithT(t).Expect(Next(w, nil, Sight{Began: epoch, Turn: TurnGranted, Listed: true}, epoch).Verb).To(Equal(c.verb))
		})
	}
}

// What comes after a key may stay in the ledger when the key has left it. If the spec has turned their order round by then, the ledger would
// have a cycle, and nothing of that could ever be deleted.
func TestObtain_doesNotCloseACycleInTheLedger(t *testing.T) {
	t.Parallel()
	w := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	w.Fresh.After = []string{"c", "d"}
	w.Ledger = map[string]*ledgerv1.Entry{"b": {After: []string{w.Key}}, "c": {After: []string{"b"}}, "d": {}}
	prepared := Sight{Began: epoch, Turn: TurnGranted, Listed: true, Twice: true, Token: "1"}
	ours := Thing{ID: "2", Tag: Tag{Owner: w.Owner, Key: w.Key}, Phase: phases.Ready()}
	pending := w.Fresh
	pending.State, pending.Token, pending.At = ledgerv1.Pending, "1", stampOf(1)
	for name, d := range map[string]Step{
		"created": Next(w, nil, prepared, epoch),
		"refused": Next(w, &pending, Sight{Began: epoch, Attempt: Attempt{Known: true, Err: errRefused}}, epoch),
		"adopted": Next(w, nil, Sight{Began: epoch, Turn: TurnGranted, Listed: true, List: []Thing{ours}, ID: "2", Object: &ours}, epoch),
	} {
		NewWithT(t).Expect(d.Entry).To(HaveValue(HaveField("After", []string{"d"})), name)
	}
}

// What an attempt has made is found whatever it comes after, and stays where it is. That may wait until it isn't there any more, or until it is
// known that there is none. Only another attempt waits for what comes before.
func TestObtain_searchesForWhatWasAttemptedWhateverItComesAfter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, tagged := range []bool{true, false} {
		w := traits{tagged: tagged, claims: []uint8{claimCreateNamed}}.wish(claimCreateNamed)
		w.Before, w.Fresh.After, w.Ledger = "new", []string{"new"}, map[string]*ledgerv1.Entry{"old": {}}
		pending := w.Fresh
		pending.State, pending.Token, pending.At, pending.After = ledgerv1.Pending, "1", stampOf(3), []string{"old"}
		g.Expect(Next(w, nil, Sight{Began: epoch}, epoch).Verb).To(Equal(WaitBefore))
		g.Expect(Next(w, &pending, Sight{Began: epoch}, epoch).Verb).To(Equal(LookByName))
		made := Thing{ID: "2", Phase: phases.Ready()}
		if tagged {
			made.Tag = Tag{Owner: w.Owner, Key: w.Key}
		}
		found := Next(w, &pending, Sight{Began: epoch, Listed: true, List: []Thing{made}, ID: "2", Object: &made}, epoch)
		g.Expect(found.Entry).To(HaveValue(And(HaveField("ID", "2"), HaveField("After", []string{"old", "new"}))))
		g.Expect(Next(w, &pending, Sight{Began: epoch, Listed: true, Twice: true}, epoch).Verb).To(Equal(Forget))
	}
}

// An attempt that made nothing leaves the ledger also if the name is another one's, which may keep it.
func TestObtain_forgetsAnAttemptWhoseNameAnotherOneHas(t *testing.T) {
	t.Parallel()
	w := traits{claims: []uint8{claimCreateNamed}}.wish(claimCreateNamed)
	pending := ledgerv1.Entry{Kind: "thing", State: ledgerv1.Pending, Title: ourTitle, Token: "1", At: stampOf(3), Before: []string{"1"}}
	others := Sight{Began: epoch, Turn: TurnGranted, Listed: true, Twice: true, List: []Thing{{ID: "1", Phase: phases.Ready()}}}
	NewWithT(t).Expect(Next(w, &pending, others, epoch).Verb).To(Equal(Forget))
}

// What the spec names as the user's own isn't made again when ours is gone, so IfLost doesn't count.
func TestKeep_forgetsWhatIsLostIfTheSpecNamesAnotherOne(t *testing.T) {
	t.Parallel()
	w := traits{claims: []uint8{claimUse}}.wish(claimUse)
	w.IfLost = "make another one"
	bound := ledgerv1.Entry{Kind: "thing", Condition: "Ready", State: ledgerv1.Bound, ID: "2"}
	gone := Sight{Began: epoch, ID: "2", Gone: []string{"2"}}
	NewWithT(t).Expect(Next(w, &bound, gone, epoch).Verb).To(Equal(Forget))
}

// Of two that have a name neither is used, and one list may hide one of them.
func TestObtain_usesWhatTwoListsShowAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := traits{tagged: true, claims: []uint8{claimUseOrCreate}}.wish(claimUseOrCreate)
	one, other := Thing{ID: "1", Phase: phases.Ready()}, Thing{ID: "2", Phase: phases.Ready()}
	s := Sight{Began: epoch, Turn: TurnGranted, Listed: true, List: []Thing{one}}
	g.Expect(Next(w, nil, s, epoch).Verb).To(Equal(LookByName))
	s.Twice, s.List = true, []Thing{one, other}
	g.Expect(Next(w, nil, s, epoch).Phase.Reason).To(Equal("Ambiguous"))
}
