package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/hydrazine/topology/drawing"
)

func topologyCommand() *cobra.Command {
	from := management{systems: catalogue{hydrazineSystem}}
	var output string
	command := &cobra.Command{
		Use:   "topology RESOURCEGROUP",
		Short: "Draw the network of a ResourceGroup",
		Long: `Draws the network that OVN is to have: its logical switch and router, and each host with its path to the fabric. It is
computed from the objects in Kubernetes; a host that isn't accepted, or is to be isolated, isn't in it.`,
		Example: `  bedplate topology blue -n tenant

  # As a picture
  bedplate topology blue -n tenant -o svg > blue.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return from.use(func(c client.Client, namespace string) error {
				t, err := topologyOf(cmd.Context(), c, client.ObjectKey{Namespace: namespace, Name: args[0]})
				if err != nil {
					return err
				}
				if output == "svg" {
					return drawing.SVG(cmd.OutOrStdout(), t)
				}
				return drawing.Text(cmd.OutOrStdout(), t)
			})
		},
	}
	from.addFlags(command)
	from.addNamespaceFlag(command, "the group")
	addOutputFlag(command, &output, "text", "svg")
	return command
}

// topologyOf computes the network of a group as the manager does.
func topologyOf(ctx context.Context, c client.Reader, key client.ObjectKey) (*topology.Topology, error) {
	group := &resourcev1.ResourceGroup{}
	if err := c.Get(ctx, key, group); err != nil {
		return nil, fmt.Errorf("get ResourceGroup %s: %w", key.Name, err)
	}
	all := &resourcev1.ManagedResourceList{} // of all namespaces: a DPU may be another's
	if err := c.List(ctx, all); err != nil {
		return nil, fmt.Errorf("list the hosts: %w", err)
	}
	outside, err := overlay.LookOutside(ctx, c, overlay.Ascending(overlay.DPUAddresses(all.Items)))
	if err != nil {
		return nil, err
	}
	return overlay.Topology(group, overlay.Accepted(group, all.Items), outside)
}
