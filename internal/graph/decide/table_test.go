package decide

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

const (
	tablePage             = "../../../docs/engine.md"
	tableBegins, tableEnd = "<!-- table of decide, written by make generate -->\n", "<!-- end of the table -->\n"
	// writeVariable has the table written into the page instead of compared with it.
	writeVariable = "BEDPLATE_WRITE"
)

// The table in docs/engine.md is what decide does.
func TestDecide_isInTheDocs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	page, err := os.ReadFile(tablePage)
	g.Expect(err).NotTo(HaveOccurred())
	before, rest, found := strings.Cut(string(page), tableBegins)
	g.Expect(found).To(BeTrue())
	table, after, found := strings.Cut(rest, tableEnd)
	g.Expect(found).To(BeTrue())
	if os.Getenv(writeVariable) != "" {
		g.Expect(os.WriteFile(tablePage, []byte(before+tableBegins+tableOf()+tableEnd+after), 0o600)).To(Succeed())
		return
	}
	g.Expect(table).To(Equal(tableOf()), "run make generate")
}

// row of the table: what the ledger says and what was seen.
type row struct {
	ledger, seen string
	entry        *ledgerv1.Entry
	sight        Sight
}

// tableOf is the table of a tagged kind in Markdown.
func tableOf() string {
	claims := []*Claim{{}, {Title: ourTitle, Made: true}, {Uses: true}, {Title: ourTitle}, nil}
	text := &strings.Builder{}
	fmt.Fprintln(text, "| The ledger says | In this round was seen | `Create` | `CreateNamed` | `Use`, `UseFound` | `UseOrCreate` | unwanted |\n|---|---|---|---|---|---|---|")
	for _, r := range tableRows() {
		fmt.Fprintf(text, "| %s | %s |", r.ledger, r.seen)
		for _, claim := range claims {
			w := traits{tagged: true, drifts: true, claims: []uint8{claimCreate}}.wish(claimNone)
			if claim != nil {
				w.Wanted, w.Claim, w.Updates = true, *claim, true
				w.Fresh = ledgerv1.Entry{Kind: "thing", Condition: "Ready", State: ledgerv1.Refused, Title: claim.Title}
			}
			if r.entry == nil && claim == nil {
				fmt.Fprint(text, " |")
				continue
			}
			s, e := r.sight, r.entry
			s.Began = epoch
			if e != nil && claim != nil {
				e = new(*e)
				e.Title = claim.Title
			}
			fmt.Fprintf(text, " %s |", cell(Next(w, e, s, epoch)))
		}
		fmt.Fprintln(text)
	}
	return text.String()
}

func cell(d Step) string {
	if d.Ends && d.Phase.Reason != "" && d.Phase.Reason != "Ready" && d.Phase.Reason != string(d.Phase.State) && d.Verb != Fail {
		return fmt.Sprintf("%s: %s", d.Verb, d.Phase.Reason)
	}
	if d.Verb == Fail && d.Phase.Reason != "Failed" {
		return "fail: " + d.Phase.Reason
	}
	return string(d.Verb)
}

func tableRows() []row {
	ours, others := Tag{Owner: "o", Key: "k", Token: "2"}, Tag{Owner: "x", Key: "k"}
	ready := Thing{ID: "2", Tag: ours, Phase: phases.Ready()}
	second, strange := ready, Thing{ID: "2", Phase: phases.Ready()}
	second.ID = "3"
	foreign := Thing{ID: "2", Tag: others, Phase: phases.Ready()}
	deleting := Thing{ID: "2", Tag: ours, Phase: phases.Deleting()}
	entryOf := func(edit func(*ledgerv1.Entry)) *ledgerv1.Entry {
		e := &ledgerv1.Entry{Kind: "thing", Condition: "Ready", Title: ourTitle}
		edit(e)
		return e
	}
	now, old := stampOf(1), stampOf(3)
	pending := entryOf(func(e *ledgerv1.Entry) { e.State, e.Token, e.At = ledgerv1.Pending, "2", now })
	settled := entryOf(func(e *ledgerv1.Entry) { e.State, e.Token, e.At = ledgerv1.Pending, "2", old })
	bound := entryOf(func(e *ledgerv1.Entry) { e.State, e.Token, e.ID, e.Proven = ledgerv1.Bound, "2", "2", "2" })
	edited := entryOf(func(e *ledgerv1.Entry) { e.State, e.Token, e.ID, e.Proven = ledgerv1.Bound, "2", "2", "1" })
	takenOver := entryOf(func(e *ledgerv1.Entry) { e.State, e.ID, e.Proven, e.Untagged = ledgerv1.Bound, "2", "2", "2" })
	own := entryOf(func(e *ledgerv1.Entry) { e.State, e.ID, e.Foreign = ledgerv1.Bound, "2", true })
	quota := entryOf(func(e *ledgerv1.Entry) {
		e.State, e.At, e.Refusal, e.Message = ledgerv1.Refused, now, string(fault.Quota), "nothing left: ask for more"
	})
	taken := &fault.Error{Class: fault.Conflict, Err: errTaken}
	return []row{
		{"nothing", "nothing yet", nil, Sight{}},
		{"nothing", "it is its turn", nil, Sight{Turn: TurnGranted}},
		{"nothing", "its turn is still to come", nil, Sight{Turn: TurnQueued}},
		{"nothing", "none by tag and name", nil, Sight{Turn: TurnGranted, Listed: true}},
		{"nothing", "none twice", nil, Sight{Turn: TurnGranted, Listed: true, Twice: true}},
		{"nothing", "none twice, and the call is prepared", nil, Sight{Turn: TurnGranted, Listed: true, Twice: true, Token: "7"}},
		{"nothing", "a list shows one with our tag", nil, Sight{Turn: TurnGranted, Listed: true, List: []Thing{ready}}},
		{"nothing", "one with our tag, read by its ID", nil, Sight{Turn: TurnGranted, Listed: true, List: []Thing{ready}, ID: "2", Object: &ready}},
		{"nothing", "two with our tag", nil, Sight{Turn: TurnGranted, Listed: true, List: []Thing{ready, second}, ID: "2", Object: &ready}},
		{"nothing", "twice one of that name, without our tag", nil, Sight{
			Turn: TurnGranted, Listed: true, Twice: true, List: []Thing{strange}, ID: "2", Object: &strange,
		}},
		{"refused a moment ago", "nothing yet", quota, Sight{}},
		{"pending", "nothing yet", pending, Sight{}},
		{"pending", "still at work", pending, Sight{Attempt: Attempt{Known: true, Running: true}}},
		{"pending", "made", pending, Sight{Attempt: Attempt{Known: true, ID: "2"}}},
		{"pending", "no answer", pending, Sight{Attempt: Attempt{Known: true, Err: errors.New("timeout")}}},
		{"pending", "refused", pending, Sight{Attempt: Attempt{Known: true, Err: errRefused}}},
		{"pending", "the name is taken", pending, Sight{Attempt: Attempt{Known: true, Err: taken}}},
		{"pending", "a list shows one with our tag", pending, Sight{Listed: true, List: []Thing{ready}}},
		{"pending", "one with our tag, read by its ID", pending, Sight{Listed: true, List: []Thing{ready}, ID: "2", Object: &ready}},
		{"pending", "none, before it has settled", pending, Sight{Listed: true}},
		{"pending", "none twice, after it has settled", settled, Sight{Listed: true, Twice: true, Turn: TurnGranted}},
		{"bound, ours", "nothing yet", bound, Sight{}},
		{"bound, ours", "ready, not compared", bound, Sight{ID: "2", Object: &ready}},
		{"bound, ours", "ready, as wanted", bound, Sight{ID: "2", Object: &ready, Compared: true}},
		{"bound, ours", "ready, not as wanted", bound, Sight{ID: "2", Object: &ready, Compared: true, Changes: drift}},
		{"bound, ours", "ready, not as wanted, and it can't be changed", bound, Sight{
			ID: "2", Object: &ready, Compared: true, Changes: drift, Refused: errUnchangeable,
		}},
		{"bound, ours", "on its way out", bound, Sight{ID: "2", Object: &deleting}},
		{"bound, ours", "proven gone", bound, Sight{ID: "2"}},
		{"bound, ours", "proven gone, and twice no other", bound, Sight{ID: "2", Listed: true, Twice: true}},
		{"bound, ours, of another ID than was proven", "without a tag", edited, Sight{ID: "2", Object: &strange}},
		{"bound, ours", "its tag is missing", bound, Sight{ID: "2", Object: &strange, Compared: true}},
		{"bound, ours, of another provider", "without a tag", takenOver, Sight{ID: "2", Object: &strange, Compared: true}},
		{"bound, ours, of another provider", "with another object's tag", takenOver, Sight{ID: "2", Object: &foreign}},
		{"bound, ours", "with another object's tag", bound, Sight{ID: "2", Object: &foreign}},
		{"bound, the user's", "nothing yet", own, Sight{}},
		{"bound, the user's", "ready", own, Sight{ID: "2", Object: &strange}},
		{"bound, the user's", "proven gone", own, Sight{ID: "2"}},
		{"anything", "a call without an answer", bound, Sight{Failed: errors.New("timeout")}},
		{"anything", "refused credentials", bound, Sight{Failed: &fault.Error{Class: fault.Credentials, Err: errors.New("401")}}},
	}
}
