package testenv

import (
	"context"
	"errors"
	"sync"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Run a manager until the test ends.
func Run(t testing.TB, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the manager ended: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}
