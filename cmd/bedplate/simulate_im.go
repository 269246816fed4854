//go:build linux

package main

import (
	"context"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/workload"
)

func simulateIMCommand() *cobra.Command {
	var o simulateOptions
	command := &cobra.Command{
		Use:   "im",
		Short: "Simulate GRyCAP's Infrastructure Manager (IM), and the clouds behind it",
		Long: `Simulates the REST API of GRyCAP's Infrastructure Manager: infrastructures made of TOSCA templates, with the delays and the
errors of the real one, and what it does wrong. Its clouds are of all types. Without --config, everybody is a user.

With --dir, the clusters of infrastructures run: a real control plane for each, with a node for each machine, at loopback addresses. Without
it infrastructures only change their state, and their output kubeconfig leads to nothing.

Below /simulator/ are switches that the real API doesn't have: GET state, clusters (the machines that are on) and calls; POST faults,
chaos (random faults of a seed), kubeconfigs, status, vanish, outcomes and users; DELETE faults and chaos.`,
		Example: `  # Sixty times faster than real time
  bedplate lab simulate im --speed 60

  # What is there, and who called what
  curl http://127.0.0.1:8080/simulator/state
  curl http://127.0.0.1:8080/simulator/calls

  # Which machines are on
  curl http://127.0.0.1:8080/simulator/clusters

  # The next infrastructure stays unconfigured
  curl http://127.0.0.1:8080/simulator/outcomes -d '{"state": "unconfigured", "times": -1}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return simulateIM(cmd.Context(), o) },
	}
	o.flags(command, "users, release, times (default: everybody is a user)", "the clusters' data and logs; empty: clusters don't run")
	return command
}

func simulateIM(ctx context.Context, o simulateOptions) error {
	world, err := loadWorld(o, sim.Default, sim.Load, func(w *sim.Config) *float64 { return &w.Speed })
	if err != nil {
		return err
	}
	world.OutputsByAdmin = world.OutputsByAdmin || o.dir != ""
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
	if o.dir != "" {
		stop, err := runClusters(ctx, server, o, log)
		if err != nil {
			return err
		}
		defer stop()
	}
	log.Info("listening", "url", "http://"+listener.Addr().String())
	return serve(ctx, listener, server)
}

// runClusters of the infrastructures that have machines, until stop is called, which returns when all have ended.
func runClusters(ctx context.Context, server *sim.Server, o simulateOptions, log *slog.Logger) (stop func(), err error) {
	dir, err := tools.Find(o.tools)
	if err == nil {
		err = dir.Require(workload.Tools...)
	}
	if err != nil {
		return nil, err
	}
	clusters := workload.New(workload.Config{Dir: o.dir, Tools: dir, Log: log, Reached: func(id, kubeconfig string) {
		if err := server.SetKubeconfig(sim.Kubeconfig{ID: id, Kubeconfig: kubeconfig}); err != nil { // it was deleted meanwhile
			log.Info("cluster isn't wanted any more", "error", err)
		}
	}})
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		wait.UntilWithContext(ctx, func(context.Context) {
			var wanted []workload.Cluster
			for _, c := range server.Clusters() {
				wanted = append(wanted, workload.Cluster{ID: c.ID, Nodes: c.Nodes})
			}
			clusters.Sync(wanted)
		}, syncInterval)
	})
	return func() {
		cancel()
		following.Wait()
		clusters.Close()
	}, nil
}
