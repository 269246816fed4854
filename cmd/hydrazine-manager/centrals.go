package main

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/central/pods"
	"github.com/bedplate/bedplate/internal/hydrazine/ownip"
)

// Where OVN's centrals run.
const (
	asProcesses  = "process"
	onKubernetes = "kubernetes"
)

// centralFlags say where OVN's centrals run, and how DPUs reach them.
type centralFlags struct {
	runtime   string
	dir       string
	address   string
	namespace string
	manager   string // its namespace
	image     string
	service   string
	plaintext bool
}

func (f *centralFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.runtime, "centrals", asProcesses, "Where the OVN centrals run: process, on this machine, or kubernetes.")
	set.StringVar(&f.dir, "centrals-dir", "/var/lib/bedplate/ovn", "Folder of OVN centrals that run as processes. Keep the path short: "+
		"it contains Unix sockets.")
	set.StringVar(&f.address, "centrals-address", "", "Address that DPUs reach the OVN centrals at: of this machine where they "+
		"are processes, of a node where they have node ports. A load balancer says its own.")
	set.StringVar(&f.namespace, "centrals-namespace", "bedplate-hydrazine-centrals", "Namespace of the OVN centrals that are on "+
		"Kubernetes. The manager reads all Secrets there, so use it for nothing else.")
	set.StringVar(&f.manager, "manager-namespace", "bedplate-hydrazine-system", "Namespace of this manager's Pods, from which the OVN "+
		"centrals on Kubernetes accept connections.")
	set.StringVar(&f.image, "centrals-image", "", "Image of the OVN centrals that are on Kubernetes.")
	set.StringVar(&f.service, "centrals-service", string(corev1.ServiceTypeLoadBalancer), "How DPUs reach the OVN centrals that "+
		"are on Kubernetes: LoadBalancer or NodePort.")
	set.BoolVar(&f.plaintext, "southbound-plaintext", false, "DPUs reach the OVN centrals in plaintext, as agents need that are "+
		"older than TLS. Anybody on the fabric can then change any tenant's network. Not on Kubernetes.")
}

// config of centrals on Kubernetes.
func (f *centralFlags) config(address netip.Addr) pods.Config {
	return pods.Config{Namespace: f.namespace, Manager: f.manager, Image: f.image, Service: corev1.ServiceType(f.service), Address: address}
}

// check the flags, and return the address, which may be missing where a load balancer has it.
func (f *centralFlags) check() (address netip.Addr, err error) {
	switch f.runtime {
	case asProcesses, onKubernetes:
	default:
		return address, flagcheck.That("centrals", f.runtime, false, asProcesses+" or "+onKubernetes)
	}
	if f.address != "" || f.runtime == asProcesses {
		if address, err = netip.ParseAddr(f.address); err != nil {
			return address, flagcheck.That("centrals-address", f.address, false, "an IP address")
		}
	}
	if f.runtime == asProcesses {
		return address, flagcheck.That("centrals-dir", f.dir, filepath.IsAbs(f.dir), "the absolute path of a folder")
	}
	config := f.config(address)
	return address, errors.Join(
		flagcheck.That("southbound-plaintext", f.plaintext, !f.plaintext, "false: centrals on Kubernetes speak TLS only"),
		config.Validate(),
	)
}

func (f *centralFlags) start(ctx context.Context, mgr ctrl.Manager, address netip.Addr) (central.Runtime, error) {
	if f.runtime == onKubernetes {
		return pods.New(mgr, f.config(address))
	}
	centrals := central.NewProcesses(ctx, f.dir, address)
	centrals.Plaintext = f.plaintext
	return centrals, nil
}

// ownAddresses of this process, with the one that centrals are reached at: no tenant's host reaches any of them.
func ownAddresses(address netip.Addr) func() ([]netip.Addr, error) {
	return func() ([]netip.Addr, error) {
		all, err := ownip.Addresses()
		if address.IsValid() {
			all = append(all, address)
		}
		return all, err
	}
}
