package decide

import (
	"math/rand/v2"
	"testing"
	"time"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// breaks are versions of decide that are broken on purpose, through their input. Each has to be found; docs/engine.md lists
// them.
var breaks = map[string]decider{
	"the last attempt isn't waited for": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		w.Settle = 0
		return Next(w, e, s, now)
	},
	"settling counts from now, not from when the round began": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		s.Began = now
		return Next(w, e, s, now)
	},
	"a create is made without a look": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		if d := Next(w, e, s, now); d.Verb != LookByName || !w.Wanted {
			return d
		}
		s.Listed, s.Twice = true, true
		return Next(w, e, s, now)
	},
	"what may exist is looked for once": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		s.Twice = s.Listed
		return Next(w, e, s, now)
	},
	"what failed was seen to be absent": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		s.Failed = nil
		return Next(w, e, s, now)
	},
	"whatever has the name is ours": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		for i := range s.List {
			s.List[i].Tag = Tag{Owner: w.Owner, Key: w.Key}
		}
		return Next(w, e, s, now)
	},
	"the user's own is deleted": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		if e != nil && e.Foreign && !w.Wanted {
			own := *e
			own.Foreign, w.Tagged = false, false
			e = &own
		}
		return Next(w, e, s, now)
	},
	"which of two is kept is decided by an old ledger": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		s.Wrote = true
		return Next(w, e, s, now)
	},
	"the second of two stays": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		if len(s.List) > 1 {
			s.List = s.List[:1]
		}
		return Next(w, e, s, now)
	},
	"a taken name is a refusal": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		if s.Attempt.Known && fault.ClassOf(s.Attempt.Err) == fault.Conflict {
			s.Attempt.Err = errRefused
		}
		return Next(w, e, s, now)
	},
	"an attempt is forgotten without a look": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		if e != nil && e.State == ledgerv1.Pending && !w.Wanted {
			return Step{Verb: Forget, Ends: true}
		}
		return Next(w, e, s, now)
	},
	"gone once is gone for good": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		w.GoneAfter = 0
		return Next(w, e, s, now)
	},
	"an attempt is dropped when the claim changes": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		if w.Wanted && w.Claim.Uses && e != nil && e.State == ledgerv1.Pending {
			e = nil
		}
		return Next(w, e, s, now)
	},
	"a deletion is done when it is asked for": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		if len(s.Asked) > 0 && !w.Wanted {
			return Step{Verb: Forget, Ends: true}
		}
		return Next(w, e, s, now)
	},
	"a remedy isn't counted": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		d := Next(w, e, s, now)
		if d.Verb == Remedy {
			d.Entry.Repairs = 0
		}
		return d
	},
	"what is broken is left alone": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		w.Repairs = false
		return Next(w, e, s, now)
	},
	"what exists needs no choice": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		w.Chooses = false
		return Next(w, e, s, now)
	},
	"what the spec names is deleted when the claim changes": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		w.Named = nil
		return Next(w, e, s, now)
	},
	"ours becomes the user's own when the spec names it": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		if w.Claim.Uses && s.Object != nil {
			untagged := *s.Object
			untagged.Tag = Tag{}
			s.Object = &untagged
		}
		return Next(w, e, s, now)
	},
	"what a list shows exists": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		d := Next(w, e, s, now)
		if d.Verb == LookByID && len(s.List) > 0 {
			s.ID, s.Object = d.ID, &s.List[0]
			return Next(w, e, s, now)
		}
		return d
	},
	"a change is taken for made": func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
		s.Changes = nil
		return Next(w, e, s, now)
	},
}

// foundIn is the world whose exploration finds a break; a rule finds the others.
var foundIn = map[string]string{
	"a change is taken for made":                         "tags, and ours breaks",
	"a create is made without a look":                    "tags, by name, which is unique",
	"a deletion is done when it is asked for":            "no tags, names of our own",
	"a remedy isn't counted":                             "tags, and ours breaks",
	"a taken name is a refusal":                          "tags, names are unique",
	"an attempt is dropped when the claim changes":       "tags, the spec names ours",
	"an attempt is forgotten without a look":             "no tags, names of our own",
	"gone once is gone for good":                         "tags, gone ones come back",
	"ours becomes the user's own when the spec names it": "tags, the claim changes",
	"the last attempt isn't waited for":                  "tags, one create makes two",
	"the second of two stays":                            "tags, one create makes two",
	"the user's own is deleted":                          "no tags, by name",
	"what exists needs no choice":                        "tags, by name, with a choice",
	"what is broken is left alone":                       "tags, and ours breaks",
	"what may exist is looked for once":                  "tags, a backup, and lists hide",
	"whatever has the name is ours":                      "tags, by name, which is unique",
}

// A check that finds nothing in a decide that is wrong is worth nothing.
func TestExplore_findsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, decide := range breaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, explored := foundIn[name]
			if !explored {
				found := ""
				space(func(w Wish, e *ledgerv1.Entry, s Sight) (more bool) {
					found = broken(w, e, s, decide(w, e, s, epoch.Add(2*settled)))
					return found == ""
				})
				if found == "" {
					t.Fatal("no rule finds it")
				}
				t.Logf("found by a rule: %s", found)
				return
			}
			x := &exploration{traits: worlds[in], decide: decide, most: exploredToFindABreak}
			x.run()
			x.walks(rand.New(rand.NewPCG(1, 2)), exploredToFindABreak)
			if x.wrong == "" {
				t.Fatalf("it isn't found in %q", in)
			}
			t.Logf("found in %q after %d states: %s", in, len(x.known), x.wrong)
		})
	}
}

const exploredToFindABreak = 50_000
