// hydrazine-speaker announces public IPs to the devices of the fabric, by BGP.
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"os"
	"slices"
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
	// longestName leaves room for its prefix where the API server allows at most 128 characters.
	longestName = 110
)

type flags struct {
	name, namespace, configuration, routerID string
	nodeIPs                                  []string
}

func (f *flags) add(set *pflag.FlagSet) {
	set.StringVar(&f.name, "name", "", "Name of this speaker, unique and unchanged by restarts, such as that of its "+
		"machine. If empty, the name of its Pod or machine.")
	set.StringVar(&f.namespace, "speaker-namespace", "", "Namespace of the speakers' Leases and of the Secrets with passwords. Without it the Pod's own.")
	set.StringVar(&f.configuration, "configuration", "default", "Name of the BGPConfiguration.")
	set.StringVar(&f.routerID, "router-id", "", "Router ID, an IPv4 address that no other router has. Without it the first one of the "+
		"node, or one that is made of --name where the node has none.")
	set.StringSliceVar(&f.nodeIPs, "node-ips", nil, "Addresses of this speaker's node. Without them the machine's own.")
}

func main() {
	f := &flags{}
	command := manager.Command("bedplate-hydrazine-speaker", "Announces public IPs to the fabric, by BGP",
		func(ctx context.Context, options *manager.Options) error { return run(ctx, options, f) })
	f.add(command.Flags())
	// Every replica speaks, about objects that are in no namespace, and none is asked by the API server.
	for _, name := range []string{"leader-elect", "leader-elect-lease-duration", "leader-election-namespace", "leader-identity", "namespace", "webhook-port"} {
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
	if config.Addresses, err = f.addresses(); err != nil {
		return config, err
	}
	if f.routerID != "" {
		config.RouterID, err = netip.ParseAddr(f.routerID)
		return config, flagcheck.That("router-id", f.routerID, err == nil && config.RouterID.Is4(), "an IPv4 address")
	}
	config.RouterID = idOf(config.Name)
	if first := slices.IndexFunc(config.Addresses, netip.Addr.Is4); first >= 0 {
		config.RouterID = config.Addresses[first]
	}
	return config, nil
}

// idOf makes a router ID of a name, the same each time. It looks like an address that a host may have, which is what routers expect.
func idOf(name string) netip.Addr {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	id := [4]byte(hash.Sum(nil))
	id[0] = 1 + id[0]%126
	return netip.AddrFrom4(id)
}

// addresses of the node, or else those of the machine that other machines may know.
func (f *flags) addresses() (addresses []netip.Addr, err error) {
	for _, each := range f.nodeIPs {
		address, err := netip.ParseAddr(each)
		if err != nil {
			return nil, flagcheck.That("node-ips", strings.Join(f.nodeIPs, ","), false, "IP addresses")
		}
		addresses = append(addresses, address)
	}
	if len(addresses) > 0 {
		return addresses, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("addresses of this machine: %w", err)
	}
	for _, each := range all {
		if prefix, err := netip.ParsePrefix(each.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			addresses = append(addresses, prefix.Addr())
		}
	}
	return addresses, nil
}
