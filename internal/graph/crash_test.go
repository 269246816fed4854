package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/bedplate/bedplate/internal/graph"
)

var errCrash = errors.New("crashed")

// crashAfter lets n steps happen and refuses every one after that, like a process that is killed. A step is the begin or
// the end of a call to the service (so its work can be done and its answer lost), or a write to the API server.
func (f *fixture) crashAfter(n int) (crashed func() bool) {
	step := func() error {
		n--
		if n < 0 {
			return errCrash
		}
		return nil
	}
	onCall := func(string) error { return step() }
	f.service.before, f.service.after, f.write = onCall, onCall, step
	return func() bool { return n < 0 }
}

func (f *fixture) recover() { f.service.before, f.service.after, f.write = nil, nil, nil }

func TestCrash_atAnyPointWhileCreating(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		f := newFixture(t)
		crashed := f.crashAfter(n)
		_, _ = f.reconcile()
		if !crashed() {
			t.Logf("crashed at %d points", n)
			return
		}
		f.recover()
		f.untilReady(n)
		f.Expect(f.service.keys()).To(Equal(everything), "crashed after %d steps", n)
		f.untilGone(n)
	}
}

func TestCrash_atAnyPointWhileDeleting(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		f := newFixture(t)
		f.untilReady(n)
		theirs, err := f.service.create(graph.Tag{})
		f.Expect(err).NotTo(HaveOccurred())
		crashed := f.crashAfter(n)
		for range 5 {
			f.delete()
			f.service.finish()
		}
		if !crashed() {
			t.Logf("crashed at %d points", n)
			return
		}
		f.recover()
		f.untilGone(n)
		f.Expect(f.service.things).To(HaveKey(theirs.id), "crashed after %d steps", n)
	}
}

// untilReady reconciles with a new engine each time. Each round passes the settle time.
func (f *fixture) untilReady(n int) {
	f.t.Helper()
	for range 10 {
		owner, err := f.reconcile()
		if err == nil && meta.IsStatusConditionTrue(owner.Status.Conditions, graph.ReadyCondition) {
			return
		}
		f.clock.Step(settle)
	}
	f.t.Fatalf("crashed after %d steps: not ready in ten rounds", n)
}

func (f *fixture) untilGone(n int) {
	f.t.Helper()
	for range 10 {
		if _, done := f.delete(); done {
			for _, key := range f.service.keys() {
				f.Expect(key).To(BeEmpty(), "crashed after %d steps: left behind", n)
			}
			return
		}
		f.service.finish()
		f.clock.Step(settle)
	}
	f.t.Fatalf("crashed after %d steps: not gone in ten rounds", n)
}
