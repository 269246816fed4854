package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// look is everything that is counted, at one moment.
type look struct {
	usage
	calls      map[string]int     // of the site, by operation
	kube       map[string]float64 // requests of the manager to the API server, by verb
	reconciles float64
	queued     float64
}

func (r *rig) look(ctx context.Context) (look, error) {
	used, err := usageOf(r.manager.process.PID())
	if err != nil {
		return look{}, err
	}
	calls, err := r.site.Calls(ctx)
	if err != nil {
		return look{}, err
	}
	metrics, err := r.manager.scrape(ctx)
	if err != nil {
		return look{}, err
	}
	return look{
		usage: used, calls: calls, kube: metrics.by("rest_client_requests_total", "method"),
		reconciles: metrics.total("controller_runtime_reconcile_total"), queued: metrics.total("workqueue_depth"),
	}, nil
}

// profile writes where the manager's time and memory go, from now on, if that is wanted.
func (r *run) profile(ctx context.Context, phase string) <-chan error {
	done := make(chan error, 1)
	if !r.profiles {
		close(done)
		return done
	}
	go func() {
		done <- errors.Join(r.write(ctx, "profile?seconds=30", phase+".cpu.pprof"), r.write(ctx, "heap?gc=1", phase+".heap.pprof"))
	}()
	return done
}

func (r *run) write(ctx context.Context, query, file string) error {
	data, err := r.manager.profile(ctx, query)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.bench.dir, file), data, 0o600)
}
