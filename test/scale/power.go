package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// powerBench is what to measure of powervs' manager, and how.
type powerBench struct {
	bench
	alone         bool
	fleet         int
	controlPlanes int
}

func powerCommand() *cobra.Command {
	b := powerBench{controlPlanes: 3}
	command := &cobra.Command{
		Use:   "powervs",
		Short: "Measure what powervs' manager costs",
		Long: `First applies one cluster with its machines at the speed of life, and compares the time until they are provisioned with the time that
the simulated services take. Then many clusters at once: measures until all are provisioned, restarts the manager with its defaults, and
measures while nothing changes. Each time everything is deleted in the end. docs/performance.md explains the figures.`,
		Args: cobra.NoArgs,
		RunE: measuring(&b.bench, b.run),
	}
	flags := command.Flags()
	flags.BoolVar(&b.alone, "alone", true, "measure one cluster at the speed of life first")
	flags.IntVar(&b.fleet, "clusters", 200, "number of clusters that are made at once; 0 for none")
	flags.IntVar(&b.perCluster, "per-cluster", 5, "machines of each cluster, up to three of them of its control plane")
	b.flags(flags, "bench-powervs.json")
	return command
}

func (b *powerBench) run(ctx context.Context) (*powerReport, error) {
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
	report := &powerReport{Host: where, Began: time.Now().UTC().Truncate(time.Second)}
	if b.alone {
		if report.Alone, err = b.measure(ctx, "alone", 1, 1); err != nil {
			return report, fmt.Errorf("one cluster: %w", err)
		}
	}
	if b.fleet > 0 {
		if report.Fleet, err = b.measure(ctx, "fleet", b.fleet, b.speed); err != nil {
			return report, fmt.Errorf("%d clusters: %w", b.fleet, err)
		}
	}
	return report, nil
}

// powerRun is one number of clusters.
type powerRun struct {
	*run
	fleet         powerFleet
	controlPlanes int
	figures       powerFigures
}

func (b powerBench) measure(ctx context.Context, name string, clusters int, speed float64) (*powerFigures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.dir = filepath.Join(b.dir, name)
	t, machines := atSpeed(speed), clusters*b.perCluster
	say("%d clusters with %d machines: starting", clusters, machines)
	world := powerWorld(t)
	rig, err := startRig(ctx, b.tools, b.dir, powerSystem(world))
	if err != nil {
		return nil, err
	}
	defer rig.stop()
	r := &powerRun{
		run:           &run{bench: b.bench, rig: rig, tempo: t, machines: machines},
		fleet:         powerFleet{fleet: fleet{client: rig.client}, endpoint: rig.site.URL},
		controlPlanes: min(b.controlPlanes, b.perCluster),
	}
	r.figures = powerFigures{Clusters: clusters, Machines: machines, Tempo: t, Chain: chainOf(world, r.controlPlanes)}
	if r.observer, err = rig.observe(ctx); err != nil {
		return nil, err
	}
	if err := rig.startManager(ctx, t.flags()...); err != nil {
		return nil, err
	}
	phases := []func(context.Context) error{r.make, r.idle, r.remove}
	if speed == 1 { // a single cluster costs nothing at rest
		phases = []func(context.Context) error{r.make, r.remove}
	}
	for _, phase := range phases {
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	r.figures.Idle, r.figures.Remove = r.run.figures.Idle, r.run.figures.Remove
	return &r.figures, nil
}

// chainOf is the time that the simulated services take for a cluster, in seconds of the bench: what needs each other is made one after the
// other, all else at once.
func chainOf(world sim.Config, controlPlanes int) chain {
	t := world.Times
	workspace := t.Workspace.Duration
	network := workspace + t.DHCPServer.Duration
	balancer := t.VPC.Duration + t.Subnet.Duration + t.LoadBalancer.Duration
	gateway := max(workspace, t.VPC.Duration) + t.TransitGateway.Duration + 2*t.Connection.Duration
	image := workspace + t.ImageImport.Duration + t.Image.Duration
	cluster := max(network, balancer, gateway)
	// A load balancer takes one member at a time.
	machines := max(cluster, image) + t.Server.Duration + t.Lease.Duration + time.Duration(controlPlanes)*t.LoadBalancerUpdate.Duration
	return chain{Cluster: scaled(cluster, world.Speed).Seconds(), Machines: scaled(machines, world.Speed).Seconds()}
}

// make applies all clusters with their machines at once, and measures until they are provisioned.
func (r *powerRun) make(ctx context.Context) error {
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	clusters := r.clusters()
	say("%d clusters: making them", clusters)
	profiled := r.profile(ctx, "make")
	if err := each(ctx, clusters, r.apply); err != nil {
		return err
	}
	f := &r.figures.Make
	if err := r.until(ctx, "all machines are provisioned", r.patience, func(context.Context) error {
		if ready := r.clustersReady(); ready < clusters {
			return count("clusters", ready, clusters)
		} else if f.ClustersAfter == 0 {
			f.ClustersAfter = time.Since(before.at).Seconds()
			say("%d clusters: provisioned after %.0f s", clusters, f.ClustersAfter)
		}
		_, _, ready := r.tally()
		return count("machines", ready, r.machines)
	}); err != nil {
		return err
	}
	after, err := r.look(ctx)
	if err != nil {
		return err
	}
	each := float64(clusters)
	f.MachinesAfter = after.at.Sub(before.at).Seconds()
	f.CPU = (after.cpu - before.cpu).Seconds() / each
	f.Calls = per(since(before.calls, after.calls), each)
	f.Kube = per(since(before.kube, after.kube), each)
	f.Reconciles = (after.reconciles - before.reconciles) / each
	f.PeakRSS, f.RSS = after.peak, after.rss
	r.figures.Load, err = load()
	say("%d clusters: all machines provisioned after %.0f s: %.1f calls for each cluster, peak RSS %s, CPU %.0f ms", clusters,
		f.MachinesAfter, sum(f.Calls), mib(f.PeakRSS), 1000*f.CPU)
	return errors.Join(err, <-profiled)
}

// apply a cluster and its machines.
func (r *powerRun) apply(ctx context.Context, n int) error {
	if err := r.fleet.createCluster(ctx, clusterName(n)); err != nil {
		return err
	}
	for m := range r.perCluster {
		if err := r.fleet.createMachine(ctx, clusterName(n), machineName(n*r.perCluster+m), m < r.controlPlanes); err != nil {
			return err
		}
	}
	return nil
}

// idle measures while nothing changes. Each cluster has a workspace, which is listed by itself.
func (r *powerRun) idle(ctx context.Context) error {
	before, err := r.site.Calls(ctx)
	if err != nil {
		return err
	}
	if err := r.restart(ctx); err != nil {
		return err
	}
	return r.rest(ctx, before, r.clusters())
}

// remove deletes everything, and searches for what is left outside.
func (r *powerRun) remove(ctx context.Context) error {
	if err := r.forget(ctx, r.fleet); err != nil {
		return err
	}
	var state sim.State
	if err := r.site.Ask(ctx, http.MethodGet, "state", nil, &state); err != nil {
		return err
	}
	if state.Empty() {
		return nil
	}
	var left []string
	for kind, items := range state {
		for _, item := range items {
			if !item.World && !item.Record {
				left = append(left, fmt.Sprintf("%s %s (%s)", kind, item.Name, item.Status))
			}
		}
	}
	r.run.figures.Remove.Left = len(left)
	return fmt.Errorf("%d things are left outside: %s", len(left), strings.Join(left[:min(len(left), 10)], ", "))
}
