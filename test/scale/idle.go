package main

import (
	"context"
	"fmt"
	"time"
)

// pageSize is how many instances the client asks for at once.
const pageSize = 100

// pages of a list of so many instances.
func pages(instances int) int { return (instances + pageSize - 1) / pageSize }

// idle restarts the manager, with its defaults, and measures while nothing changes.
func (r *run) idle(ctx context.Context) error {
	before, err := r.site.Calls(ctx)
	if err != nil {
		return err
	}
	if err := r.restart(ctx); err != nil {
		return err
	}
	if err := r.untilListed(ctx, r.idling.poll); err != nil {
		return err
	}
	return r.rest(ctx, before, pages(r.machines))
}

// restart the manager, with its defaults, and wait until it is at rest.
func (r *run) restart(ctx context.Context) error {
	r.stopManager()
	t := tempo{Speed: 1, Poll: r.idling.poll, Settle: lifeSettle, Create: lifeCreate, OutsideQPS: lifeOutsideQPS, OutsideBurst: lifeOutsideBurst}
	began := time.Now()
	if err := r.startManager(ctx, t.flags()...); err != nil {
		return err
	}
	if err := r.untilAtRest(ctx); err != nil {
		return err
	}
	r.figures.Idle.RestAfter = time.Since(began).Seconds()
	return nil
}

// rest measures while nothing changes. Before are the calls before the restart; one list takes so many.
func (r *run) rest(ctx context.Context, before map[string]int, list int) error {
	f := &r.figures.Idle
	start, err := r.look(ctx)
	if err != nil {
		return err
	}
	window := time.Duration(r.idling.intervals) * r.idling.poll
	say("%d machines: at rest after %.0f s; measuring for %s", r.machines, f.RestAfter, window)
	profiled := r.profile(ctx, "idle")
	if err := pause(ctx, window); err != nil {
		return err
	}
	if err := <-profiled; err != nil {
		return err
	}
	end, err := r.look(ctx)
	if err != nil {
		return err
	}
	seconds := end.at.Sub(start.at).Seconds()
	f.Window, f.Poll = seconds, r.idling.poll.Seconds()
	f.RestartCalls = since(before, start.calls)
	f.Calls = since(start.calls, end.calls)
	f.ExpectedCalls = list * r.idling.intervals
	f.Cores = end.cores(start.usage)
	f.Kube = per(since(start.kube, end.kube), seconds)
	f.Reconciles = (end.reconciles - start.reconciles) / seconds
	f.PeakRSS, f.RSS = end.peak, end.rss
	say("%d machines: at rest %.1f %% of a core, RSS %s, listed by %d calls instead of %d", r.machines, 100*f.Cores, mib(f.RSS),
		f.Calls[r.system.lists], f.ExpectedCalls)
	return nil
}

// untilAtRest waits until the manager has reconciled everything once, and nothing waits for its turn.
func (r *run) untilAtRest(ctx context.Context) error {
	return r.until(ctx, "the manager is at rest", r.patience, func(ctx context.Context) error {
		l, err := r.look(ctx)
		if err == nil && (l.reconciles < float64(r.machines+r.clusters()) || l.queued > 0) {
			err = fmt.Errorf("%.0f reconciles so far, %.0f queued", l.reconciles, l.queued)
		}
		return err
	})
}

// untilListed waits until a list of the site has just come to its end.
func (r *rig) untilListed(ctx context.Context, poll time.Duration) error {
	ended := min(time.Second, poll/4) // no page takes that long
	last, changed, began := -1, time.Now(), -1
	return r.until(ctx, "the site is listed", 10*poll, func(ctx context.Context) error {
		calls, err := r.site.Calls(ctx)
		if err != nil {
			return err
		}
		lists := calls[r.system.lists]
		if began < 0 {
			began = lists
		}
		if lists != last {
			last, changed = lists, time.Now()
		}
		if lists == began || time.Since(changed) <= ended {
			return fmt.Errorf("%d pages so far", lists-began)
		}
		return nil
	})
}
