// dpf-dpu-agent runs on a DPU and makes its ServiceInterfaces and ServiceChains real in Open vSwitch.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuagent"
	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/manager"
)

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	config := &dpuagent.Config{}
	command := manager.Command("bedplate-dpf-dpu-agent", "Makes the interfaces and chains of services on a DPU real in Open vSwitch",
		func(ctx context.Context, options *manager.Options) error { return run(ctx, options, *config) })
	flags := command.Flags()
	flags.StringVar(&config.Node, "node-name", os.Getenv("NODE_NAME"), "Name of this DPU's node. Without it the environment variable NODE_NAME.")
	flags.StringVar(&config.OVSDatabase, "ovs-db", "unix:/run/openvswitch/db.sock", "Database of Open vSwitch.")
	flags.StringVar(&config.OVSRunDir, "ovs-rundir", "/run/openvswitch", "Folder with Open vSwitch's sockets.")
	flags.StringVar(&config.Ofctl, "ovs-ofctl", "ovs-ofctl", "The program ovs-ofctl.")
	flags.StringVar(&config.DatapathType, "datapath", "netdev", "Datapath of the bridge "+dpuagent.Bridge+", if it isn't there yet: system or netdev.")
	flags.StringVar(&config.InterfaceType, "interface-type", "", "Type that Open vSwitch has for ports to hardware, such as dpdk. Without it "+
		"they are interfaces of the kernel.")
	flags.StringVar(&config.Controllers, "controllers", "", `Which objects are made real: "interfaces" or "chains". Without it both are.`)
	flags.DurationVar(&config.Interval, "interval", 2*time.Second, "How often the flows of chains are looked at. Changes of Open vSwitch's "+
		"database are seen at once.")
	// Each DPU has one, for objects in all namespaces, and none is asked by the API server.
	for _, name := range []string{"leader-elect", "leader-elect-lease-duration", "leader-election-namespace", "leader-identity", "namespace", "webhook-port", "concurrency"} {
		_ = flags.MarkHidden(name)
	}
	return command
}

func run(ctx context.Context, options *manager.Options, config dpuagent.Config) error {
	if err := errors.Join(
		flagcheck.That("node-name", config.Node, len(validation.IsDNS1123Subdomain(config.Node)) == 0, "the name of a node; or set NODE_NAME"),
		flagcheck.That("ovs-rundir", config.OVSRunDir, filepath.IsAbs(config.OVSRunDir), "the absolute path of a folder"),
		flagcheck.That("datapath", config.DatapathType, config.DatapathType == "system" || config.DatapathType == "netdev", "system or netdev"),
		flagcheck.That("controllers", config.Controllers,
			slices.Contains([]string{"", dpuagent.Interfaces, dpuagent.Chains}, config.Controllers), "interfaces or chains"),
		flagcheck.That("interval", config.Interval, config.Interval >= 100*time.Millisecond && config.Interval <= time.Minute, "between 100ms and 1m"),
	); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), svcv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	options.LeaderElection = false
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	config.Options = options.Controller()
	if err := dpuagent.Setup(mgr, config); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
