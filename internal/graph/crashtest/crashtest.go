// Package crashtest proves of a system that no crash makes it leak or double anything outside: it kills the system at every
// point of its way, lets a new one go on from what the API server knows, and counts what is there in the end. The service
// may finish the work of a client that has died, before or after that.
package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bedplate/bedplate/internal/soaktest"
)

// rounds bounds how often a system is let go on before it has to be where it should be.
const rounds = 60

// World is one owner in a real API server and the service that its graph speaks to. Each run has its own.
type World interface {
	// Reconcile lets a reconciler, built from nothing, look at the owner once. All its outside calls and its client of the
	// API server go through the fuse.
	Reconcile(ctx context.Context, f *Fuse) error
	// Ready reports whether the owner is as its spec wants it.
	Ready() bool
	// Delete asks the API server to delete the owner.
	Delete()
	// Gone reports whether the API server has no owner any more.
	Gone() bool
	// Pass lets so much time go by that the service comes to the end of whatever it is at, and any settle time is over.
	Pass()
	// Outside names what exists outside and isn't the user's own: each resource by its key, doubles as often as they exist.
	Outside() []string
	// Untouched is an error if anything of the user's own is gone or changed.
	Untouched() error
}

// everyVariable has the suite try all points of stale caches, instead of some by a seed that it prints.
const everyVariable = "BEDPLATE_CRASH_EVERY"

// sampled is one of how many points of stale caches is tried otherwise.
const sampled = 4

// mostBehind is how many revisions a cache may be behind.
const mostBehind = 3

// Suite runs the worlds of one graph.
type Suite struct {
	// New makes a world whose owner nobody has reconciled yet.
	New func(t *testing.T) World
	// Keys that exist outside when the owner is ready.
	Keys []string
}

// Run kills the system at every point of creating and of deleting. Where that is during a call that changes something
// outside, the call is lost in one run and done late by the service in another. What was killed while creating goes on
// creating, or is deleted at once. And it lets one call or write fail at every point of a system that lives on.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	slices.Sort(s.Keys)
	var points atomic.Int64
	for _, variant := range []struct {
		name           string
		once, deleting bool
		then           func(t *testing.T, w World, f *Fuse)
	}{
		{name: "creating", then: s.untilReadyAndGone},
		{name: "creating, then deleted", then: s.deletedAtOnce},
		{name: "deleting", deleting: true, then: s.untilGone},
		{name: "creating, one call fails", once: true, then: s.untilReadyAndGone},
		{name: "deleting, one call fails", once: true, deleting: true, then: s.untilGone},
	} {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			at := func(n int, late bool) (f *Fuse) {
				t.Run(fmt.Sprintf("at point %d", n), func(t *testing.T) {
					f = &Fuse{left: n, late: late, once: variant.once}
					w := s.New(t)
					s.kill(t, w, f, variant.deleting)
					variant.then(t, w, f)
				})
				points.Add(1)
				return f
			}
			for n := 0; !t.Failed(); n++ {
				f := at(n, !variant.once)
				if !f.isBlown() {
					t.Logf("killed at %d points", n)
					points.Add(-1)
					return
				}
				if f.delivered { // during a call that changes something: now it is lost
					at(n, false)
				}
			}
		})
	}
	stale := s.runStale(t)
	t.Cleanup(func() {
		t.Logf("%d crash points tried", points.Load())
		t.Logf("%d points of stale caches and missed events tried", stale.Load())
	})
}

// runStale has a system work with a cache that is some revisions behind, in each of its reconciles, also in the first after a
// restart: each is built from nothing. In some runs it isn't woken for a while before, whatever happens.
func (s Suite) runStale(t *testing.T) *atomic.Int64 {
	var points atomic.Int64
	_, seed := soaktest.Options(t, time.Second)
	for _, deleting := range []bool{false, true} {
		for behind := 1; behind <= mostBehind; behind++ {
			t.Run(fmt.Sprintf("deleting %t, a cache that is %d behind", deleting, behind), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, uint64(behind)))
				for n, more := 0, true; more && !t.Failed(); n++ {
					if os.Getenv(everyVariable) == "" && random.IntN(sampled) > 0 {
						if n > rounds {
							return
						}
						continue
					}
					t.Run(fmt.Sprintf("in reconcile %d", n), func(t *testing.T) {
						more = s.stale(t, n, behind, deleting, random.IntN(2) == 0)
					})
					points.Add(1)
				}
			})
		}
	}
	return &points
}

// stale lets a system come to its n-th reconcile, in which its cache is behind, and then go on. It reports whether there was such
// a reconcile.
func (s Suite) stale(t *testing.T, n, behind int, deleting, missed bool) bool {
	t.Helper()
	w := s.New(t)
	past := &history{revisions: map[string][]revision{}}
	there := w.Ready
	if deleting {
		s.until(t, w, nil, past, w.Ready)
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
	more := !there()
	if missed {
		w.Pass()
		w.Pass()
	}
	_ = w.Reconcile(t.Context(), seeing(past, behind)) // its errors are those of what is known to be old
	if !deleting {
		s.until(t, w, nil, past, w.Ready)
		s.check(t, w)
		w.Delete()
		_ = w.Reconcile(t.Context(), seeing(past, behind))
	}
	s.until(t, w, nil, past, w.Gone)
	if outside := w.Outside(); len(outside) > 0 {
		t.Fatalf("left behind: %q", sorted(outside))
	}
	untouched(t, w)
	return more
}

// seeing is a fuse that never blows, of a process whose cache is behind.
func seeing(past *history, behind int) *Fuse { return &Fuse{left: -1, cache: past, behind: behind} }

// kill runs a system until its fuse blows, or until it is where it should be.
func (s Suite) kill(t *testing.T, w World, f *Fuse, deleting bool) {
	t.Helper()
	there := w.Ready
	if deleting {
		s.untilReady(t, w, nil)
		w.Delete()
		there = w.Gone
	}
	ctx, die := context.WithCancel(t.Context())
	defer die()
	f.die = die
	for range rounds {
		_ = w.Reconcile(ctx, f) // its errors are those of a dying process
		if f.Dead() || there() {
			return
		}
		w.Pass()
	}
	t.Fatalf("not there in %d rounds", rounds)
}

func (s Suite) untilReadyAndGone(t *testing.T, w World, f *Fuse) {
	t.Helper()
	s.untilReady(t, w, f)
	s.deletedAtOnce(t, w, nil)
}

func (s Suite) deletedAtOnce(t *testing.T, w World, f *Fuse) {
	t.Helper()
	w.Delete()
	s.untilGone(t, w, f)
}

// untilReady lets new reconcilers go on. What the killed one's last call does is done after the first of them has looked.
func (s Suite) untilReady(t *testing.T, w World, killed *Fuse) {
	t.Helper()
	s.until(t, w, killed, nil, w.Ready)
	s.check(t, w)
}

// check what there is outside for an owner that is ready.
func (s Suite) check(t *testing.T, w World) {
	t.Helper()
	if outside := sorted(w.Outside()); !slices.Equal(outside, s.Keys) {
		t.Fatalf("outside there is %q, and should be %q", outside, s.Keys)
	}
	untouched(t, w)
}

func (s Suite) untilGone(t *testing.T, w World, killed *Fuse) {
	t.Helper()
	s.until(t, w, killed, nil, w.Gone)
	if outside := w.Outside(); len(outside) > 0 {
		t.Fatalf("left behind: %q", sorted(outside))
	}
	untouched(t, w)
}

func (s Suite) until(t *testing.T, w World, killed *Fuse, past *history, there func() bool) {
	t.Helper()
	var last error
	for range rounds {
		last = w.Reconcile(t.Context(), seeing(past, 0))
		if killed != nil {
			killed.deliver()
		}
		if there() {
			return
		}
		w.Pass()
	}
	t.Fatalf("not there in %d rounds; last error: %v", rounds, last)
}

func untouched(t *testing.T, w World) {
	t.Helper()
	if err := w.Untouched(); err != nil {
		t.Fatalf("the user's own: %v", err)
	}
}

func sorted(keys []string) []string { return slices.Sorted(slices.Values(keys)) }
