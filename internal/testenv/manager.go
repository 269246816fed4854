package testenv

import (
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Run a manager until it is stopped, or the test ends.
func Run(t testing.TB, mgr ctrl.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
			var goroutines strings.Builder // one of them may be what a manager waits for that doesn't end in time
			_ = pprof.Lookup("goroutine").WriteTo(&goroutines, 1)
			t.Errorf("the manager ended: %v\n%s", err, &goroutines)
		}
	}()
	stop = func() {
		select { // one that is stopped while it starts its controllers waits until its grace period is over, and ends with an error
		case <-mgr.Elected():
		case <-ended:
		}
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}
