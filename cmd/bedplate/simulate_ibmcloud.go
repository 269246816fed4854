//go:build linux

package main

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/bedplate/bedplate/internal/localstack/boot"
	"github.com/bedplate/bedplate/internal/localstack/boot/powervscontroller"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// syncInterval is how soon a data centre does what its API has promised.
const syncInterval = 100 * time.Millisecond

func simulateIBMCloudCommand() *cobra.Command {
	var o simulateOptions
	command := &cobra.Command{
		Use:   "ibmcloud",
		Short: "Simulate an account of IBM Cloud: Power Virtual Server and what clusters on it need",
		Long: `Simulates an account of IBM Cloud with its APIs: IAM, Resource Manager and Resource Controller, Power Virtual Server, VPC,
Transit Gateway and Object Storage, with their delays and errors. All are at one address, at their usual paths; those of a region's VPC
are below /vpc/REGION/v1, and what is no other path is a bucket. Without --config, the account is empty and its API key is
` + sim.DefaultAPIKey + `.

With --dir, servers boot: their user data, cloud-init's or Ignition's, becomes real control planes and nodes on the servers' addresses,
which have to be loopback addresses: let networks be 127.x.y.0/24. Load balancers listen then, with the members of their pools. Without
it nothing listens, and servers only change their state.

Below /simulator/ are switches that the real API doesn't have: GET state and calls; POST faults, chaos (random faults of a
seed), status, vanish, outcomes and apikeys; DELETE faults, chaos and tokens.`,
		Example: `  # An empty account, sixty times faster than real time, whose servers don't boot
  bedplate lab simulate ibmcloud --speed 60

  # What is there, and who called what
  curl http://127.0.0.1:8080/simulator/state
  curl http://127.0.0.1:8080/simulator/calls

  # The next load balancer fails
  curl http://127.0.0.1:8080/simulator/outcomes -d '{"kind": "loadBalancer", "status": "failed"}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return simulateIBMCloud(cmd.Context(), o) },
	}
	o.flags(command, "API keys, zones, workspaces, quotas (default: an empty account)", "the servers' disks and logs; empty: servers don't boot")
	return command
}

func simulateIBMCloud(ctx context.Context, o simulateOptions) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	world, err := loadWorld(o, sim.DefaultWorld, sim.Load, func(w *sim.Config) *float64 { return &w.Speed })
	if err != nil {
		return err
	}
	listener, err := listenLoopback(ctx, o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	cloud, err := sim.New(world, log)
	if err != nil {
		return err
	}
	if o.dir != "" {
		stop, err := startDataCentre(ctx, cloud, o, log)
		if err != nil {
			return err
		}
		defer stop()
	}
	log.Info("listening", "url", "http://"+listener.Addr().String())
	return serve(ctx, listener, cloud)
}

// dataCentre is where the servers and the load balancers of a simulated account really are.
type dataCentre struct {
	cloud   *sim.Cloud
	rack    *boot.Rack
	log     *slog.Logger
	on      map[string]bool // also those that can't be powered on
	trouble string          // with load balancers, said last
}

// startDataCentre follows the account until stop is called, which returns when all is off.
func startDataCentre(ctx context.Context, cloud *sim.Cloud, o simulateOptions, log *slog.Logger) (stop func(), err error) {
	dir, err := tools.Find(o.tools)
	if err == nil {
		err = dir.Require(boot.Tools...)
	}
	if err != nil {
		return nil, err
	}
	d := &dataCentre{cloud: cloud, log: log, on: map[string]bool{}}
	d.rack = boot.New(boot.Config{
		Dir: o.dir, Tools: dir, Log: log, Balanced: true, Ignition: true,
		CloudController: func(ctx context.Context, client kubernetes.Interface, console *slog.Logger) {
			powervscontroller.Run(ctx, client, d.find, console)
		},
	})
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { d.follow(ctx) })
	return func() {
		cancel()
		following.Wait()
		d.rack.Close()
	}, nil
}

func (d *dataCentre) follow(ctx context.Context) {
	ticker := time.NewTicker(syncInterval)
	defer ticker.Stop()
	for {
		d.sync()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sync lets those servers be on that the account says are on, and load balancers listen as it says.
func (d *dataCentre) sync() {
	machines := d.cloud.Machines()
	var off sync.WaitGroup
	for id := range d.on {
		if !slices.ContainsFunc(machines, func(m sim.Machine) bool { return m.ID == id }) {
			delete(d.on, id)
			off.Go(func() { d.rack.PowerOff(id) })
		}
	}
	off.Wait()
	for _, m := range machines {
		if !d.on[m.ID] {
			d.on[m.ID] = true
			d.powerOn(m)
		}
	}
	trouble := ""
	if err := d.rack.Balance(d.cloud.Listeners()); err != nil {
		trouble = err.Error()
	}
	if trouble != "" && trouble != d.trouble {
		d.log.Error("load balancers", "error", trouble)
	}
	d.trouble = trouble
}

// powerOn gives a machine what its configuration drive has.
func (d *dataCentre) powerOn(m sim.Machine) {
	err := d.rack.PowerOn(boot.Machine{
		ID: m.ID, Hostname: m.Name, Address: m.Address, UserData: m.UserData,
		Metadata: map[string]string{"instance-id": m.ID, "hostname": m.Name, "local-hostname": m.Name},
	})
	if err != nil {
		d.log.Error("server doesn't boot", "error", err)
	}
}

// find is what a cloud controller manager knows of the servers.
func (d *dataCentre) find(workspace, name string) (powervscontroller.Server, bool) {
	for _, m := range d.cloud.Machines() {
		if m.Name == name && (m.WorkspaceID == workspace || m.Workspace == workspace) {
			return powervscontroller.Server{ID: m.ID, WorkspaceID: m.WorkspaceID, Address: m.Address}, true
		}
	}
	return powervscontroller.Server{}, false
}
