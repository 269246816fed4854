package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// requestTimeout is for the API server to answer one request.
const requestTimeout = 30 * time.Second

// management is the management cluster of a command, by its flags.
type management struct {
	kubeconfig, context, namespace string

	systems catalogue
	// ledgers is the group of those that the command reads with their Go type: a client knows that in one group only.
	ledgers string
}

func (m *management) addFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&m.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default $KUBECONFIG, then ~/.kube/config)")
	flags.StringVar(&m.context, "context", "", "context of the kubeconfig (default its current one)")
}

// addNamespaceFlag says whose namespace it is.
func (m *management) addNamespaceFlag(command *cobra.Command, of string) {
	command.Flags().StringVarP(&m.namespace, "namespace", "n", "",
		"namespace of "+of+" (default that of the kubeconfig's context)")
}

// use connects to the cluster, and explains what it doesn't know.
func (m *management) use(run func(c client.Client, namespace string) error) error {
	c, namespace, err := m.connect()
	if err == nil {
		err = run(c, namespace)
	}
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the management cluster doesn't know what this needs: install the provider first (docs/installation.md): %w", err)
	}
	return err
}

// connect follows the rules of kubectl to a cluster and a namespace.
func (m *management) connect() (client.Client, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = m.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: m.context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.Timeout = requestTimeout
	namespace := m.namespace
	if namespace == "" {
		if namespace, _, err = loader.Namespace(); err != nil {
			return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
		}
	}
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme)
	for _, s := range m.systems {
		builder.Register(s.scheme...)
	}
	if m.ledgers != "" {
		builder.Register(ledgerv1.AddToScheme(m.ledgers))
	}
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, "", fmt.Errorf("build the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("connect to the management cluster: %w", err)
	}
	return c, namespace, nil
}
