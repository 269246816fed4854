// hydrazine-manager gives tenants networks of their own over bare metal, with OVN on the DPUs.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/credentials"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/hydrazine/webhook"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/mtls"
)

type flags struct {
	lease, heartbeat time.Duration
	agentPort        uint16
	centrals         centralFlags
	speakers         string
	tls              mtls.Files
}

func (f *flags) add(set *pflag.FlagSet) {
	set.DurationVar(&f.lease, "lease", time.Hour, "How long a host stays attached without contact to this manager. The deletion of a host whose DPU "+
		"is unreachable may take as long.")
	set.DurationVar(&f.heartbeat, "agent-heartbeat", 10*time.Second, "How often an agent reports if nothing has changed. One that is silent for three times as long counts as unreachable.")
	set.Uint16Var(&f.agentPort, "agent-port", 9660, "Port that agents listen on.")
	f.tls.AddFlags(set)
	f.centrals.add(set)
	set.StringVar(&f.speakers, "speakers-namespace", "bedplate-hydrazine-speaker", "Namespace of the BGP speakers and their leases.")
}

// check what agents would take otherwise than it was meant, or refuse, and what is never found.
func (f *flags) check(poll time.Duration) error {
	const shortestHeartbeat, longestLease = time.Second, 7 * 24 * time.Hour
	shortestLease := max(4*min(f.heartbeat, longestLease), 2*poll)
	return errors.Join(
		flagcheck.That("agent-heartbeat", f.heartbeat, f.heartbeat >= shortestHeartbeat,
			fmt.Sprintf("at least %s: agents don't report more often", shortestHeartbeat)),
		flagcheck.That("lease", f.lease, f.lease >= shortestLease && f.lease <= longestLease, fmt.Sprintf(
			"at least %s, which is four times --agent-heartbeat and twice --poll-interval, and at most %s, the longest lease that agents accept",
			shortestLease, longestLease)),
		flagcheck.That("agent-port", f.agentPort, f.agentPort != 0, "at least 1"),
		flagcheck.Namespace("speakers-namespace", f.speakers),
	)
}

// credentials of the manager at agents. How long they are still valid becomes a metric.
func (f *flags) credentials(ctx context.Context) (credentials.TransportCredentials, error) {
	creds, err := f.tls.Client(ctx, nil) // a certificate that is valid for the DPU's address says enough
	if err != nil {
		return nil, err
	}
	expiry, err := f.tls.Expiry(ctx)
	if err != nil {
		return nil, err
	}
	return creds, metrics.Registry.Register(expiry)
}

func main() {
	command, _ := command()
	manager.Main(command)
}

func command() (*cobra.Command, *flags) {
	f := &flags{}
	c := manager.Command("bedplate-hydrazine-manager", "Tenant networks over bare metal, with OVN on the DPUs",
		func(ctx context.Context, options *manager.Options) error { return run(ctx, options, f) })
	f.add(c.Flags())
	return c, f
}

func run(ctx context.Context, options *manager.Options, f *flags) error {
	address, err := f.centrals.check()
	if err != nil {
		return err
	}
	if err := f.check(options.Poll); err != nil {
		return err
	}
	creds, err := f.credentials(logr.NewContext(ctx, ctrl.Log.WithName("tls")))
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), resourcev1.AddToScheme(scheme), networkfabricv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	centrals, err := f.centrals.start(ctx, mgr, address)
	if err != nil {
		return err
	}
	config := controller.Config{
		Centrals: centrals,
		Agents: agents.NewPool(ctx, agents.Config{
			Port: f.agentPort, Heartbeat: f.heartbeat, Credentials: creds,
		}),
		Own: ownAddresses(address), Namespace: f.centrals.manager,
		Lease: f.lease, Poll: options.Poll, SpeakersNamespace: f.speakers, Options: options.Controller(),
	}
	if err := errors.Join(controller.Setup(ctx, mgr, config), controller.Expose(mgr, config)); err != nil {
		return err
	}
	if err := options.Webhooks(mgr, webhook.SetupWithManager); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
