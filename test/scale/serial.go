package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// The site of serialFigures, as the real one was measured.
const (
	serialCreate = time.Second
	serialBoot   = 24 * time.Second
	// serialNetworks are made to know how long one takes: up to 10 s more or less, by whether it is ready before an early poll or after.
	serialNetworks = 8
)

// serialFigures are what it costs to make machines of one type at a service that makes one after the other, refuses others
// meanwhile, and has few connections: the real one. Times are in seconds. The manager is set as by default.
type serialFigures struct {
	Machines int `json:"machines"`
	// Network is until a cluster's network is ready: the mean of serialNetworks.
	Network float64 `json:"network"`
	Poll    float64 `json:"poll"`
	// Raw is how long it takes a client that sends one POST after the other.
	Raw float64 `json:"raw"`
	// Up is how long it takes until all machines are provisioned.
	Up    float64        `json:"up"`
	Calls map[string]int `json:"calls"`
	// Failed are calls by what was wrong with them.
	Failed map[string]float64 `json:"failed"`
	// Strays stand at the site and are unknown to the API.
	Strays int `json:"strays"`
}

// measureSerial makes machines at the pace, with no flag that says how fast where that is the speed of life.
func (b bench) measureSerial(ctx context.Context) (*serialFigures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.dir, b.perCluster = filepath.Join(b.dir, "serial"), b.serial
	say("%d machines, one after the other: starting", b.serial)
	t, flags := atSpeed(b.pace), []string(nil)
	if b.pace != 1 {
		flags = t.flags()
	}
	rig, err := startRig(ctx, b.tools, b.dir, bmmSystem(serialWorld(b.serial, t)))
	if err != nil {
		return nil, err
	}
	defer rig.stop()
	r := &run{bench: b, rig: rig, fleet: fleet{client: rig.client}, tempo: t, machines: b.serial}
	if r.observer, err = rig.observe(ctx); err != nil {
		return nil, err
	}
	f := &serialFigures{Machines: b.serial, Poll: t.Poll.Seconds()}
	if f.Raw, err = r.rawSeconds(ctx); err != nil {
		return nil, err
	}
	if err := rig.startManager(ctx, flags...); err != nil {
		return nil, err
	}
	if f.Network, err = r.networks(ctx); err != nil {
		return nil, err
	}
	return f, r.makeSerially(ctx, f)
}

// networks makes serialNetworks clusters, a second apart, and returns the mean of the seconds until each is provisioned. The first one
// stays.
func (r *run) networks(ctx context.Context) (mean float64, err error) {
	var began []time.Time
	for n := range serialNetworks {
		began = append(began, time.Now())
		name := clusterName(n)
		if err := r.login(ctx, name, r.site.URL); err != nil {
			return 0, err
		}
		if err := r.createCluster(ctx, name, name); err != nil {
			return 0, err
		}
		if err := pause(ctx, time.Second); err != nil {
			return 0, err
		}
	}
	if err := r.until(ctx, "all clusters are provisioned", r.patience, func(context.Context) error {
		return count("clusters", r.clustersReady(), serialNetworks)
	}); err != nil {
		return 0, err
	}
	for n, began := range began {
		mean += r.clusterReady(clusterName(n)).Sub(began).Seconds() / serialNetworks
	}
	for n := 1; n < serialNetworks; n++ {
		if err := r.forgetCluster(ctx, clusterName(n)); err != nil {
			return 0, err
		}
	}
	return mean, r.until(ctx, "all clusters but one are gone", r.patience, func(context.Context) error {
		return count("clusters", r.clustersKnown(), 1)
	})
}

// serialWorld has room for twice as many machines.
func serialWorld(machines int, t tempo) sim.Config {
	world := worldOf(2*machines, t)
	world.APIName = sim.NICo
	world.Times.Create.Duration = serialCreate
	world.Times.InstanceMin.Duration, world.Times.InstanceMax.Duration = serialBoot, serialBoot+time.Second
	return world
}

// rawSeconds is how long creates take that are sent one after the other, by a client that does nothing else.
func (r *run) rawSeconds(ctx context.Context) (float64, error) {
	api, err := r.site.client(sim.NICo)
	if err != nil {
		return 0, err
	}
	n := &nodeBench{bench: r.bench, rig: r.rig}
	vpc, subnet, err := n.makeNetwork(ctx, api)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for i := range r.machines {
		if _, err := api.CreateInstance(ctx, instanceRequest(fmt.Sprintf("raw-%d", i), vpc, subnet)); err != nil {
			return 0, err
		}
	}
	say("%d machines, one after the other: %s raw", r.machines, time.Since(began).Round(100*time.Millisecond))
	return time.Since(began).Seconds(), nil
}

// makeAll makes all machines at once, and returns when they are provisioned.
func (r *run) makeAll(ctx context.Context) error {
	if err := each(ctx, r.machines, func(ctx context.Context, n int) error {
		return r.createMachine(ctx, clusterName(0), machineName(n))
	}); err != nil {
		return err
	}
	return r.until(ctx, "all machines are provisioned", r.patience, func(context.Context) error {
		_, _, ready := r.tally()
		return count("machines", ready, r.machines)
	})
}

func (r *run) makeSerially(ctx context.Context, f *serialFigures) error {
	calls, err := r.site.Calls(ctx)
	if err != nil {
		return err
	}
	before, err := r.manager.scrape(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.makeAll(ctx); err != nil {
		return err
	}
	f.Up = time.Since(began).Seconds()
	after, err := r.site.Calls(ctx)
	if err != nil {
		return err
	}
	f.Calls = since(calls, after)
	metrics, err := r.manager.scrape(ctx)
	if err != nil {
		return err
	}
	f.Failed = since(before.by("bedplate_outside_calls_total", "class"), metrics.by("bedplate_outside_calls_total", "class"))
	delete(f.Failed, "ok")
	state, err := r.site.State(ctx)
	f.Strays = len(state.Strays)
	say("%d machines, one after the other: up after %.0f s", r.machines, f.Up)
	return errors.Join(err, count("instances", len(state.Instances), 2*r.machines))
}

func (f serialFigures) lines() []line {
	const maxRatio, maxCalls = 1.3, 2.7
	most, calls := maxRatio*f.Raw+f.Poll, float64(sum(f.Calls))/float64(f.Machines)
	return []line{
		{"all machines provisioned after", fmt.Sprintf("%.0f s", f.Up),
			fmt.Sprintf("raw creates one after the other take %.1f s; a machine boots for %s", f.Raw, serialBoot),
			fmt.Sprintf("≤ %.0f s: %.1f × raw + a poll interval", most, maxRatio), f.Up <= most},
		{"outside calls per machine until provisioned", fmt.Sprintf("%.2f", calls), listed(f.Calls, "%d"),
			fmt.Sprintf("≤ %.1f", maxCalls), calls <= maxCalls},
		{"failed calls", fmt.Sprintf("%.0f", sum(f.Failed)), listed(f.Failed, "%.0f"), "0", sum(f.Failed) == 0},
		{"instances that only the site knows", fmt.Sprint(f.Strays), "", "0", f.Strays == 0},
	}
}
