package graph

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// The rules that hold for each step, whatever the spec wishes, the ledger says and was seen. Each says what is wrong with a step,
// or nothing.
var rules = map[string]func(w wish, e *entry, s sight, d step) string{
	"a create is for what the spec wants made, and was seen absent after the last attempt had settled": func(w wish, e *entry, s sight, d step) string {
		switch {
		case d.verb != create:
			return ""
		case !w.wanted || w.claim.uses || w.before != "":
			return "it isn't wanted"
		case !s.listed || s.turn != turnGranted || s.token == "":
			return "it wasn't looked for, has no turn, or isn't prepared"
		case d.entry == nil || d.entry.State != statePending || d.entry.At == nil || d.entry.Token != s.token:
			return "its intention isn't written"
		case e != nil && e.State == stateBound:
			return "there is one"
		case e != nil && e.State == statePending && s.began.Before(e.At.Add(w.settle)):
			return "the last attempt hasn't settled"
		case e != nil && e.State == statePending && !s.twice:
			return "what was attempted was looked for once only"
		}
		for _, o := range s.list {
			if w.tagged && o.tag.Owner == w.owner && o.tag.Key == w.key {
				return "there is one of ours"
			}
		}
		return ""
	},
	"deleted is what was seen in this round, is ours by tag or ledger, and isn't on its way": func(w wish, e *entry, s sight, d step) string {
		if d.verb != remove {
			return ""
		}
		o, seen := decision{w: w, e: e, s: s}.sightOf(d.id)
		switch {
		case !seen || o == nil:
			return "it wasn't seen"
		case e != nil && e.Foreign && e.ID == d.id:
			return "it is the user's own"
		case w.tagged && o.tag.Owner != w.owner:
			return "it doesn't carry our tag"
		case !w.tagged && e != nil && e.State == stateBound && e.ID != d.id:
			return "the ledger names another one"
		case o.phase.State == phases.StateDeleting || slices.Contains(s.asked, d.id):
			return "it was asked to go before"
		}
		return ""
	},
	"which of two is kept is decided on the newest ledger": func(w wish, _ *entry, s sight, d step) string {
		if d.verb == remove && w.wanted && !w.claim.uses && !s.wrote {
			return "it may be older"
		}
		return ""
	},
	"a failed call ends the round without a write, and isn't reported as done": func(_ wish, _ *entry, s sight, d step) string {
		if s.failed != nil && (!d.ends || d.entry != nil || d.verb == done || d.verb == release || d.verb == forget) {
			return "it goes on"
		}
		return ""
	},
	"what is ours leaves the ledger when it is proven to be gone, and nothing of it can appear any more": func(w wish, e *entry, s sight, d step) string {
		if d.verb != forget || s.attempt.known || e.State == stateRefused && e.Token == "" && e.At != nil {
			return ""
		}
		o, seen := decision{w: w, e: e, s: s}.sightOf(e.ID)
		switch {
		case e.Foreign:
			return "it isn't ours"
		case e.ID != "" && (!seen || o != nil):
			return "it wasn't seen to be gone"
		case e.At != nil && s.began.Before(e.At.Add(w.settle)):
			return "the attempt hasn't settled"
		case !w.wanted && !s.listed:
			return "no other one was looked for"
		}
		return ""
	},
	"changed is what is bound, ours, ready, and was compared": func(w wish, e *entry, s sight, d step) string {
		switch {
		case d.verb == change && (e.State != stateBound || e.Foreign || !s.compared || s.applied):
			return "it isn't"
		case d.verb == change && s.refused != nil:
			return "it can't be changed"
		case d.verb == change && w.tagged && s.object != nil && s.object.tag.Owner == "" && e.Proven != e.ID:
			return "nothing says that it is ours"
		}
		return ""
	},
	"a remedy is for what is ours, seen and not ready, and is counted before": func(w wish, e *entry, s sight, d step) string {
		if d.verb != remedy {
			return ""
		}
		o, seen := decision{w: w, e: e, s: s}.sightOf(e.ID)
		switch {
		case e.State != stateBound || e.Foreign || !w.wanted || w.claim.uses:
			return "it isn't ours, or isn't wanted"
		case !seen || o == nil || o.phase.State == phases.StateReady || o.phase.State == phases.StateDeleting:
			return "it wasn't seen broken"
		case d.entry == nil || d.entry.Repairs != e.Repairs+1 || int(d.entry.Repairs) > w.limits.Most || d.entry.RepairedAt == nil:
			return "it isn't counted"
		case w.tagged && o.tag.Owner == "" && e.Proven != e.ID:
			return "nothing says that it is ours"
		}
		return ""
	},
	"the ledger names only what was seen or answered in this round": func(w wish, e *entry, s sight, d step) string {
		if d.verb != bind && d.verb != adopt && d.verb != use {
			return ""
		}
		o, seen := decision{w: w, e: e, s: s}.sightOf(d.entry.ID)
		answered := s.attempt.known && s.attempt.err == nil && s.attempt.id == d.entry.ID
		if !answered && (!seen || o == nil) || (d.verb == use) != d.entry.Foreign {
			return "it wasn't"
		}
		return ""
	},
	"what had the name before isn't taken for one that is to be made": func(w wish, _ *entry, _ sight, d step) string {
		if d.verb == use && w.claim.made {
			return "it is"
		}
		return ""
	},
	"adopted is what carries our tag, or was tried by us": func(w wish, e *entry, s sight, d step) string {
		o, _ := decision{w: w, e: e, s: s}.sightOf(func() string {
			if d.verb == adopt {
				return d.entry.ID
			}
			return ""
		}())
		if d.verb == adopt && w.tagged && (o == nil || o.tag.Owner != w.owner || o.tag.Key != w.key) {
			return "it isn't"
		}
		return ""
	},
	"what a service is asked for lies somewhere, and what was made where the ledger has it": func(w wish, e *entry, _ sight, d step) string {
		made := e != nil && e.Owned() && e.Scope != nil
		switch d.verb {
		case lookByID, lookByName, remove:
			if made && !maps.Equal(d.in, e.Scope) {
				return "it is looked at elsewhere"
			}
		case lookUp:
		case create:
			d.in = d.entry.Scope
		default:
			if made && d.entry != nil && d.entry.Owned() && !maps.Equal(d.entry.Scope, e.Scope) {
				return "it is elsewhere"
			}
			return ""
		}
		if d.in.Within(w.within) == nil {
			return "it lies nowhere"
		}
		return ""
	},
	"a failure says what to do": func(_ wish, _ *entry, _ sight, d step) string {
		if d.verb == fail && !d.shows && !strings.ContainsAny(d.phase.Message, ":;") {
			return fmt.Sprintf("%q doesn't", d.phase.Message)
		}
		return ""
	},
	"what can't be changed isn't done": func(w wish, e *entry, s sight, d step) string {
		if d.verb == done && !e.Foreign && w.updates && s.compared && s.refused != nil && w.wanted && !w.claim.uses {
			return "it is"
		}
		return ""
	},
	"done is what was seen ready": func(_ wish, e *entry, s sight, d step) string {
		if d.verb == done && (e == nil || e.State != stateBound || s.object == nil && len(s.list) == 0) {
			return "it wasn't seen"
		}
		return ""
	},
	"no look is made twice": func(_ wish, _ *entry, s sight, d step) string {
		if d.verb == lookByID && s.id == d.id || d.verb == lookByName && s.twice || d.verb == compare && s.compared ||
			d.verb == takeTurn && s.turn != turnUnasked || d.verb == prepare && s.token != "" {
			return "it is"
		}
		return ""
	},
	"a round ends, or goes on by something": func(_ wish, _ *entry, _ sight, d step) string {
		writes := d.entry != nil || d.verb == release || d.verb == forget
		if !d.ends && !d.looks() && !writes && d.verb != remove && d.verb != change {
			return "nothing is done"
		}
		return ""
	},
}

// broken says which rule a step breaks, and how.
func broken(w wish, e *entry, s sight, d step) string {
	for rule, check := range rules {
		if wrong := check(w, e, s, d); wrong != "" {
			return fmt.Sprintf("%s: %s", rule, wrong)
		}
	}
	return ""
}

// space is all combinations of wishes, entries and sights, as far as decide tells them apart.
func space(found func(w wish, e *entry, s sight)) {
	for _, w := range wishes() {
		for _, e := range entries() {
			for _, s := range sights() {
				found(w, e, s)
			}
		}
	}
}

func wishes() (all []wish) {
	for _, claim := range []*claim{nil, {}, {uses: true, id: "1"}, {uses: true}, {title: ourTitle}, {title: ourTitle, made: true}} {
		for _, tagged := range []bool{true, false} {
			for _, before := range []string{"", "net"} {
				for variant := range 8 {
					w := traits{tagged: tagged, comesBack: variant == 1, claims: []uint8{claimCreate}}.wish(claimNone)
					if claim != nil {
						w.wanted, w.claim, w.before, w.updates = true, *claim, before, variant > 1
						w.again, w.moved = variant > 2, variant == 4
						w.fresh = entry{Kind: "thing", Condition: "Ready", State: stateRefused, Title: claim.title}
						if variant == 5 {
							w.ifLost = "get another one"
						}
					}
					if variant == 7 && w.wanted {
						w.chooses, w.repairs, w.limits.Most, w.patience, w.poll = true, true, 2, settled, settled
					}
					if variant == 6 {
						w.within, w.fresh.Scope = []string{"net"}, Scope{"net": "new"}
					}
					all = append(all, w)
				}
			}
		}
	}
	return all
}

func entries() (all []*entry) {
	all = append(all, nil)
	base := entry{Kind: "thing", Condition: "Ready"}
	add := func(edit func(*entry)) {
		e := base
		edit(&e)
		all = append(all, &e)
		titled := e
		titled.Title, titled.Scope = ourTitle, Scope{"net": "old"}
		all = append(all, &titled)
	}
	for age := range uint8(4) {
		at := stampOf(age)
		add(func(e *entry) {
			e.State, e.At, e.Refusal, e.Message = stateRefused, at, string(fault.Quota), "nothing left: ask for more"
		})
		add(func(e *entry) {
			e.State, e.At, e.Refusal, e.Message, e.Token = stateRefused, at, string(fault.Conflict), "taken: choose another", "2"
		})
		add(func(e *entry) { e.State, e.At, e.Token = statePending, at, "2" })
		add(func(e *entry) { e.State, e.GoneAt, e.ID, e.Proven, e.Token = stateBound, at, "2", "2", "2" })
		add(func(e *entry) { e.State, e.AppliedAt, e.ID, e.InEffect = stateBound, at, "2", true })
		add(func(e *entry) {
			e.State, e.AppliedAt, e.Applied, e.ID, e.Proven = stateBound, at, summary(drift), "2", "2"
		})
		add(func(e *entry) {
			e.State, e.ID, e.Proven, e.UnreadySince, e.RepairedAt, e.Repairs, e.Params = stateBound, "2", "2", at, at, int32(age), theChoice
		})
	}
	add(func(e *entry) { e.State, e.ID, e.Foreign = stateBound, "1", true })
	return slices.DeleteFunc(all, func(e *entry) bool { return e != nil && e.State == statePending && e.At == nil })
}

func sights() (all []sight) {
	add := func(s sight) {
		s.began = epoch
		all = append(all, s)
	}
	ours, others := Tag{Owner: "o", Key: "k", Token: "2"}, Tag{Owner: "x", Key: "k"}
	things := []*thing{nil}
	for _, tag := range []Tag{ours, others, {}} {
		for _, phase := range []phases.Phase{phases.Ready(), phases.Waiting("on its way"), phases.Failed("broken"), phases.Deleting()} {
			things = append(things, &thing{id: "2", tag: tag, phase: phase})
		}
	}
	lists := [][]thing{nil}
	for _, o := range things[1:] {
		second := *o
		second.id = "3"
		lists = append(lists, []thing{*o}, []thing{*o, second})
	}
	for _, err := range []error{phases.ErrStale, errors.New("timeout"), &fault.Error{Class: fault.Credentials, Err: errors.New("refused")}} {
		add(sight{failed: err})
	}
	for _, turn := range []turnSight{turnUnasked, turnGranted, turnQueued} {
		for _, token := range []string{"", "7"} {
			for _, list := range lists {
				add(sight{turn: turn, token: token, listed: true, list: list, wrote: token != ""})
				add(sight{turn: turn, token: token, listed: true, twice: true, list: list})
			}
			add(sight{turn: turn, token: token})
		}
	}
	for _, o := range things {
		for _, id := range []string{"1", "2"} {
			for _, compared := range []bool{false, true} {
				for _, changes := range [][]Change{nil, drift} {
					for _, list := range lists[:2] {
						add(sight{id: id, object: o, compared: compared, changes: changes, inEffect: compared, listed: list != nil, list: list})
						if compared && changes != nil {
							add(sight{id: id, object: o, compared: compared, changes: changes, refused: errUnchangeable})
						}
						add(sight{id: id, object: o, compared: compared, changes: changes, applied: compared, asked: []string{"2"}})
					}
				}
			}
		}
	}
	for _, err := range []error{nil, errors.New("timeout"), errRefused, &fault.Error{Class: fault.Conflict, Err: errTaken},
		&fault.Error{Class: fault.Conflict, OtherID: "2", Err: errTaken}} {
		for _, o := range things {
			a := attempt{known: true, err: err}
			if err == nil {
				a.id = "2"
			}
			add(sight{attempt: a, id: "2", object: o})
			add(sight{attempt: a, listed: true, list: lists[1]})
			add(sight{attempt: attempt{known: true, running: true}})
		}
	}
	return all
}

func TestDecide_keepsTheRules(t *testing.T) {
	t.Parallel()
	n, wrong := 0, map[string]int{}
	space(func(w wish, e *entry, s sight) {
		n++
		if rule := broken(w, e, s, decide(w, e, s, epoch.Add(time.Second))); rule != "" {
			if wrong[rule]++; wrong[rule] == 1 {
				t.Errorf("%s\nwish %+v\nentry %+v\nsight %+v", rule, w, e, s)
			}
		}
	})
	t.Logf("%d combinations, %d rules", n, len(rules))
}

// What of an owner may still be outside is said by the ledger's own Owned, for those who only read it, and by decide.
func TestDecide_dropsWithoutALookWhatIsNotOwned(t *testing.T) {
	t.Parallel()
	for _, e := range entries()[1:] {
		d := decide(wish{}, e, sight{}, epoch)
		if dropped := d.verb == release || d.verb == forget; dropped == e.Owned() {
			t.Errorf("owned %t, and decide says %q of %+v", e.Owned(), d.verb, e)
		}
	}
}
