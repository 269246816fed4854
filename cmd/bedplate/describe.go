package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/describe"
)

// describeTimeout is for the API server to answer one request.
const describeTimeout = 30 * time.Second

func describeCommand() *cobra.Command {
	var kubeconfig, namespace, output string
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
			c, namespace, err := connect(kubeconfig, namespace)
			if err != nil {
				return err
			}
			root, err := describe(cmd.Context(), c, namespace, name)
			if err != nil {
				return err
			}
			return printTree(cmd.OutOrStdout(), root, output)
		},
	}
	addKubeconfigFlag(command, &kubeconfig)
	command.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the object (default that of the kubeconfig's context)")
	addOutputFlag(command, &output, "text", "json")
	return command
}

type describer func(ctx context.Context, c client.Client, namespace, name string) (*describe.Object, error)

// described is who describes what the arguments name, and its name.
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

func addKubeconfigFlag(command *cobra.Command, kubeconfig *string) {
	command.Flags().StringVar(kubeconfig, "kubeconfig", "",
		"kubeconfig of the management cluster (default $KUBECONFIG, then ~/.kube/config)")
}

// connect follows the rules of kubectl to a cluster and a namespace.
func connect(kubeconfig, namespace string) (client.Client, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.Timeout = describeTimeout
	if namespace == "" {
		if namespace, _, err = loader.Namespace(); err != nil {
			return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
		}
	}
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme,
		addonsv1.AddToScheme, infrav1.AddToScheme, resourcev1.AddToScheme, networkfabricv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, "", fmt.Errorf("build the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("connect to the management cluster: %w", err)
	}
	return c, namespace, nil
}
