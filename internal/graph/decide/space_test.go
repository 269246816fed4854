package decide

import (
	"errors"
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// space is all combinations of wishes, entries and sights, as far as decide distinguishes them, or those until there shall be no more.
func space(found func(w Wish, e *ledgerv1.Entry, s Sight) (more bool)) {
	all := sights()
	for _, w := range wishes() {
		for _, e := range entries() {
			for _, s := range all {
				if !found(w, e, s) {
					return
				}
			}
		}
	}
}

func wishes() (all []Wish) {
	for _, claim := range []*Claim{nil, {}, {Uses: true, ID: "1"}, {Uses: true}, {Title: ourTitle}, {Title: ourTitle, Made: true}} {
		for _, tagged := range []bool{true, false} {
			for _, before := range []string{"", "net"} {
				for variant := range 10 {
					w := traits{tagged: tagged, comesBack: variant == 1, claims: []uint8{claimCreate}}.wish(claimNone)
					if claim != nil {
						w.Wanted, w.Claim, w.Before, w.Updates = true, *claim, before, variant > 1
						w.Again, w.Moved, w.New = variant > 2, variant == 4, variant == 0
						w.Fresh = ledgerv1.Entry{Kind: "thing", Condition: "Ready", State: ledgerv1.Refused, Title: claim.Title}
						if variant == 5 {
							w.IfLost = "get another one"
						}
					}
					if variant == 7 && w.Wanted {
						w.Chooses, w.Repairs, w.Limits.Most, w.Patience, w.Poll = true, true, 2, settled, settled
					}
					if variant == 6 {
						w.Within, w.Fresh.Scope = []string{"net"}, ledgerv1.Scope{"net": "new"}
					}
					if variant == 8 {
						w.Named, w.Ledger = []string{"2"}, map[string]*ledgerv1.Entry{"another": {Kind: "thing", State: ledgerv1.Bound, ID: "3", Foreign: true}}
					}
					if variant == 9 {
						if w.Unnamed = "own"; w.Wanted && w.Claim.Uses && w.Claim.ID == "" {
							w.Unnamed = w.Key
						}
						if !tagged {
							w.Released = []string{"3"}
						}
					}
					all = append(all, w)
				}
			}
		}
	}
	return all
}

func entries() (all []*ledgerv1.Entry) {
	all = append(all, nil)
	base := ledgerv1.Entry{Kind: "thing", Condition: "Ready"}
	add := func(edit func(*ledgerv1.Entry)) {
		e := base
		edit(&e)
		all = append(all, &e)
		titled := e
		titled.Title, titled.Scope = ourTitle, ledgerv1.Scope{"net": "old"}
		all = append(all, &titled)
	}
	for age := range uint8(4) {
		at := stampOf(age)
		add(func(e *ledgerv1.Entry) {
			e.State, e.At, e.Refusal, e.Message = ledgerv1.Refused, at, string(fault.Quota), "nothing left: ask for more"
		})
		add(func(e *ledgerv1.Entry) {
			e.State, e.At, e.Refusal, e.Message, e.Token = ledgerv1.Refused, at, string(fault.Conflict), "taken: choose another", "2"
		})
		add(func(e *ledgerv1.Entry) { e.State, e.At, e.Token = ledgerv1.Pending, at, "2" })
		add(func(e *ledgerv1.Entry) { e.State, e.At, e.Token, e.Before = ledgerv1.Pending, at, "2", []string{"2"} })
		add(func(e *ledgerv1.Entry) {
			e.State, e.GoneAt, e.ID, e.Proven, e.Token = ledgerv1.Bound, at, "2", "2", "2"
		})
		add(func(e *ledgerv1.Entry) { e.State, e.AppliedAt, e.ID, e.InEffect = ledgerv1.Bound, at, "2", true })
		add(func(e *ledgerv1.Entry) {
			e.State, e.AppliedAt, e.Applied, e.ID, e.Proven = ledgerv1.Bound, at, summary(drift), "2", "2"
		})
		add(func(e *ledgerv1.Entry) {
			e.State, e.ID, e.Proven, e.UnreadySince, e.RepairedAt, e.Repairs, e.Params = ledgerv1.Bound, "2", "2", at, at, int32(age), theChoice
		})
	}
	for _, untagged := range []string{"1", "2"} { // another one, before the ledger was edited
		add(func(e *ledgerv1.Entry) { e.State, e.ID, e.Proven, e.Untagged = ledgerv1.Bound, "2", "2", untagged })
	}
	add(func(e *ledgerv1.Entry) { e.State, e.ID, e.Foreign = ledgerv1.Bound, "1", true })
	return slices.DeleteFunc(all, func(e *ledgerv1.Entry) bool { return e != nil && e.State == ledgerv1.Pending && e.At == nil })
}

func sights() (all []Sight) {
	add := func(s Sight) {
		s.Began = epoch
		if s.ID == "2" && s.Object == nil {
			s.Gone = []string{s.ID}
		}
		all = append(all, s)
	}
	ours, others := Tag{Owner: "o", Key: "k", Token: "2"}, Tag{Owner: "x", Key: "k"}
	things := []*Thing{nil}
	for _, tag := range []Tag{ours, others, {}} {
		for _, phase := range []phases.Phase{phases.Ready(), phases.Waiting("on its way"), phases.Failed("broken"), phases.Deleting()} {
			things = append(things, &Thing{ID: "2", Tag: tag, Phase: phase})
		}
	}
	lists := [][]Thing{nil}
	for _, o := range things[1:] {
		second := *o
		second.ID = "3"
		lists = append(lists, []Thing{*o}, []Thing{*o, second})
	}
	for _, err := range []error{phases.ErrStale, errors.New("timeout"), &fault.Error{Class: fault.Credentials, Err: errors.New("refused")}} {
		add(Sight{Failed: err})
	}
	for _, list := range lists[1:] {
		add(Sight{Turn: TurnGranted, Listed: true, List: list, ID: list[0].ID, Object: &list[0]})
	}
	for _, turn := range []TurnSight{TurnUnasked, TurnGranted, TurnQueued} {
		for _, token := range []string{"", "7"} {
			for _, list := range lists {
				add(Sight{Turn: turn, Token: token, Listed: true, List: list, Wrote: token != ""})
				add(Sight{Turn: turn, Token: token, Listed: true, Twice: true, List: list})
			}
			add(Sight{Turn: turn, Token: token})
		}
	}
	for _, o := range things {
		for _, id := range []string{"1", "2"} {
			for _, compared := range []bool{false, true} {
				for _, changes := range [][]Change{nil, drift} {
					for _, list := range lists[:2] {
						add(Sight{ID: id, Object: o, Compared: compared, Changes: changes, InEffect: compared, Listed: list != nil, List: list})
						if compared && changes != nil {
							add(Sight{ID: id, Object: o, Compared: compared, Changes: changes, Refused: errUnchangeable})
						}
						add(Sight{ID: id, Object: o, Compared: compared, Changes: changes, Applied: compared, Remedied: !compared, Asked: []string{"2"}})
					}
				}
			}
		}
	}
	for _, err := range []error{nil, errors.New("timeout"), errRefused, &fault.Error{Class: fault.Conflict, Err: errTaken},
		&fault.Error{Class: fault.Conflict, OtherID: "2", Err: errTaken}} {
		for _, o := range things {
			a := Attempt{Known: true, Err: err}
			if err == nil {
				a.ID = "2"
			}
			add(Sight{Attempt: a, ID: "2", Object: o})
			add(Sight{Attempt: a, Listed: true, List: lists[1]})
			add(Sight{Attempt: Attempt{Known: true, Running: true}})
		}
	}
	return all
}
