package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// The rules that hold for each step, whatever the spec wishes, the ledger says and was seen. Each says what is wrong with a step,
// or nothing.
var rules = []struct {
	says  string
	check func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string
}{
	{"a create is for what the spec wants made, and was seen absent after the last attempt had settled", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		switch {
		case d.Verb != Create:
			return ""
		case !w.Wanted || w.Claim.Uses || w.Before != "":
			return "it isn't wanted"
		case !s.Listed || s.Turn != TurnGranted || s.Token == "":
			return "it wasn't looked for, has no turn, or isn't prepared"
		case d.Entry == nil || d.Entry.State != ledgerv1.Pending || d.Entry.At == nil || d.Entry.Token != s.Token:
			return "its intention isn't written"
		case e != nil && e.State == ledgerv1.Bound:
			return "there is one"
		case e != nil && e.State == ledgerv1.Pending && s.Began.Before(e.At.Add(w.Settle)):
			return "the last attempt hasn't settled"
		case e != nil && e.State == ledgerv1.Pending && !s.Twice:
			return "what was attempted was looked for once only"
		case !s.Twice && (!w.New || !w.Tagged && w.Fresh.Title != ""):
			return "what may exist was looked for once only"
		}
		for _, o := range s.List {
			if w.Tagged && o.Tag.Owner == w.Owner && o.Tag.Key == w.Key && !(decision{w: w}).isTheirs(o.ID) {
				return "there is one of ours"
			}
		}
		return ""
	}},
	{"deleted is what was seen in this round, is ours by tag or ledger, and isn't on its way", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb != Remove {
			return ""
		}
		o, seen := decision{w: w, e: e, s: s}.sightOf(d.ID)
		switch {
		case !seen || o == nil:
			return "it wasn't seen"
		case e != nil && e.Foreign && e.ID == d.ID:
			return "it is the user's own"
		case w.Tagged && o.Tag.Owner != w.Owner && (o.Tag.Owner != "" || e == nil || e.Untagged != d.ID):
			return "it doesn't carry our tag"
		case !w.Tagged && e != nil && e.State == ledgerv1.Bound && e.ID != d.ID:
			return "the ledger names another one"
		case o.Phase.State == phases.StateDeleting || slices.Contains(s.Asked, d.ID):
			return "it was asked to go before"
		}
		return ""
	}},
	{"what is or was the user's own, or had the name before, is neither deleted nor taken for ours, and what the spec names isn't deleted", func(w Wish, e *ledgerv1.Entry, _ Sight, d Step) string {
		id := d.ID
		if d.Verb == Adopt || d.Verb == Bind {
			id = d.Entry.ID
		}
		if d.Verb != Remove && d.Verb != Adopt && d.Verb != Bind {
			return ""
		}
		if e != nil && !w.Tagged && e.State == ledgerv1.Pending && slices.Contains(e.Before, id) {
			return "it had the name before"
		}
		for key, e := range w.Ledger {
			if key != w.Key && e.Foreign && e.ID == id {
				return "the ledger has it as such"
			}
		}
		switch {
		case d.Verb != Bind && slices.Contains(w.Released, id):
			return "the ledger had it as such"
		case d.Verb == Remove && slices.Contains(w.Named, id):
			return "the spec names it"
		case d.Verb == Remove && w.Unnamed != "":
			return "the spec may name it"
		}
		return ""
	}},
	{"what carries our tag isn't used as the user's own", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb != Use {
			return ""
		}
		if o, seen := (decision{w: w, e: e, s: s}).sightOf(d.Entry.ID); seen && o != nil && w.Tagged && o.Tag.Owner == w.Owner {
			return "it does"
		}
		return ""
	}},
	{"which of two is kept is decided on the newest ledger", func(w Wish, _ *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb == Remove && w.Wanted && !w.Claim.Uses && !s.Wrote {
			return "it may be older"
		}
		return ""
	}},
	{"a failed call ends the round without a write, and isn't reported as done", func(_ Wish, _ *ledgerv1.Entry, s Sight, d Step) string {
		if s.Failed != nil && (!d.Ends || d.Entry != nil || d.Verb == Done || d.Verb == Release || d.Verb == Forget) {
			return "it goes on"
		}
		return ""
	}},
	{"what is ours leaves the ledger when it is proven to be gone, and nothing of it can appear any more", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb != Forget || s.Attempt.Known || e.State == ledgerv1.Refused && e.Token == "" && e.At != nil {
			return ""
		}
		o, seen := decision{w: w, e: e, s: s}.sightOf(e.ID)
		switch {
		case e.Foreign:
			return "it isn't ours"
		case e.ID != "" && (!seen || o != nil):
			return "it wasn't seen to be gone"
		case e.At != nil && s.Began.Before(e.At.Add(w.Settle)):
			return "the attempt hasn't settled"
		case !w.Wanted && !s.Twice:
			return "another one was looked for once only"
		}
		return ""
	}},
	{"changed is what is bound, ours, ready, and was compared", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		switch {
		case d.Verb == Apply && (e.State != ledgerv1.Bound || e.Foreign || !s.Compared || s.Applied):
			return "it isn't"
		case d.Verb == Apply && s.Refused != nil:
			return "it can't be changed"
		case d.Verb == Apply && w.Tagged && s.Object != nil && s.Object.Tag.Owner == "" && e.Proven != e.ID:
			return "nothing says that it is ours"
		}
		return ""
	}},
	{"a remedy is for what is ours, seen and not ready, and is counted before", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb != Remedy {
			return ""
		}
		o, seen := decision{w: w, e: e, s: s}.sightOf(e.ID)
		switch {
		case e.State != ledgerv1.Bound || e.Foreign || !w.Wanted || w.Claim.Uses:
			return "it isn't ours, or isn't wanted"
		case !seen || o == nil || o.Phase.State == phases.StateReady || o.Phase.State == phases.StateDeleting:
			return "it wasn't seen broken"
		case d.Entry == nil || d.Entry.Repairs != e.Repairs+1 || int(d.Entry.Repairs) > w.Limits.Most || d.Entry.RepairedAt == nil:
			return "it isn't counted"
		case w.Tagged && o.Tag.Owner == "" && e.Proven != e.ID:
			return "nothing says that it is ours"
		}
		return ""
	}},
	{"the ledger names only what was seen or answered in this round", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb != Bind && d.Verb != Adopt && d.Verb != Use {
			return ""
		}
		o, seen := decision{w: w, e: e, s: s}.sightOf(d.Entry.ID)
		answered := s.Attempt.Known && s.Attempt.Err == nil && s.Attempt.ID == d.Entry.ID
		if !answered && (!seen || o == nil) || (d.Verb == Use) != d.Entry.Foreign {
			return "it wasn't"
		}
		return ""
	}},
	{"what had the name before isn't taken for one that is to be made", func(w Wish, _ *ledgerv1.Entry, _ Sight, d Step) string {
		if d.Verb == Use && w.Claim.Made {
			return "it is"
		}
		return ""
	}},
	{"adopted, or used by its name, is what was read by its ID in this round", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		if w.GoneAfter > 0 && e != nil && e.ID != "" {
			return "" // it is read in the next one
		}
		if (d.Verb == Adopt || d.Verb == Use) && (s.ID != d.Entry.ID || s.Object == nil && w.GoneAfter == 0) {
			return "only a list shows it"
		}
		if d.Verb == Use && !w.Claim.Uses && !s.Twice {
			return "a list may hide another one of that name"
		}
		return ""
	}},
	{"adopted is what carries our tag, or was tried by us", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		o, _ := decision{w: w, e: e, s: s}.sightOf(func() string {
			if d.Verb == Adopt {
				return d.Entry.ID
			}
			return ""
		}())
		if d.Verb == Adopt && w.Tagged && (o == nil || o.Tag.Owner != w.Owner || o.Tag.Key != w.Key) {
			return "it isn't"
		}
		return ""
	}},
	{"what a service is asked for lies somewhere, and what was made where the ledger has it", func(w Wish, e *ledgerv1.Entry, _ Sight, d Step) string {
		made := e != nil && e.Owned() && e.Scope != nil
		switch d.Verb {
		case LookByID, LookByName, Remove:
			if made && !maps.Equal(d.In, e.Scope) {
				return "it is looked at elsewhere"
			}
		case LookUp:
		case Create:
			d.In = d.Entry.Scope
		default:
			if made && d.Entry != nil && d.Entry.Owned() && !maps.Equal(d.Entry.Scope, e.Scope) {
				return "it is elsewhere"
			}
			return ""
		}
		if d.In.Within(w.Within) == nil {
			return "it lies nowhere"
		}
		return ""
	}},
	{"a failure says what to do", func(_ Wish, _ *ledgerv1.Entry, _ Sight, d Step) string {
		if d.Verb == Fail && !d.Shows && !strings.ContainsAny(d.Phase.Message, ":;") {
			return fmt.Sprintf("%q doesn't", d.Phase.Message)
		}
		return ""
	}},
	{"what can't be changed isn't done", func(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb == Done && !e.Foreign && w.Updates && s.Compared && s.Refused != nil && w.Wanted && !w.Claim.Uses {
			return "it is"
		}
		return ""
	}},
	{"done is what was seen ready", func(_ Wish, e *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb == Done && (e == nil || e.State != ledgerv1.Bound || s.Object == nil && len(s.List) == 0) {
			return "it wasn't seen"
		}
		return ""
	}},
	{"no look is made twice", func(_ Wish, _ *ledgerv1.Entry, s Sight, d Step) string {
		if d.Verb == LookByID && s.ID == d.ID || d.Verb == LookByName && s.Twice || d.Verb == Seek && s.Sought != nil || d.Verb == Compare && s.Compared ||
			d.Verb == TakeTurn && s.Turn != TurnUnasked || d.Verb == Prepare && s.Token != "" {
			return "it is"
		}
		return ""
	}},
	{"a round ends, or goes on by something", func(_ Wish, _ *ledgerv1.Entry, _ Sight, d Step) string {
		looks := slices.Contains([]Verb{LookByID, LookByName, LookUp, Seek, Compare, Pick, TakeTurn, Prepare}, d.Verb)
		writes := d.Entry != nil || d.Verb == Release || d.Verb == Forget
		if !d.Ends && !looks && !writes && d.Verb != Remove && d.Verb != Apply {
			return "nothing is done"
		}
		return ""
	}},
}

// broken says which rule a step breaks, and how.
func broken(w Wish, e *ledgerv1.Entry, s Sight, d Step) string {
	for _, rule := range rules {
		if wrong := rule.check(w, e, s, d); wrong != "" {
			return fmt.Sprintf("%s: %s", rule.says, wrong)
		}
	}
	return ""
}

func TestDecide_keepsTheRules(t *testing.T) {
	t.Parallel()
	n, wrong := 0, map[string]int{}
	space(func(w Wish, e *ledgerv1.Entry, s Sight) (more bool) {
		n++
		if rule := broken(w, e, s, Next(w, e, s, epoch.Add(time.Second))); rule != "" {
			if wrong[rule]++; wrong[rule] == 1 {
				t.Errorf("%s\nwish %+v\nentry %+v\nsight %+v", rule, w, e, s)
			}
		}
		return true
	})
	t.Logf("%d combinations, %d rules", n, len(rules))
}

// What of an owner may still be outside is said by the ledger's own Owned, for readers, and by decide.
func TestDecide_dropsWithoutALookWhatIsNotOwned(t *testing.T) {
	t.Parallel()
	for _, e := range entries()[1:] {
		d := Next(Wish{}, e, Sight{}, epoch)
		if dropped := d.Verb == Release || d.Verb == Forget; dropped == e.Owned() {
			t.Errorf("owned %t, and decide says %q of %+v", e.Owned(), d.Verb, e)
		}
	}
}
