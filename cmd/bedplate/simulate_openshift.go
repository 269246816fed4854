//go:build linux

package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/internal/dpf/sim/platform"
)

func simulateOpenShiftCommand() *cobra.Command {
	var o simulateOptions
	command := &cobra.Command{
		Use:   "openshift",
		Short: "Make Kubernetes clusters an OpenShift cluster and its DPU clusters, as DPF sees them",
		Long: `Makes a Kubernetes cluster an OpenShift cluster with three workers that have DPUs and two that have none, or as many as its nodes
say, with all that DPF needs there, and others its DPU clusters. Then it stands for those that work in them: the cluster-version-operator and the network operator,
which put back what they manage until they are told not to, ovn-kubernetes on the nodes, and Argo CD. Deployments and Pods are left to
Kubernetes' own controllers and to KWOK.

Below /simulator/ is a switch that no API has: GET state, with all objects that aren't as they were before.`,
		Example: `  # Kubeconfigs of administrators; the kind ClusterVersion has to be there
  echo '{ocp: ocp.kubeconfig, dpus: [dpus.kubeconfig]}' > world.yaml
  bedplate lab simulate openshift --config world.yaml

  # What has changed since
  curl http://127.0.0.1:8080/simulator/state`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return simulateOpenShift(cmd.Context(), o) },
	}
	o.flags(command, "the kubeconfigs of all clusters", "nothing: no machine boots here")
	return command
}

func simulateOpenShift(ctx context.Context, o simulateOptions) error {
	config, err := platform.Load(o.config)
	if err != nil {
		return err
	}
	listener, err := listenLoopback(ctx, o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	clusters, err := platform.Start(ctx, config)
	if err != nil {
		return err
	}
	slog.New(slog.NewTextHandler(os.Stderr, nil)).Info("listening", "url", "http://"+listener.Addr().String())
	return serve(ctx, listener, clusters)
}
