package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/describe"
)

func describeCommand() *cobra.Command {
	var from management
	var output string
	command := &cobra.Command{
		Use:   "describe KIND NAME",
		Short: "Show what something consists of, here and outside, and what it waits for",
		Long: `Shows an object as a tree, with each condition that says why it isn't ready:

  cluster          the objects of a Cluster API cluster. Below each stands what was made for it outside Kubernetes, with its ID
                   there. What is yours and only used, and so never deleted, is marked "(yours)". "(asked for)" is on its way:
                   the outside service hasn't named it yet
  resourcegroup    the network of a tenant: its OVN central, how far its last change has come, and its members with their
                   addresses, DPUs and leases. Who waits comes first
  managedresource  one of these members
  publicip         a public address: who has it, and how the BGP speakers get on with their neighbors

KIND/NAME does as well.`,
		Example: `  # The cluster "demo" of the current kubeconfig context
  bedplate describe cluster demo

  # Why isn't it ready? Every condition of every object, for jq
  bedplate describe cluster demo -o json | jq '.. | .conditions? // empty'

  # The network "blue" of a tenant's, and its hosts
  bedplate describe resourcegroup/blue -n tenant`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			describe, name, err := described(args)
			if err != nil {
				return err
			}
			return from.use(func(c client.Client, namespace string) error {
				root, err := describe(cmd.Context(), c, namespace, name)
				if err != nil {
					return err
				}
				return printTree(cmd.OutOrStdout(), root, output)
			})
		},
	}
	from.addFlags(command)
	from.addNamespaceFlag(command, "the object")
	addOutputFlag(command, &output, "text", "json")
	return command
}

type describer func(ctx context.Context, c client.Client, namespace, name string) (*describe.Object, error)

// described is the describer of what the arguments name, and its name.
func described(args []string) (describer, string, error) {
	kind, name, named := strings.Cut(args[0], "/")
	if len(args) == 2 {
		kind, name, named = args[0], args[1], true
	}
	if !named || name == "" || strings.Contains(name, "/") {
		return nil, "", fmt.Errorf("%q names no object: write KIND NAME, such as cluster demo", strings.Join(args, " "))
	}
	switch strings.ToLower(kind) {
	case "cluster":
		return describe.Cluster, name, nil
	case "resourcegroup", "rg":
		return describe.ResourceGroup, name, nil
	case "managedresource", "mr":
		return describe.ManagedResource, name, nil
	case "publicip":
		return describe.PublicIP, name, nil
	}
	return nil, "", fmt.Errorf("nothing is known of the kind %q: use cluster, resourcegroup, managedresource or publicip", kind)
}

func printTree(out io.Writer, root *describe.Object, output string) error {
	if output == "json" {
		return printJSON(out, root)
	}
	return describe.Print(out, root, time.Now())
}
