package testenv

import (
	"context"
	"errors"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Run a manager until the test ends.
func Run(t testing.TB, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the manager ended: %v", err)
		}
	}()
	t.Cleanup(func() {
		select { // one that is stopped while it starts its controllers waits until its grace period is over, and ends with an error
		case <-mgr.Elected():
		case <-ended:
		}
		cancel()
		<-ended
	})
}
