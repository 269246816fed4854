package graph

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
)

// breaks are versions of decide that are broken on purpose, by what it is told. Each has to be found; docs/engine.md lists them.
var breaks = map[string]decider{
	"the last attempt isn't waited for": func(w wish, e *entry, s sight, now time.Time) step {
		w.settle = 0
		return decide(w, e, s, now)
	},
	"settling counts from now, not from when the round began": func(w wish, e *entry, s sight, now time.Time) step {
		s.began = now
		return decide(w, e, s, now)
	},
	"a create is made without a look": func(w wish, e *entry, s sight, now time.Time) step {
		if d := decide(w, e, s, now); d.verb != lookByName || !w.wanted {
			return d
		}
		s.listed = true
		return decide(w, e, s, now)
	},
	"what failed was seen to be absent": func(w wish, e *entry, s sight, now time.Time) step {
		s.failed = nil
		return decide(w, e, s, now)
	},
	"whatever has the name is ours": func(w wish, e *entry, s sight, now time.Time) step {
		for i := range s.list {
			s.list[i].tag = Tag{Owner: w.owner, Key: w.key}
		}
		return decide(w, e, s, now)
	},
	"the user's own is deleted": func(w wish, e *entry, s sight, now time.Time) step {
		if e != nil && e.Foreign && !w.wanted {
			own := *e
			own.Foreign, w.tagged = false, false
			e = &own
		}
		return decide(w, e, s, now)
	},
	"which of two is kept is decided by an old ledger": func(w wish, e *entry, s sight, now time.Time) step {
		s.wrote = true
		return decide(w, e, s, now)
	},
	"the second of two stays": func(w wish, e *entry, s sight, now time.Time) step {
		if len(s.list) > 1 {
			s.list = s.list[:1]
		}
		return decide(w, e, s, now)
	},
	"a taken name is a refusal": func(w wish, e *entry, s sight, now time.Time) step {
		if s.attempt.known && fault.ClassOf(s.attempt.err) == fault.Conflict {
			s.attempt.err = errRefused
		}
		return decide(w, e, s, now)
	},
	"an attempt is forgotten without a look": func(w wish, e *entry, s sight, now time.Time) step {
		if e != nil && e.State == statePending && !w.wanted {
			return step{verb: forget, ends: true}
		}
		return decide(w, e, s, now)
	},
	"gone once is gone for good": func(w wish, e *entry, s sight, now time.Time) step {
		w.goneAfter = 0
		return decide(w, e, s, now)
	},
	"an attempt is dropped when the claim changes": func(w wish, e *entry, s sight, now time.Time) step {
		if w.wanted && w.claim.uses && e != nil && e.State == statePending {
			e = nil
		}
		return decide(w, e, s, now)
	},
	"a deletion is done when it is asked for": func(w wish, e *entry, s sight, now time.Time) step {
		if len(s.asked) > 0 && !w.wanted {
			return step{verb: forget, ends: true}
		}
		return decide(w, e, s, now)
	},
	"a remedy isn't counted": func(w wish, e *entry, s sight, now time.Time) step {
		d := decide(w, e, s, now)
		if d.verb == remedy {
			d.entry.Repairs = 0
		}
		return d
	},
	"what is broken is left alone": func(w wish, e *entry, s sight, now time.Time) step {
		w.repairs = false
		return decide(w, e, s, now)
	},
	"what exists needs no choice": func(w wish, e *entry, s sight, now time.Time) step {
		w.chooses = false
		return decide(w, e, s, now)
	},
	"a change is taken for made": func(w wish, e *entry, s sight, now time.Time) step {
		s.changes = nil
		return decide(w, e, s, now)
	},
}

// A check that finds nothing in a decide that is wrong is worth nothing.
func TestExplore_findsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, decide := range breaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for in, world := range worlds {
				x := &exploration{traits: world, decide: decide, most: exploredToFindABreak}
				x.run()
				x.walks(rand.New(rand.NewPCG(1, 2)), exploredToFindABreak)
				if x.wrong != "" {
					t.Logf("found in %q after %d states", in, len(x.known))
					return
				}
			}
			found := ""
			space(func(w wish, e *entry, s sight) {
				if found == "" {
					found = broken(w, e, s, decide(w, e, s, epoch.Add(2*settled)))
				}
			})
			if found == "" {
				t.Error("it isn't found")
			}
			t.Logf("found by a rule: %s", found)
		})
	}
}

const exploredToFindABreak = 50_000
