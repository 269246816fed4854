package crashtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// everyVariable has the suite try all points, instead of some by a seed that it prints.
const everyVariable = "BEDPLATE_CRASH_EVERY"

// Otherwise one of so many points is tried: of stale caches, of kills in calls that only read, and of single failures.
const sampled, sampledReads, sampledFailures = 4, 5, 3

// leaves reports whether a point is left out.
func (s Suite) leaves(random *rand.Rand, oneOf int) bool { return s.samples && random.IntN(oneOf) > 0 }

// mostBehind is how many revisions a cache may be behind.
const mostBehind = 3

// runStale has a system work with a cache that is some revisions behind, in each of its reconciles, also in the first after a
// restart: each uses a new reconciler. In some runs it misses events before.
func (s Suite) runStale(t *testing.T, seed uint64) *atomic.Int64 {
	var points atomic.Int64
	type history struct {
		name string
		// run the n-th case of its kind. It reports whether there is one.
		run func(t *testing.T, n, behind int, missed bool) bool
	}
	histories := []history{
		{"creating", func(t *testing.T, n, behind int, missed bool) bool { return s.stale(t, n, behind, false, missed) }},
		{"deleting", func(t *testing.T, n, behind int, missed bool) bool { return s.stale(t, n, behind, true, missed) }},
		{"after a crash", func(t *testing.T, n, behind int, _ bool) bool { return s.staleAfterCrash(t, n, behind) }},
	}
	if s.Change != nil {
		histories = append(histories, history{"a spec from before its change", func(t *testing.T, n, behind int, _ bool) bool {
			return s.staleSpec(t, n, behind)
		}})
	}
	for i, h := range histories {
		for behind := 1; behind <= mostBehind; behind++ {
			t.Run(fmt.Sprintf("%s, a cache that is %d behind", h.name, behind), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, uint64(i*mostBehind+behind)))
				for n, more := 0, true; more && !t.Failed(); n++ {
					if s.leaves(random, sampled*s.OneOf) {
						if n > rounds {
							return
						}
						continue
					}
					t.Run(fmt.Sprintf("at %d", n), func(t *testing.T) { more = h.run(t, n, behind, random.IntN(2) == 0) })
					points.Add(1)
				}
			})
		}
	}
	return &points
}

// stale runs a system with a stale cache in its n-th reconcile, and then lets it continue.
func (s Suite) stale(t *testing.T, n, behind int, deleting, missed bool) (more bool) {
	t.Helper()
	w, past := s.New(t), newHistory()
	there := w.Ready
	if deleting {
		until(t, w, nil, past, w.Ready)
		w.Delete()
		there = w.Gone
	}
	for range n {
		if there() {
			break
		}
		_ = w.Reconcile(t.Context(), seeing(past, 0))
		w.Pass()
	}
	more = !there()
	if missed {
		w.Pass()
		w.Pass()
	}
	if !deleting {
		harmless(t, w, seeing(past, behind), nil)
		until(t, w, nil, past, w.Ready)
		s.check(t, w)
		w.Delete()
	}
	_ = w.Reconcile(t.Context(), seeing(past, behind)) // errors from stale reads are expected
	until(t, w, nil, past, w.Gone)
	nothingIsLeft(t, w)
	return more
}

// staleAfterCrash kills a system at the n-th point of creating. The next one works with a cache from before the last writes, while the
// service hasn't done the last request yet.
func (s Suite) staleAfterCrash(t *testing.T, n, behind int) (more bool) {
	t.Helper()
	w, past := s.New(t), newHistory()
	f := &Fuse{left: n, late: true, cache: past}
	burn(t, w, f, w.Ready)
	harmless(t, w, seeing(past, behind), f)
	until(t, w, nil, past, w.Ready)
	s.check(t, w)
	s.deletedAtOnce(t, w, nil)
	return f.isBlown()
}

// staleSpec runs a system to its n-th reconcile after its spec has been extended. That reconcile sees the old spec with the newest
// ledger, which has more than the spec wants.
func (s Suite) staleSpec(t *testing.T, n, behind int) (more bool) {
	t.Helper()
	w, past := s.New(t), newHistory()
	until(t, w, nil, past, w.Ready)
	s.Change(w)
	f := seeing(past, behind)
	f.newLedgers = true
	there := func() bool { return slices.Equal(sorted(w.Outside()), s.Changed) && w.Ready() }
	for range n {
		if there() {
			break
		}
		_ = w.Reconcile(t.Context(), seeing(past, 0))
		w.Pass()
	}
	more = !there()
	harmless(t, w, f, nil)
	until(t, w, nil, past, there)
	outsideIs(t, w, s.Changed)
	s.deletedAtOnce(t, w, nil)
	return more
}

// harmless is a reconcile of an owner that isn't deleted: whatever it sees, it deletes and duplicates nothing, not even for a
// while. After it the service does the last request of the killed process, if there was one.
func harmless(t *testing.T, w World, f, killed *Fuse) {
	t.Helper()
	before := w.Outside()
	_ = w.Reconcile(t.Context(), f) // errors from stale reads are expected
	if killed != nil {
		killed.deliver()
	}
	w.Pass()
	after := sorted(w.Outside())
	for _, key := range before {
		if !slices.Contains(after, key) {
			t.Fatalf("%s was taken away by a process that sees what was before", key)
		}
	}
	if len(slices.Compact(slices.Clone(after))) < len(after) {
		t.Fatalf("a double was made by a process that sees what was before: %q", after)
	}
	untouched(t, w)
}

// seeing is a fuse that never blows, of a process whose cache is behind.
func seeing(past *history, behind int) *Fuse { return &Fuse{left: -1, cache: past, behind: behind} }
