package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const stopGrace = 10 * time.Second

// site is what is simulated outside, a process of its own, whose machines boot nothing. Its State is that of bmm.
type site struct {
	simtest.Remote
	process *process.Process
}

// worldOf is a site with so many machines, and some to spare for those that are replaced.
func worldOf(machines int, t tempo) sim.Config {
	world := sim.DefaultWorld()
	world.Speed = t.Speed
	// A short boot: what matters is that the machines come one by one, not how long that takes.
	world.Times.InstanceMin.Duration, world.Times.InstanceMax.Duration = time.Minute, 5*time.Minute
	world.IPBlocks[0].Prefix, world.IPBlocks[0].PrefixLength = netip.MustParseAddr("10.0.0.0"), 8
	world.InstanceTypes[0].Machines = machines + machines/10 + 10
	// The service makes one instance of a type after the other: with a quick site the manager is what is measured.
	world.Times.Create.Duration = 100 * time.Millisecond
	return world
}

// startSite starts a site.
func (r *rig) startSite(ctx context.Context) (*site, error) {
	data, err := yaml.Marshal(r.system.world)
	if err != nil {
		return nil, fmt.Errorf("write the world: %w", err)
	}
	config := filepath.Join(r.dir, "world.yaml")
	if err := os.WriteFile(config, data, 0o600); err != nil {
		return nil, fmt.Errorf("write the world: %w", err)
	}
	listen := net.JoinHostPort(r.block.Address(254, 2).String(), "8080")
	p, err := process.Start(process.Command{
		Name: "simulator", Path: r.tools.Path("bedplate"), Log: filepath.Join(r.dir, "simulator.log"),
		Args: []string{"lab", "simulate", r.system.simulator, "--config=" + config, "--listen=" + listen},
	})
	if err != nil {
		return nil, err
	}
	s := &site{Remote: simtest.RemoteAt("http://" + listen), process: p}
	return s, p.WaitReady(ctx, func(ctx context.Context) error {
		return process.AnswersOK(ctx, http.DefaultClient, s.URL+"/simulator/"+cmp.Or(r.system.probe, "calls"))
	})
}

// client is the manager's own. It isn't held back: how long a site makes it wait is another matter.
func (s *site) client(apiName string) (*bmm.Client, error) {
	return bmm.New(bmm.Config{
		Endpoint: s.URL, Org: sim.DefaultOrg, Token: sim.DefaultToken, APIName: apiName,
		Limits: httpclient.Limits{QPS: 1e6, Burst: 1e6, Egress: egress.Policy{Loopback: true}},
	})
}

// readySince is when each instance became Ready by the site's own clock, in real time. That clock started with the world,
// whose IP block is as old.
func readySince(state sim.State, speed float64) map[string]time.Time {
	started := state.IPBlocks[0].Created
	since := map[string]time.Time{}
	for _, i := range state.Instances {
		if i.Status == "Ready" {
			since[i.ID] = started.Add(scaled(i.Updated.Sub(started), speed))
		}
	}
	return since
}
