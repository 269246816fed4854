//go:build linux

package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/internal/krake/sim"
)

type simulateIMOptions struct {
	config, listen string
	speed          float64
	outputsByAdmin bool
}

func simulateIMCommand() *cobra.Command {
	var o simulateIMOptions
	command := &cobra.Command{
		Use:   "im",
		Short: "Simulate GRyCAP's Infrastructure Manager (IM), and the clouds behind it",
		Long: `Simulates the REST API of GRyCAP's Infrastructure Manager: infrastructures made of TOSCA templates, with the delays and the
errors of the real one, and what it does wrong. Its clouds are of all types, and have no machines: infrastructures only change their
state. Without --config, everybody is a user.

The output kubeconfig of an infrastructure leads to nothing. With --outputs-by-admin, who runs the simulator makes the clusters: an
infrastructure whose template has this output is configured only when the output was said.

Below /simulator/ are switches that the real API doesn't have: GET state, clusters (the machines that are on) and calls; POST faults,
chaos (random faults of a seed), kubeconfigs, status, vanish, outcomes and users; DELETE faults and chaos.`,
		Example: `  # Sixty times faster than real time
  bedplate lab simulate im --speed 60

  # What is there, and who called what
  curl http://127.0.0.1:8080/simulator/state
  curl http://127.0.0.1:8080/simulator/calls

  # Which machines are on, and how their cluster is reached
  curl http://127.0.0.1:8080/simulator/clusters
  jq -n --arg id ID --rawfile text kubeconfig '{id: $id, kubeconfig: $text}' |
    curl http://127.0.0.1:8080/simulator/kubeconfigs -d @-

  # The next infrastructure stays unconfigured
  curl http://127.0.0.1:8080/simulator/outcomes -d '{"state": "unconfigured", "times": -1}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return simulateIM(cmd.Context(), o) },
	}
	flags := command.Flags()
	flags.StringVar(&o.config, "config", "", "YAML file with what is simulated: users, release, times (default: everybody is a user)")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to listen on; plain HTTP, so only loopback")
	flags.Float64Var(&o.speed, "speed", 0, "simulated seconds per second; 0: as in the --config file")
	flags.BoolVar(&o.outputsByAdmin, "outputs-by-admin", false, "infrastructures are configured only when their output kubeconfig was said")
	return command
}

func simulateIM(ctx context.Context, o simulateIMOptions) error {
	world := sim.Default()
	if o.config != "" {
		var err error
		if world, err = sim.Load(o.config); err != nil {
			return err
		}
	}
	if o.speed != 0 {
		world.Speed = o.speed
	}
	world.OutputsByAdmin = world.OutputsByAdmin || o.outputsByAdmin
	listener, err := listenLoopback(ctx, o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server, err := sim.New(world, log)
	if err != nil {
		return err
	}
	log.Info("listening", "url", "http://"+listener.Addr().String())
	return serve(ctx, listener, server)
}
