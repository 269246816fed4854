// powervs-manager is the Cluster API infrastructure provider for IBM Power Virtual Server.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/bedplate/bedplate/internal/manager"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/provider"
	"github.com/bedplate/bedplate/internal/powervs/webhook"
	"github.com/bedplate/bedplate/internal/waiting"
)

// ignitionGate is the feature gate that lets machines boot with Ignition.
const ignitionGate = "BootstrapFormatIgnition"

// flags are those that only this manager has.
type flags struct {
	endpoints, credentials string
	gates                  map[string]bool
}

// settings are what they say.
type settings struct {
	endpoints   ibm.ServiceEndpoints
	credentials types.NamespacedName
	features    webhook.Features
}

func main() {
	command, _ := newCommand()
	manager.Main(command)
}

func newCommand() (*cobra.Command, *flags) {
	f := &flags{}
	command := manager.EngineCommand("bedplate-powervs-manager", "Cluster API infrastructure provider for IBM Power Virtual Server",
		func(ctx context.Context, options *manager.Options) error {
			s, err := f.read()
			if err != nil {
				return err
			}
			return run(ctx, options, s)
		})
	command.Flags().StringVar(&f.endpoints, "service-endpoint", "", "URLs of services in place of the public ones: "+
		"REGION:SERVICE=URL,SERVICE=URL;REGION:... with the services iam, rm, rc, powervs, vpc, transitgateway and cos. "+
		"What a Secret names has precedence.")
	command.Flags().StringVar(&f.credentials, "default-credentials", "", "Secret, as NAMESPACE/NAME, with which clusters log in that have no "+
		"spec.authentication. Whoever may create clusters acts with it then.")
	command.Flags().Var(cliflag.NewMapStringBool(&f.gates), "feature-gates", ignitionGate+"=true lets machines boot with Ignition.")
	return command, f
}

func (f flags) read() (s settings, err error) {
	if s.endpoints, err = ibm.ParseServiceEndpoints(f.endpoints); err != nil {
		return s, fmt.Errorf("--service-endpoint: %w", err)
	}
	if f.credentials != "" {
		namespace, name, _ := strings.Cut(f.credentials, "/")
		if namespace == "" || name == "" || strings.Contains(name, "/") {
			return s, fmt.Errorf("--default-credentials %q: not of the form NAMESPACE/NAME", f.credentials)
		}
		s.credentials = types.NamespacedName{Namespace: namespace, Name: name}
	}
	for gate, on := range f.gates {
		if gate != ignitionGate {
			return s, fmt.Errorf("--feature-gates: there is no %q, only %s", gate, ignitionGate)
		}
		s.features.BootstrapFormatIgnition = on
	}
	return s, nil
}

func run(ctx context.Context, options *manager.Options, s settings) error {
	scheme := runtime.NewScheme()
	if err := provider.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	policy, err := options.EgressPolicy(ctx)
	if err != nil {
		return err
	}
	engine := options.Engine(mgr)
	config := provider.Config{
		Change:      ibm.Paced(options.Poll, options.OutsideQPS, options.OutsideBurst, policy, s.endpoints),
		Credentials: s.credentials,
	}
	if err := provider.Setup(ctx, mgr, engine, config, options.Controller()); err != nil {
		return err
	}
	if err := options.Webhooks(mgr, s.features.SetupWithManager); err != nil {
		return err
	}
	if err := mgr.Add(waiting.WhileLeading{Collector: waiting.New(mgr.GetClient(), provider.Lists()...)}); err != nil {
		return fmt.Errorf("count what waits: %w", err)
	}
	return options.Run(ctx, mgr, engine)
}
