package graph

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

const (
	tablePage             = "../../docs/engine.md"
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
	entry        *entry
	sight        sight
}

// tableOf is the table of a tagged kind in Markdown.
func tableOf() string {
	claims := []*claim{{}, {title: ourTitle, made: true}, {uses: true}, {title: ourTitle}, nil}
	text := &strings.Builder{}
	fmt.Fprintln(text, "| The ledger says | In this round was seen | `Create` | `CreateNamed` | `Use`, `UseFound` | `UseOrCreate` | unwanted |\n|---|---|---|---|---|---|---|")
	for _, r := range tableRows() {
		fmt.Fprintf(text, "| %s | %s |", r.ledger, r.seen)
		for _, claim := range claims {
			w := traits{tagged: true, drifts: true, claims: []uint8{claimCreate}}.wish(claimNone)
			if claim != nil {
				w.wanted, w.claim, w.updates = true, *claim, true
				w.fresh = entry{Kind: "thing", Condition: "Ready", State: stateRefused, Title: claim.title}
			}
			if r.entry == nil && claim == nil {
				fmt.Fprint(text, " |")
				continue
			}
			s, e := r.sight, r.entry
			s.began = epoch
			if e != nil && claim != nil {
				e = new(*e)
				e.Title = claim.title
			}
			fmt.Fprintf(text, " %s |", cell(decide(w, e, s, epoch)))
		}
		fmt.Fprintln(text)
	}
	return text.String()
}

func cell(d step) string {
	if d.ends && d.phase.Reason != "" && d.phase.Reason != "Ready" && d.phase.Reason != string(d.phase.State) && d.verb != fail {
		return fmt.Sprintf("%s: %s", d.verb, d.phase.Reason)
	}
	if d.verb == fail && d.phase.Reason != "Failed" {
		return "fail: " + d.phase.Reason
	}
	return string(d.verb)
}

func tableRows() []row {
	ours, others := Tag{Owner: "o", Key: "k", Token: "2"}, Tag{Owner: "x", Key: "k"}
	ready := thing{id: "2", tag: ours, phase: phases.Ready()}
	second, strange := ready, thing{id: "2", phase: phases.Ready()}
	second.id = "3"
	foreign := thing{id: "2", tag: others, phase: phases.Ready()}
	deleting := thing{id: "2", tag: ours, phase: phases.Deleting()}
	entryOf := func(edit func(*entry)) *entry {
		e := &entry{Kind: "thing", Condition: "Ready", Title: ourTitle}
		edit(e)
		return e
	}
	now, old := stampOf(1), stampOf(3)
	pending := entryOf(func(e *entry) { e.State, e.Token, e.At = statePending, "2", now })
	settled := entryOf(func(e *entry) { e.State, e.Token, e.At = statePending, "2", old })
	bound := entryOf(func(e *entry) { e.State, e.Token, e.ID, e.Proven = stateBound, "2", "2", "2" })
	edited := entryOf(func(e *entry) { e.State, e.Token, e.ID, e.Proven = stateBound, "2", "2", "1" })
	own := entryOf(func(e *entry) { e.State, e.ID, e.Foreign = stateBound, "2", true })
	quota := entryOf(func(e *entry) {
		e.State, e.At, e.Refusal, e.Message = stateRefused, now, string(fault.Quota), "nothing left: ask for more"
	})
	taken := &fault.Error{Class: fault.Conflict, Err: errTaken}
	return []row{
		{"nothing", "nothing yet", nil, sight{}},
		{"nothing", "it is its turn", nil, sight{turn: turnGranted}},
		{"nothing", "its turn is still to come", nil, sight{turn: turnQueued}},
		{"nothing", "none by tag and name", nil, sight{turn: turnGranted, listed: true}},
		{"nothing", "none, and the call is prepared", nil, sight{turn: turnGranted, listed: true, token: "7"}},
		{"nothing", "one with our tag", nil, sight{turn: turnGranted, listed: true, list: []thing{ready}}},
		{"nothing", "two with our tag", nil, sight{turn: turnGranted, listed: true, list: []thing{ready, second}}},
		{"nothing", "one of that name, without our tag", nil, sight{turn: turnGranted, listed: true, list: []thing{strange}, id: "2", object: &strange}},
		{"refused a moment ago", "nothing yet", quota, sight{}},
		{"pending", "nothing yet", pending, sight{}},
		{"pending", "still at work", pending, sight{attempt: attempt{known: true, running: true}}},
		{"pending", "made", pending, sight{attempt: attempt{known: true, id: "2"}}},
		{"pending", "no answer", pending, sight{attempt: attempt{known: true, err: errors.New("timeout")}}},
		{"pending", "refused", pending, sight{attempt: attempt{known: true, err: errRefused}}},
		{"pending", "the name is taken", pending, sight{attempt: attempt{known: true, err: taken}}},
		{"pending", "one with our tag", pending, sight{listed: true, list: []thing{ready}}},
		{"pending", "none, before it has settled", pending, sight{listed: true}},
		{"pending", "none twice, after it has settled", settled, sight{listed: true, twice: true, turn: turnGranted}},
		{"bound, ours", "nothing yet", bound, sight{}},
		{"bound, ours", "ready, not compared", bound, sight{id: "2", object: &ready}},
		{"bound, ours", "ready, as wanted", bound, sight{id: "2", object: &ready, compared: true}},
		{"bound, ours", "ready, not as wanted", bound, sight{id: "2", object: &ready, compared: true, changes: drift}},
		{"bound, ours", "ready, not as wanted, and it can't be changed", bound, sight{
			id: "2", object: &ready, compared: true, changes: drift, refused: errUnchangeable,
		}},
		{"bound, ours", "on its way out", bound, sight{id: "2", object: &deleting}},
		{"bound, ours", "proven gone", bound, sight{id: "2"}},
		{"bound, ours", "proven gone, and no other", bound, sight{id: "2", listed: true}},
		{"bound, ours, of another ID than was proven", "without a tag", edited, sight{id: "2", object: &strange}},
		{"bound, ours", "with another object's tag", bound, sight{id: "2", object: &foreign}},
		{"bound, the user's", "nothing yet", own, sight{}},
		{"bound, the user's", "ready", own, sight{id: "2", object: &strange}},
		{"bound, the user's", "proven gone", own, sight{id: "2"}},
		{"anything", "a call without an answer", bound, sight{failed: errors.New("timeout")}},
		{"anything", "refused credentials", bound, sight{failed: &fault.Error{Class: fault.Credentials, Err: errors.New("401")}}},
	}
}
