// Package crashtest proves that no crash makes a system leak or duplicate anything outside: it kills the system at every
// point, has a new one continue from what is in the API server, and counts what exists in the end. The service may finish
// the work of a dead client, before or after that.
package crashtest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/soaktest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// rounds bounds how many reconciles a system may take to reach its goal.
const rounds = 60

// API is the API server of a world, and a namespace there: one in memory, since a real one takes most of the time; a real one if all points
// are tried. It knows the kinds of bmm, or those of another system.
func API(t testing.TB, system ...func(*runtime.Scheme) error) (_ client.WithWatch, namespace string) {
	t.Helper()
	if os.Getenv(everyVariable) != "" {
		return testenv.Client(t, system...), testenv.Namespace(t)
	}
	return testenv.Memory(t, system...), metav1.NamespaceDefault
}

// World is one owner in an API server and the service that its graph calls. Each run has its own.
type World interface {
	// Reconcile reconciles the owner once, with a new reconciler. All its outside calls and its client of the API server
	// go through the fuse.
	Reconcile(ctx context.Context, f *Fuse) error
	// Ready reports whether the owner matches its spec.
	Ready() bool
	// Delete asks the API server to delete the owner.
	Delete()
	// Gone reports whether the owner is gone from the API server.
	Gone() bool
	// Pass advances the time so far that the service finishes all its work, and any settle time is over.
	Pass()
	// Outside names what exists outside and isn't the user's own: each resource by its key, duplicates as often as they
	// exist.
	Outside() []string
	// Untouched is an error if anything of the user's own is gone or changed.
	Untouched() error
}

// Suite runs the worlds of one graph.
type Suite struct {
	// New makes a world whose owner hasn't been reconciled yet.
	New func(t *testing.T) World
	// Keys that exist outside when the owner is ready.
	Keys []string
	// Change, if a spec may change, has the spec of a ready owner want more; Changed are the keys then.
	Change  func(World)
	Changed []string
	// OneOf has one in so many points tried, also of those in writes: for a graph of many resources. Where all points of others are tried, all
	// of its writes are, and its other points are sampled. Default 1.
	OneOf int

	// samples: some points are left out.
	samples bool
}

// Sample is one of several rows, by the seed of the suites, or all of them if all points are tried.
func Sample[Row any](t *testing.T, rows map[string]Row) map[string]Row {
	t.Helper()
	if os.Getenv(everyVariable) != "" {
		return rows
	}
	_, seed := soaktest.Options(t, time.Second)
	names := slices.Sorted(maps.Keys(rows))
	name := names[seed%uint64(len(names))]
	return map[string]Row{name: rows[name]}
}

// Run kills the system at every point of creating and of deleting. If that is during a call that changes something
// outside, the call is lost in one run and done late by the service in another. After a kill while creating, the
// creation continues, or the owner is deleted at once. Besides, Run lets a single call or write fail at points of a system that stays
// alive. Of these, and of the kills in calls that only read, one in so many is tried, by a seed that is printed: a process that is killed
// in a read has changed nothing since the write before. With BEDPLATE_CRASH_EVERY all are.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	_, seed := soaktest.Options(t, time.Second)
	slices.Sort(s.Keys)
	slices.Sort(s.Changed)
	every := os.Getenv(everyVariable) != ""
	if s.samples = !every || s.OneOf > 1; every {
		s.OneOf = 1
	}
	s.OneOf = max(s.OneOf, 1)
	var points atomic.Int64
	for i, variant := range []struct {
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
			writes := s.scout(t, variant.deleting)
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for n := 0; !t.Failed(); n++ {
				if n < len(writes) && (s.leaves(random, s.OneOf) || !writes[n] && s.leaves(random, sampledReads) ||
					variant.once && s.leaves(random, sampledFailures)) {
					continue
				}
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
	stale := s.runStale(t, seed)
	t.Cleanup(func() {
		t.Logf("%d crash points tried", points.Load())
		t.Logf("%d points of stale caches and missed events tried", stale.Load())
	})
}

// scout runs a system to its goal, and says of each point whether it is in a write.
func (s Suite) scout(t *testing.T, deleting bool) (writes []bool) {
	t.Helper()
	t.Run("without a kill", func(t *testing.T) {
		f := Unbroken()
		s.kill(t, s.New(t), f, deleting)
		writes = f.writes
	})
	return writes
}

// kill runs a system until its fuse blows, or until it has reached its goal.
func (s Suite) kill(t *testing.T, w World, f *Fuse, deleting bool) {
	t.Helper()
	there := w.Ready
	if deleting {
		s.untilReady(t, w, nil)
		w.Delete()
		there = w.Gone
	}
	burn(t, w, f, there)
}

// burn reconciles until the fuse blows, or until the goal is reached.
func burn(t *testing.T, w World, f *Fuse, there func() bool) {
	t.Helper()
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

// untilReady continues with new reconcilers. The last call of the killed one is done after the first of them has run.
func (s Suite) untilReady(t *testing.T, w World, killed *Fuse) {
	t.Helper()
	until(t, w, killed, nil, w.Ready)
	s.check(t, w)
}

// check what exists outside for an owner that is ready.
func (s Suite) check(t *testing.T, w World) {
	t.Helper()
	outsideIs(t, w, s.Keys)
}

func outsideIs(t *testing.T, w World, keys []string) {
	t.Helper()
	if outside := sorted(w.Outside()); !slices.Equal(outside, keys) {
		t.Fatalf("outside there is %q, and should be %q", outside, keys)
	}
	untouched(t, w)
}

func (s Suite) untilGone(t *testing.T, w World, killed *Fuse) {
	t.Helper()
	until(t, w, killed, nil, w.Gone)
	nothingIsLeft(t, w)
}

func nothingIsLeft(t *testing.T, w World) {
	t.Helper()
	if outside := w.Outside(); len(outside) > 0 {
		t.Fatalf("left behind: %q", sorted(outside))
	}
	untouched(t, w)
}

func until(t *testing.T, w World, killed *Fuse, past *history, there func() bool) {
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
