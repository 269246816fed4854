// hydrazine-speaker announces public IPs to the devices of the fabric, by BGP.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker"
	"github.com/bedplate/bedplate/internal/manager"
)

const (
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	// longestName leaves room for what stands before it where the API server wants at most 128 characters.
	longestName = 110
)

type flags struct {
	name, namespace, configuration, routerID string
}

func (f *flags) add(set *pflag.FlagSet) {
	set.StringVar(&f.name, "name", "", "Name of this speaker, unlike all others' and the same after a restart: best its "+
		"machine's. Without it the name of its Pod or machine.")
	set.StringVar(&f.namespace, "speaker-namespace", "", "Namespace of the speakers' Leases and of the Secrets with passwords. Without it the Pod's own.")
	set.StringVar(&f.configuration, "configuration", "default", "Name of the BGPConfiguration.")
	set.StringVar(&f.routerID, "router-id", "", "Router ID, an IPv4 address that no other router has. Without it the machine's first one.")
}

func main() {
	f := &flags{}
	command := manager.Command("bedplate-hydrazine-speaker", "Announces public IPs to the fabric, by BGP",
		func(ctx context.Context, options *manager.Options) error { return run(ctx, options, f) })
	f.add(command.Flags())
	// Every replica speaks, about objects that are in no namespace, and none is asked by the API server.
	for _, name := range []string{"leader-elect", "leader-election-namespace", "namespace", "webhook-port"} {
		_ = command.Flags().MarkHidden(name)
	}
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options *manager.Options, f *flags) error {
	config, err := f.config()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme), networkfabricv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	options.LeaderElection = false
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	config.Poll, config.Options = options.Poll, options.Controller()
	if err := speaker.Setup(mgr, config); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// config of the flags, and of the machine where they say nothing.
func (f *flags) config() (speaker.Config, error) {
	config := speaker.Config{Name: f.name, Namespace: f.namespace, Configuration: f.configuration, Clock: clock.RealClock{}}
	var err error
	if config.Name == "" {
		if config.Name, err = os.Hostname(); err != nil {
			return config, fmt.Errorf("name of this machine: %w", err)
		}
	}
	if problems := validation.IsDNS1123Subdomain(config.Name); len(problems) > 0 || len(config.Name) > longestName {
		return config, flagcheck.That("name", config.Name, false, fmt.Sprintf("a DNS name of at most %d characters, in lower case", longestName))
	}
	if config.Namespace == "" {
		content, err := os.ReadFile(namespaceFile)
		if err != nil {
			return config, errors.New("--speaker-namespace is required outside a Pod")
		}
		config.Namespace = strings.TrimSpace(string(content))
	}
	if err := errors.Join(
		flagcheck.Namespace("speaker-namespace", config.Namespace),
		flagcheck.That("configuration", f.configuration, len(validation.IsDNS1123Subdomain(f.configuration)) == 0, "the name of a BGPConfiguration"),
	); err != nil {
		return config, err
	}
	if f.routerID != "" {
		config.RouterID, err = netip.ParseAddr(f.routerID)
	} else {
		config.RouterID, err = firstAddress()
	}
	if err != nil || !config.RouterID.Is4() {
		return config, errors.Join(errors.New("--router-id must be an IPv4 address"), err)
	}
	return config, nil
}

// firstAddress of this machine that other machines may know.
func firstAddress() (netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("addresses of this machine: %w", err)
	}
	for _, each := range all {
		if prefix, err := netip.ParsePrefix(each.String()); err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr(), nil
		}
	}
	return netip.Addr{}, errors.New("this machine has no IPv4 address")
}
