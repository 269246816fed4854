package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/sim"
)

// krakeBench is what to measure of Krake's manager, and how.
type krakeBench struct {
	bench
	number int
	outage time.Duration
}

func krakeCommand() *cobra.Command {
	b := krakeBench{}
	command := &cobra.Command{
		Use:   "krake",
		Short: "Measure what Krake's manager costs",
		Long: `Applies many Clusters at once, with templates of 20 KiB, and measures until all are ONLINE. Restarts the manager with its defaults and
measures while nothing changes, and then while the infrastructure manager is suspended and all Clusters are changed. In the end
everything is deleted. docs/performance.md explains the figures.`,
		Args: cobra.NoArgs,
		RunE: measuring(&b.bench, b.run),
	}
	flags := command.Flags()
	flags.IntVar(&b.number, "clusters", 500, "number of Clusters that are made at once")
	flags.DurationVar(&b.outage, "outage", 10*time.Minute, "how long the infrastructure manager doesn't answer")
	b.flags(flags, "bench-krake.json")
	return command
}

// krakeRun is one number of Clusters.
type krakeRun struct {
	*run
	fleet   krakeFleet
	lasts   time.Duration // the outage
	figures *krakeFigures
}

func (b *krakeBench) run(ctx context.Context) (*krakeFigures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dir, remove, err := folder(b.dir)
	if err != nil {
		return nil, err
	}
	defer remove()
	b.dir, b.perCluster = dir, 1
	workload := startWorkload()
	defer workload.Close()
	t := atSpeed(b.speed)
	world := sim.Default()
	world.Speed, world.Kubeconfig = t.Speed, workload.kubeconfig()
	say("%d Clusters: starting", b.number)
	rig, err := startRig(ctx, b.tools, dir, krakeSystem(world))
	if err != nil {
		return nil, err
	}
	defer rig.stop()
	r := &krakeRun{
		run:     &run{bench: b.bench, rig: rig, tempo: t, machines: b.number},
		fleet:   krakeFleet{fleet: fleet{client: rig.client}, url: rig.site.URL},
		lasts:   b.outage,
		figures: &krakeFigures{Clusters: b.number, Tempo: t, Began: time.Now().UTC().Truncate(time.Second)},
	}
	if r.figures.Host, err = host(); err != nil {
		return nil, err
	}
	if r.observer, err = rig.observe(ctx); err != nil {
		return nil, err
	}
	if err := rig.startManager(ctx, append(t.flags(), "--observe-interval="+t.Poll.String())...); err != nil {
		return nil, err
	}
	idle := func(ctx context.Context) error { return r.idle(ctx, workload) }
	for _, phase := range []func(context.Context) error{r.make, idle, r.outage, r.remove} {
		if err := phase(ctx); err != nil {
			return r.figures, err
		}
	}
	return r.figures, nil
}

// make applies all Clusters at once, and measures until they are ONLINE.
func (r *krakeRun) make(ctx context.Context) error {
	if err := r.fleet.createCloud(ctx); err != nil {
		return err
	}
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	say("%d Clusters: making them", r.figures.Clusters)
	profiled := r.profile(ctx, "make")
	if err := each(ctx, r.figures.Clusters, func(ctx context.Context, n int) error { return r.fleet.createCluster(ctx, clusterName(n)) }); err != nil {
		return err
	}
	if err := r.until(ctx, "all Clusters are ONLINE", r.patience, func(context.Context) error {
		return count("Clusters", r.clustersReady(), r.figures.Clusters)
	}); err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	f, each := &r.figures.Make, float64(r.figures.Clusters)
	f.OnlineAfter = after.at.Sub(before.at).Seconds()
	f.CPU = (after.cpu - before.cpu).Seconds() / each
	f.Calls = per(since(before.calls, after.calls), each)
	f.Kube = per(since(before.kube, after.kube), each)
	f.Reconciles = (after.reconciles - before.reconciles) / each
	f.PeakRSS, f.RSS = after.peak, after.rss
	metrics, err := r.manager.scrape(ctx)
	if err != nil {
		return err
	}
	f.LongReconciles = metrics.above("controller_runtime_reconcile_time_seconds", "controller", "krake-cluster", 1)
	r.figures.Load, err = load()
	say("%d Clusters: all ONLINE after %.0f s: %.1f calls for each, peak RSS %s, CPU %.0f ms", r.figures.Clusters,
		f.OnlineAfter, sum(f.Calls), mib(f.PeakRSS), 1000*f.CPU)
	return errors.Join(err, <-profiled)
}

// outage suspends the infrastructure manager and changes all Clusters meanwhile, and measures until all changes are made afterwards.
func (r *krakeRun) outage(ctx context.Context) error {
	metrics, err := r.manager.scrape(ctx)
	if err != nil {
		return err
	}
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	say("%d Clusters: the infrastructure manager is suspended for %s", r.figures.Clusters, r.lasts)
	if err := syscall.Kill(r.site.process.PID(), syscall.SIGSTOP); err != nil {
		return err
	}
	if err := errors.Join(each(ctx, r.figures.Clusters, func(ctx context.Context, n int) error {
		return r.fleet.enlarge(ctx, clusterName(n))
	}), pause(ctx, r.lasts), syscall.Kill(r.site.process.PID(), syscall.SIGCONT)); err != nil {
		return err
	}
	began := time.Now()
	later, err := r.manager.scrape(ctx)
	if err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	const operations, updates = "bedplate_outside_calls_total", "updateInfrastructure"
	f := &r.figures.Outage
	f.Minutes, f.Cores = after.at.Sub(before.at).Minutes(), after.cores(before.usage)
	f.Calls = since(metrics.by(operations, "operation"), later.by(operations, "operation"))
	err = r.until(ctx, "all changes are made", r.patience, func(ctx context.Context) error {
		calls, err := r.site.Calls(ctx)
		return errors.Join(err, count("updates", calls[updates]-before.calls[updates], r.figures.Clusters))
	})
	f.ChangedAfter = time.Since(began).Seconds()
	say("%d Clusters: %.0f calls in %.1f minutes, all changed after %.0f s more", r.figures.Clusters, sum(f.Calls), f.Minutes, f.ChangedAfter)
	return err
}

// idle measures while nothing changes, with the manager's defaults.
func (r *krakeRun) idle(ctx context.Context, workload *workload) error {
	r.stopManager()
	t := tempo{
		Speed: 1, Poll: r.idling.poll, Settle: lifeSettle, Create: lifeCreate, OutsideQPS: lifeOutsideQPS, OutsideBurst: lifeOutsideBurst,
	}
	if err := r.startManager(ctx, append(t.flags(), "--observe-interval="+r.idling.poll.String())...); err != nil {
		return err
	}
	if err := r.until(ctx, "the manager is at rest", r.patience, func(ctx context.Context) error {
		l, err := r.look(ctx)
		if err == nil && (l.reconciles < 2*float64(r.figures.Clusters) || l.queued > 0) {
			err = fmt.Errorf("%.0f reconciles so far, %.0f queued", l.reconciles, l.queued)
		}
		return err
	}); err != nil {
		return err
	}
	probes := workload.probes.Load()
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	say("%d Clusters: measuring at rest", r.figures.Clusters)
	profiled := r.profile(ctx, "idle")
	if err := pause(ctx, time.Duration(r.idling.intervals)*r.idling.poll); err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	f := &r.figures.Idle
	f.Window, f.Poll = after.at.Sub(before.at).Seconds(), r.idling.poll.Seconds()
	clusterIntervals := float64(r.figures.Clusters) * f.Window / f.Poll
	f.Probes = float64(workload.probes.Load()-probes) / clusterIntervals
	f.Calls = per(since(before.calls, after.calls), clusterIntervals)
	f.Cores = after.cores(before.usage)
	f.Kube = per(since(before.kube, after.kube), f.Window)
	f.PeakRSS, f.RSS = after.peak, after.rss
	say("%d Clusters: at rest %.2f probes and %.3f calls for each and interval, %.1f %% of a core, RSS %s", r.figures.Clusters, f.Probes, sum(f.Calls),
		100*f.Cores, mib(f.RSS))
	return <-profiled
}

// remove deletes everything, and searches for what is left outside.
func (r *krakeRun) remove(ctx context.Context) error {
	r.stopManager()
	if err := r.startManager(ctx, append(r.tempo.flags(), "--observe-interval="+r.tempo.Poll.String())...); err != nil {
		return err
	}
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	say("%d Clusters: deleting them", r.figures.Clusters)
	if err := each(ctx, r.figures.Clusters, func(ctx context.Context, n int) error {
		return r.fleet.client.Delete(ctx, &krakev1.Cluster{ObjectMeta: named(clusterName(n))})
	}); err != nil {
		return err
	}
	if err := r.until(ctx, "all Clusters are gone", r.patience, func(ctx context.Context) error {
		var left krakev1.ClusterList
		if err := r.fleet.client.List(ctx, &left, client.InNamespace(fleetNamespace)); err != nil {
			return err
		}
		return count("Clusters", len(left.Items), 0)
	}); err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	var state sim.State
	if err := r.site.Ask(ctx, http.MethodGet, "state", nil, &state); err != nil {
		return err
	}
	f := &r.figures.Remove
	f.GoneAfter, f.Calls = after.at.Sub(before.at).Seconds(), per(since(before.calls, after.calls), float64(r.figures.Clusters))
	if f.Left = len(state); f.Left > 0 {
		return fmt.Errorf("%d infrastructures are left, such as %+v", f.Left, state[0])
	}
	return nil
}
