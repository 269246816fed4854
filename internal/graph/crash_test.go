package graph_test

import (
	"errors"

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
