// hydrazine-manager gives tenants networks of their own over bare metal, with OVN on the DPUs.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/hydrazine/webhook"
	"github.com/bedplate/bedplate/internal/manager"
)

type flags struct {
	lease, heartbeat time.Duration
	agentPort        uint16
	centralsDir      string
	centralsAddress  string
}

func (f *flags) add(set *pflag.FlagSet) {
	set.DurationVar(&f.lease, "lease", time.Hour, "How long a host stays attached while this controller is away. Also how long the "+
		"deletion of a host may take whose DPU can't be reached.")
	set.DurationVar(&f.heartbeat, "agent-heartbeat", 10*time.Second, "How often an agent says that nothing has changed. One that is silent three times as long is lost.")
	set.Uint16Var(&f.agentPort, "agent-port", 9660, "Port that agents listen on.")
	set.StringVar(&f.centralsDir, "centrals-dir", "/var/lib/bedplate/ovn", "Folder of the OVN centrals. Short, since sockets are in it.")
	set.StringVar(&f.centralsAddress, "centrals-address", "", "Address of this machine that DPUs reach the OVN centrals at. Required.")
}

// check what agents would take otherwise than it was meant, or refuse.
func (f *flags) check() error {
	const shortestHeartbeat, longestLease = time.Second, 7 * 24 * time.Hour
	switch {
	case f.heartbeat < shortestHeartbeat:
		return fmt.Errorf("--agent-heartbeat %s is too short: agents speak once in %s at most", f.heartbeat, shortestHeartbeat)
	case f.lease > longestLease:
		return fmt.Errorf("--lease %s is too long: agents take %s at most", f.lease, longestLease)
	case f.lease < 4*f.heartbeat:
		return fmt.Errorf("--lease %s is too short for --agent-heartbeat %s: it has to be four times as long", f.lease, f.heartbeat)
	}
	return nil
}

func main() {
	f := &flags{}
	command := manager.Command("bedplate-hydrazine-manager", "Tenant networks over bare metal, with OVN on the DPUs",
		func(ctx context.Context, options *manager.Options) error { return run(ctx, options, f) })
	f.add(command.Flags())
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options *manager.Options, f *flags) error {
	address, err := netip.ParseAddr(f.centralsAddress)
	if err != nil {
		return fmt.Errorf("--centrals-address: %w", err)
	}
	if err := f.check(); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), resourcev1.AddToScheme(scheme), networkfabricv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	if err := controller.Setup(ctx, mgr, controller.Config{
		Centrals: central.NewProcesses(ctx, f.centralsDir, address),
		Agents: agents.NewPool(ctx, agents.Config{
			Port: f.agentPort, Heartbeat: f.heartbeat, Credentials: insecure.NewCredentials(),
		}),
		Lease: f.lease, Poll: options.Poll, Options: options.Controller(),
	}); err != nil {
		return err
	}
	if err := options.Webhooks(mgr, webhook.SetupWithManager); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
