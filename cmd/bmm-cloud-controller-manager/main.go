// bmm-cloud-controller-manager initialises the Nodes of a cluster on NVIDIA bare metal, and deletes those whose instances
// are gone.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // requests to the API server
	_ "k8s.io/component-base/metrics/prometheus/version"  // the build

	bmm "github.com/bedplate/bedplate/internal/bmm/cloudprovider"
	"github.com/bedplate/bedplate/internal/callmetrics"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/version"
)

const (
	name             = "bmm-cloud-controller-manager"
	shortestInterval = 100 * time.Millisecond // of loops over all Nodes
)

func main() {
	legacyregistry.RawMustRegister(callmetrics.Collectors()...)
	command, err := newCommand(genericapiserver.SetupSignalHandler())
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	os.Exit(cli.Run(command))
}

func newCommand(stop <-chan struct{}) (*cobra.Command, error) {
	defaults, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("set up the flags: %w", err)
	}
	provider := defaults.KubeCloudShared.CloudProvider
	provider.Name = bmm.Name

	var additionalLabels bool
	flags := cliflag.NamedFlagSets{}
	flags.FlagSet("bmm").BoolVar(&additionalLabels, "additional-node-labels", false,
		"Label new Nodes with the ID of their machine ("+bmm.LabelMachine+") and of its NVLink domain ("+
			bmm.LabelNVLinkDomain+").")

	var calls egress.Flags
	calls.Add(flags.FlagSet("bmm"))

	var cloud *bmm.Cloud
	use := func(*config.CompletedConfig) cloudprovider.Interface { return cloud }
	command := app.NewCloudControllerManagerCommand(defaults, use, controllers(), names.CCMControllerAliases(), flags, stop)
	command.Use = name
	command.Long = "Initialises the Nodes of a cluster on NVIDIA bare metal, and deletes those whose instances are gone."
	command.PreRunE = func(c *cobra.Command, _ []string) error {
		if asked := c.Flags().Lookup("version"); asked.Changed && asked.Value.String() != "false" { // it would be Kubernetes'
			fmt.Println(name, "version", version.Get())
			os.Exit(0)
		}
		if provider.Name != bmm.Name {
			return fmt.Errorf("--cloud-provider is %s, not %s", bmm.Name, provider.Name)
		}
		if err := check(defaults); err != nil {
			return err
		}
		config, err := bmm.ReadConfig(provider.CloudConfigFile)
		if err != nil {
			return err
		}
		config.AdditionalLabels = additionalLabels
		if config.Egress, err = calls.Policy(); err != nil {
			return err
		}
		cloud = bmm.New(config)
		return nil
	}
	return command, nil
}

// check what Kubernetes' own program silently accepts: no worker, or one that never rests.
func check(o *options.CloudControllerManagerOptions) error {
	workers, status, monitor := o.NodeController.ConcurrentNodeSyncs, o.NodeStatusUpdateFrequency.Duration, o.KubeCloudShared.NodeMonitorPeriod.Duration
	kube := o.Generic.ClientConnection
	return errors.Join(
		flagcheck.That("concurrent-node-syncs", workers, workers >= 1, "at least 1"),
		flagcheck.That("node-status-update-frequency", status, status >= shortestInterval, "at least "+shortestInterval.String()),
		flagcheck.That("node-monitor-period", monitor, monitor >= shortestInterval, "at least "+shortestInterval.String()),
		flagcheck.That("kube-api-qps", kube.QPS, kube.QPS > 0 || kube.QPS == -1, "more than 0, or -1 for no limit"),
		flagcheck.That("kube-api-burst", kube.Burst, kube.Burst >= 1, "at least 1"),
	)
}

// controllers are those for nodes. Load balancers and routes are other programs' business.
func controllers() map[string]app.ControllerInitFuncConstructor {
	chosen := map[string]app.ControllerInitFuncConstructor{}
	for _, name := range []string{names.CloudNodeController, names.CloudNodeLifecycleController} {
		chosen[name] = app.DefaultInitFuncConstructors[name]
	}
	return chosen
}
