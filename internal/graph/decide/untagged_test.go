package decide

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// What was taken over from another provider has no tag, and no service has to be able to set one later: it is deleted by the ledger alone,
// as long as no tag was seen on it.
func TestUntagged_isDeletedByWhatTheLedgerSays(t *testing.T) {
	t.Parallel()
	bare := Thing{ID: "2", Phase: phases.Ready()}
	ours, another := bare, bare
	ours.Tag, another.Tag = Tag{Owner: "o", Key: "k"}, Tag{Owner: "x", Key: "k"}
	entry := func(untagged string) *ledgerv1.Entry {
		return &ledgerv1.Entry{Kind: "thing", Condition: "Ready", State: ledgerv1.Bound, ID: "2", Proven: "2", Untagged: untagged}
	}
	unwanted := Wish{Owner: "o", Key: "k", Kind: "thing", Tagged: true, Deleting: true}
	for name, row := range map[string]struct {
		e    *ledgerv1.Entry
		is   Thing
		verb Verb
	}{
		"never tagged":                      {entry("2"), bare, Remove},
		"its tag is missing":                {entry(""), bare, Fail},
		"the ledger was edited since":       {entry("1"), bare, Fail},
		"by now it carries another's tag":   {entry("2"), another, Fail},
		"by now it carries our tag":         {entry("2"), ours, Remove},
		"an entry that names it by no more": {&ledgerv1.Entry{Kind: "thing", State: ledgerv1.Bound, ID: "2"}, bare, Fail},
	} {
		NewWithT(t).Expect(Next(unwanted, row.e, Sight{Began: epoch, ID: "2", Object: &row.is}, epoch).Verb).To(Equal(row.verb), name)
	}
}

// A tag that was seen once must not go missing.
func TestUntagged_isSoUntilATagIsSeen(t *testing.T) {
	t.Parallel()
	e := &ledgerv1.Entry{Kind: "thing", Condition: "Ready", State: ledgerv1.Bound, ID: "2", Proven: "2", Untagged: "2"}
	w := Wish{Wanted: true, Owner: "o", Key: "k", Kind: "thing", Tagged: true, Fresh: ledgerv1.Entry{Kind: "thing", Condition: "Ready"}}
	bare := Sight{Began: epoch, ID: "2", Object: &Thing{ID: "2", Phase: phases.Ready()}}
	tagged := Sight{Began: epoch, ID: "2", Object: &Thing{ID: "2", Phase: phases.Ready(), Tag: Tag{Owner: "o", Key: "k"}}}
	g := NewWithT(t)
	g.Expect(Next(w, e, bare, epoch).Verb).To(Equal(Done))
	seen := Next(w, e, tagged, epoch)
	g.Expect(seen.Verb).To(Equal(Note))
	g.Expect(seen.Entry.Untagged).To(BeEmpty())
	g.Expect(Next(w, seen.Entry, tagged, epoch).Verb).To(Equal(Done))
}
