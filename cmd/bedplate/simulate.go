//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/hostile"
	"github.com/bedplate/bedplate/internal/localstack/boot"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

const (
	readHeaderTimeout = 10 * time.Second
	shutdownTimeout   = 5 * time.Second
)

func simulateCommand(all catalogue) *cobra.Command {
	command := &cobra.Command{
		Use:   "simulate",
		Short: "Run the simulator of an outside system by itself",
		Long: `A simulator plays the API of an outside system: stateful, strict, and as slow and as faulty as it is told to be.
"lab up" runs the simulators it needs; this is for tests, and for trying a manager against a simulated site.`,
	}
	for _, s := range all {
		if s.simulate != nil {
			command.AddCommand(s.simulate())
		}
	}
	return command
}

type simulateOptions struct {
	config, listen, dir, tools string
	speed                      float64
	hostile                    hostile.Mode
	seed                       uint64
	trust                      int
}

func simulateBMMCommand() *cobra.Command {
	var o simulateOptions
	command := &cobra.Command{
		Use:   "bmm",
		Short: "Simulate a site of NVIDIA bare metal and its REST API",
		Long: `Simulates NVIDIA's REST API for bare metal: sites, IP blocks and allocations, security groups, VPCs, subnets, VPC
prefixes, peerings and instances, with their delays and errors. The release in the --config file, 1.0.6 or 1.5.0,
selects which release is simulated.

With --dir, instances boot: their user data becomes real control planes and nodes on the loopback addresses of the site's
IP blocks. Without it they only change their state.

Below /simulator/ are switches that the real API doesn't have: GET state and calls; POST faults, chaos (random faults of a
seed), status, vanish, objects, sites and tokens; DELETE faults, chaos and tokens. OAuth clients of the world get tokens
from /realms/REALM/protocol/openid-connect/token.

With --hostile it is none of this, but an API that harms who calls it: with answers without end, answers that become a thousand
times as large in memory, a byte each second, or objects that weren't asked for.`,
		Example: `  # A small default site, sixty times faster than real time, whose machines don't boot
  bedplate lab simulate bmm --speed 60

  # What is there, and who called what
  curl http://127.0.0.1:8080/simulator/state
  curl http://127.0.0.1:8080/simulator/calls

  # A fifth of all calls goes wrong, in the same way each time
  curl http://127.0.0.1:8080/simulator/chaos -d '{"seed": 7, "rate": 0.2}'

  # Attacks its clients, each time in another way; half of the calls are answered correctly
  bedplate lab simulate bmm --hostile all --seed 7 --trust 50`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.hostile != "" {
				return simulateHostile(cmd.Context(), o)
			}
			return simulateBMM(cmd.Context(), o)
		},
	}
	o.flags(command, "sites, IP blocks, machines, tokens (default: a small site)", "the machines' disks and logs; empty: machines don't boot")
	flags := command.Flags()
	flags.StringVar((*string)(&o.hostile), "hostile", "", fmt.Sprintf("attack the clients, in one way or in all: %s", hostile.Names()))
	flags.Uint64Var(&o.seed, "seed", 1, "with --hostile: what is random depends on it")
	flags.IntVar(&o.trust, "trust", 0, "with --hostile: percentage of calls that are answered correctly")
	return command
}

// flags of all simulators: what a file says is simulated, and what a folder is for.
func (o *simulateOptions) flags(command *cobra.Command, config, dir string) {
	flags := command.Flags()
	flags.StringVar(&o.config, "config", "", "YAML file with what is simulated: "+config)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to listen on; plain HTTP, so only loopback")
	flags.StringVar(&o.dir, "dir", "", "folder for "+dir)
	flags.Float64Var(&o.speed, "speed", 0, "simulated seconds per second; 0: as in the --config file")
	addToolsFlag(command, &o.tools)
}

func simulateHostile(ctx context.Context, o simulateOptions) error {
	server, err := hostile.New(o.hostile, o.seed)
	if err != nil {
		return err
	}
	server.Trust = o.trust
	listener, err := listenLoopback(ctx, o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	slog.Info("listening", "url", "http://"+listener.Addr().String(), "hostile", o.hostile, "seed", o.seed)
	return serve(ctx, listener, server)
}

func simulateBMM(ctx context.Context, o simulateOptions) error {
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
	var booter sim.Booter
	if o.dir != "" {
		dir, err := tools.Find(o.tools)
		if err == nil {
			err = dir.Require(boot.Tools...)
		}
		if err != nil {
			return err
		}
		rack := boot.New(boot.Config{Dir: o.dir, Tools: dir, Log: log})
		defer rack.Close()
		booter = rackBooter{rack}
	}
	server, err := sim.New(world, booter, log)
	if err != nil {
		return err
	}
	log.Info("listening", "url", "http://"+listener.Addr().String())
	return serve(ctx, listener, server)
}

// loadWorld reads what is simulated, and has a speed.
func loadWorld[World any](
	o simulateOptions, standard func() World, load func(path string) (World, error), speed func(*World) *float64,
) (world World, err error) {
	if world = standard(); o.config != "" {
		if world, err = load(o.config); err != nil {
			return world, err
		}
	}
	if o.speed != 0 {
		*speed(&world) = o.speed
	}
	return world, nil
}

// listenLoopback refuses addresses that others can reach: the simulator has no TLS.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("listen on %q: not a loopback address", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// simulator is a handler whose Close ends the calls that wait.
type simulator interface {
	http.Handler
	Close()
}

// serve returns when ctx has ended, all calls are answered and all machines are off.
func serve(ctx context.Context, listener net.Listener, simulator simulator) error {
	server := &http.Server{Handler: simulator, ReadHeaderTimeout: readHeaderTimeout}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		simulator.Close() // first: it ends the calls that wait
		shutdown, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		stopped <- server.Shutdown(shutdown)
	})
	err := server.Serve(listener)
	if stop() { // the server failed by itself
		simulator.Close()
		return fmt.Errorf("serve: %w", err)
	}
	if err := <-stopped; err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop serving: %w", err)
	}
	return nil
}

// rackBooter lets the simulator's machines boot in a rack.
type rackBooter struct{ rack *boot.Rack }

func (b rackBooter) PowerOn(m sim.Machine) error { return b.rack.PowerOn(boot.Machine(m)) }
func (b rackBooter) PowerOff(id string)          { b.rack.PowerOff(id) }
