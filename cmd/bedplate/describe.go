package main

import (
	"fmt"
	"io"
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
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/describe"
)

// describeTimeout is for the API server to answer one request.
const describeTimeout = 30 * time.Second

func describeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "describe",
		Short: "Show what something consists of, here and outside, and what it waits for",
	}
	command.AddCommand(describeClusterCommand())
	return command
}

func describeClusterCommand() *cobra.Command {
	var kubeconfig, namespace, output string
	command := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Show a cluster's objects as a tree",
		Long: `Shows the objects of a Cluster API cluster as a tree. Below each object stands what was made for it outside
Kubernetes, with its ID there, and, where the object isn't ready, each condition that says why.

What is yours and only used, and so never deleted, is marked "(yours)". "(asked for)" is on its way: the outside service
hasn't named it yet.`,
		Example: `  # The cluster "demo" of the current kubeconfig context
  bedplate describe cluster demo

  # Why isn't it ready? Every condition of every object, for jq
  bedplate describe cluster demo -o json | jq '.. | .conditions? // empty'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, namespace, err := connect(kubeconfig, namespace)
			if err != nil {
				return err
			}
			root, err := describe.Cluster(cmd.Context(), c, namespace, args[0])
			if err != nil {
				return err
			}
			return printTree(cmd.OutOrStdout(), root, output)
		},
	}
	addKubeconfigFlag(command, &kubeconfig)
	command.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the cluster (default that of the kubeconfig's context)")
	addOutputFlag(command, &output, "text", "json")
	return command
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
		addonsv1.AddToScheme, infrav1.AddToScheme, resourcev1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, "", fmt.Errorf("build the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("connect to the management cluster: %w", err)
	}
	return c, namespace, nil
}
