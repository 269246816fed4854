package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// bench is what to measure, and how.
type bench struct {
	sizes      []int
	perCluster int
	nodes      int
	serial     int
	hostile    int
	dead       int
	speed      float64
	pace       float64 // of the machines that are made one after the other, as speed
	idling     idling
	patience   time.Duration
	dir        string
	file       string
	bin        string
	tools      tools.Dir
	profiles   bool
}

// idling says how the manager is measured while nothing changes. It is set as by default, whatever the speed before.
type idling struct {
	poll      time.Duration
	intervals int
}

func benchCommand() *cobra.Command {
	var b bench
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure what the manager costs",
		Long: `First makes a few machines at a site that makes one after the other, as the real one does; once more while another tenant's API is
hostile; and a cluster beside many at endpoints that don't answer. For each size: makes so many machines, measures until all are provisioned, and
deletes them. With the largest:
restarts the manager with its defaults, and measures while nothing changes; asks the site for each instance as well, for
comparison. In the end nodes join a cluster, for the cloud controller manager. docs/performance.md explains the figures.`,
		Args: cobra.NoArgs,
		RunE: measuring(&b, b.run),
	}
	flags := command.Flags()
	flags.IntSliceVar(&b.sizes, "machines", []int{500, 5000}, "numbers of machines, one after the other; 0 for none")
	flags.IntVar(&b.nodes, "nodes", 1000, "number of nodes that the cloud controller manager is measured with; 0 for none")
	flags.IntVar(&b.serial, "serial", 20, "machines that are made at a service which makes one after the other; 0 for none")
	flags.IntVar(&b.hostile, "hostile", 100, "objects of a tenant whose API is hostile, beside those of --serial; 0 for none")
	flags.IntVar(&b.dead, "dead", 100, "clusters at endpoints that don't answer, beside one at a healthy one; 0 for none")
	flags.IntVar(&b.perCluster, "per-cluster", 100, "machines of each cluster")
	b.flags(flags, "bench.json")
	return command
}

// flags of all benches. The figures go into a file of that name, unless another one is given.
func (b *bench) flags(flags *pflag.FlagSet, file string) {
	b.patience, b.pace = time.Hour, 1
	flags.Float64Var(&b.speed, "speed", 5, "how many times as fast as life machines are made")
	flags.DurationVar(&b.idling.poll, "rest-poll", lifePoll, "poll interval while nothing changes")
	flags.IntVar(&b.idling.intervals, "rest-intervals", 12, "for so many poll intervals is measured while nothing changes")
	flags.StringVar(&b.dir, "dir", "", "folder for logs and data, kept (default: a temporary one)")
	flags.BoolVar(&b.profiles, "profiles", false, "write profiles of the manager into --dir")
	flags.StringVar(&b.file, "json", filepath.Join("out", file), "file for the figures")
	flags.StringVar(&b.bin, "tools", "", "folder with the tools (default: see `make tools`)")
}

// measuring runs a bench with its flags. Of its report is printed and written what there is, if it isn't everything.
func measuring[Report interface {
	comparable
	print(io.Writer)
}](b *bench, run func(context.Context) (Report, error)) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) (err error) {
		if b.tools, err = tools.Find(b.bin); err != nil {
			return err
		}
		var none Report
		report, err := run(c.Context())
		if report == none {
			return err
		}
		report.print(c.OutOrStdout())
		return errors.Join(err, write(report, b.file))
	}
}

func (b *bench) run(ctx context.Context) (*report, error) {
	dir, remove, err := folder(b.dir)
	if err != nil {
		return nil, err
	}
	defer remove()
	b.dir = dir
	where, err := host()
	if err != nil {
		return nil, err
	}
	report := &report{Host: where, Began: time.Now().UTC().Truncate(time.Second)}
	if b.serial > 0 {
		if report.Serial, err = b.measureSerial(ctx); err != nil {
			return report, fmt.Errorf("%d machines, one after the other: %w", b.serial, err)
		}
	}
	if b.serial > 0 && b.hostile > 0 {
		if report.Hostile, err = b.measureHostile(ctx, report.Serial); err != nil {
			return report, fmt.Errorf("%d machines, and a hostile tenant: %w", b.serial, err)
		}
	}
	if b.dead > 0 {
		if report.Dead, err = b.measureDead(ctx); err != nil {
			return report, fmt.Errorf("%d clusters at dead endpoints: %w", b.dead, err)
		}
	}
	for _, machines := range slices.DeleteFunc(slices.Clone(b.sizes), func(n int) bool { return n == 0 }) {
		figures, err := b.measure(ctx, machines)
		if err != nil {
			return report, fmt.Errorf("%d machines: %w", machines, err)
		}
		report.Runs = append(report.Runs, *figures)
	}
	if b.nodes > 0 {
		if report.Nodes, err = b.measureNodes(ctx); err != nil {
			return report, fmt.Errorf("%d nodes: %w", b.nodes, err)
		}
	}
	return report, nil
}

// run is one size.
type run struct {
	bench
	*rig
	*observer
	fleet
	tempo    tempo
	machines int
	figures  figures
}

func (b bench) measure(ctx context.Context, machines int) (*figures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.dir = filepath.Join(b.dir, fmt.Sprint(machines))
	t := atSpeed(b.speed)
	say("%d machines: starting", machines)
	rig, err := startRig(ctx, b.tools, b.dir, bmmSystem(worldOf(machines, t)))
	if err != nil {
		return nil, err
	}
	defer rig.stop()
	r := &run{bench: b, rig: rig, fleet: fleet{client: rig.client}, tempo: t, machines: machines}
	r.figures = figures{Machines: machines, Clusters: r.clusters(), Tempo: t}
	if r.observer, err = rig.observe(ctx); err != nil {
		return nil, err
	}
	if err := rig.startManager(ctx, t.flags()...); err != nil {
		return nil, err
	}
	phases := []func(context.Context) error{r.network, r.make}
	if machines == slices.Max(b.sizes) { // it takes long, and little is learned from less
		phases = append(phases, r.idle, r.compare)
	}
	for _, phase := range append(phases, r.remove) {
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	return &r.figures, nil
}

func (r *run) clusters() int { return (r.machines + r.perCluster - 1) / r.perCluster }

// network makes the clusters, which aren't what is measured.
func (r *run) network(ctx context.Context) error {
	if err := each(ctx, r.clusters(), func(ctx context.Context, n int) error {
		if err := r.login(ctx, clusterName(n), r.site.URL); err != nil {
			return err
		}
		return r.createCluster(ctx, clusterName(n), clusterName(n))
	}); err != nil {
		return err
	}
	return r.until(ctx, "all clusters are provisioned", r.patience, func(context.Context) error {
		return count("clusters", r.clustersReady(), r.clusters())
	})
}

// make makes all machines at once, and measures until they are provisioned.
func (r *run) make(ctx context.Context) error {
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	say("%d machines: making them", r.machines)
	profiled := r.profile(ctx, "make")
	if err := each(ctx, r.machines, func(ctx context.Context, n int) error {
		return r.createMachine(ctx, clusterName(n/r.perCluster), machineName(n))
	}); err != nil {
		return err
	}
	made := time.Time{}
	if err := r.until(ctx, "all machines are provisioned", r.patience, func(context.Context) error {
		_, instances, ready := r.tally()
		if instances == r.machines && made.IsZero() {
			made = time.Now()
			say("%d machines: all have an instance after %s", r.machines, made.Sub(before.at).Round(time.Second))
		}
		return count("machines", ready, r.machines)
	}); err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	r.figures.Make.InstancesAfter = made.Sub(before.at).Seconds()
	r.figures.Load, err = load()
	return errors.Join(err, <-profiled, r.judgeMaking(ctx, before, after))
}

// judgeMaking works out the figures of making.
func (r *run) judgeMaking(ctx context.Context, before, after look) error {
	state, err := r.site.State(ctx)
	if err != nil {
		return err
	}
	if len(state.Instances) != r.machines {
		return fmt.Errorf("there are %d instances for %d machines", len(state.Instances), r.machines)
	}
	if err := pause(ctx, 2*r.tempo.Poll); err != nil { // what is under way comes to an end
		return err
	}
	calm, err := r.look(ctx)
	if err != nil {
		return err
	}
	f := &r.figures.Make
	f.ProvisionedAfter = after.at.Sub(before.at).Seconds()
	f.CPUPerMachine = (after.cpu - before.cpu).Seconds() / float64(r.machines)
	f.Calls = per(since(before.calls, after.calls), float64(r.machines))
	f.Kube = per(since(before.kube, after.kube), float64(r.machines))
	f.Reconciles = (after.reconciles - before.reconciles) / float64(r.machines)
	f.PeakRSS, f.RSS = calm.peak, calm.rss
	f.Delay = delayOf(r.delays(readySince(state, r.tempo.Speed)))
	say("%d machines: all provisioned after %.0f s: %.2f calls each, p99 %.1f s, peak RSS %s, CPU %.1f ms each", r.machines,
		f.ProvisionedAfter, sum(f.Calls), f.Delay.P99, mib(f.PeakRSS), 1000*f.CPUPerMachine)
	return nil
}

// remove deletes everything, and searches for what is left outside.
func (r *run) remove(ctx context.Context) error {
	if err := r.forget(ctx, r.fleet); err != nil {
		return err
	}
	state, err := r.site.State(ctx)
	if err != nil {
		return err
	}
	left := len(state.Instances) + len(state.VPCs) + len(state.Subnets) + len(state.NetworkSecurityGroups)
	r.figures.Remove.Left = left
	if !state.Empty() {
		return fmt.Errorf("%d things are left outside", left)
	}
	return nil
}

// forgetful deletes objects.
type forgetful interface {
	forgetMachine(ctx context.Context, name string) error
	forgetCluster(ctx context.Context, name string) error
}

// forget deletes everything, and waits until all objects are gone.
func (r *run) forget(ctx context.Context, all forgetful) error {
	r.stopManager()
	if err := r.startManager(ctx, r.tempo.flags()...); err != nil {
		return err
	}
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	say("%d machines: deleting them", r.machines)
	if err := each(ctx, r.machines, func(ctx context.Context, n int) error {
		return all.forgetMachine(ctx, machineName(n))
	}); err != nil {
		return err
	}
	if err := each(ctx, r.clusters(), func(ctx context.Context, n int) error {
		return all.forgetCluster(ctx, clusterName(n))
	}); err != nil {
		return err
	}
	if err := r.until(ctx, "everything is gone", r.patience, func(context.Context) error {
		machines, _, _ := r.tally()
		return errors.Join(count("machines", machines, 0), count("clusters", r.clustersKnown(), 0))
	}); err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	f := &r.figures.Remove
	f.GoneAfter, f.Calls = after.at.Sub(before.at).Seconds(), per(since(before.calls, after.calls), float64(r.machines))
	say("%d machines: all gone after %s", r.machines, after.at.Sub(before.at).Round(time.Second))
	return nil
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// pause is for windows that are measured.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
