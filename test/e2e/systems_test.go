package e2e

import (
	"context"
	"net/http"
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime/schema"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	powervsv1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	bmmcluster "github.com/bedplate/bedplate/internal/bmm/cluster"
	bmmsim "github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	powervssim "github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// system is what differs from one of Bedplate's to another.
type system struct {
	name     string // as in the examples, and the suffix of what the templates name
	provider string // as clusterctl knows it
	ledgers  string // the group of their kind

	version                             schema.GroupVersion // of the infrastructure kinds
	clusterKind, machineKind, imageKind string              // the last one is empty if there is none
	finalizers                          map[string]string   // by kind
	credentials                         string              // the suffix of the Secret that a cluster logs in with

	createMachine string // the simulator's operation
	// startIn a management cluster, with a simulator.
	startIn func(context.Context, *localstack.Stack) (outside, error)
	// addresses are variables for the nth cluster.
	addresses func(block *loopback.Block, nth byte) map[string]string
	read      func(context.Context, simulatortest.Remote) (state, error)
}

// outside is the simulator of a system.
type outside struct {
	url       string
	variables map[string]string // of templates
	// startManager in another management cluster, for clusters there.
	startManager func(context.Context, *localstack.Stack) error
}

func bmm() system {
	return system{
		name: "bmm", provider: "nvidia-bmm", ledgers: ledgerv1.GroupBMM,
		version: bmmv1.GroupVersion, clusterKind: "NvidiaBMMCluster", machineKind: "NvidiaBMMMachine",
		finalizers: map[string]string{
			"NvidiaBMMCluster": bmmv1.ClusterFinalizer, "NvidiaBMMMachine": bmmv1.MachineFinalizer, "Secret": bmmcluster.SecretFinalizer,
		},
		credentials: "-bmm", createMachine: "createInstance",
		startIn: func(ctx context.Context, stack *localstack.Stack) (outside, error) {
			b, err := stack.StartBMM(ctx)
			if err != nil {
				return outside{}, err
			}
			return outside{b.URL, b.Variables(), func(ctx context.Context, s *localstack.Stack) error { return s.StartBMMManager(ctx) }}, nil
		},
		addresses: func(block *loopback.Block, nth byte) map[string]string {
			return map[string]string{"CONTROL_PLANE_ENDPOINT_HOST": block.Address(255, nth).String()}
		},
		read: func(ctx context.Context, r simulatortest.Remote) (read state, _ error) {
			var all bmmsim.State
			err := r.Ask(ctx, http.MethodGet, "state", nil, &all)
			for _, instance := range all.Instances {
				read.machines = append(read.machines, instance.ID)
			}
			read.all, read.empty = all, all.Empty()
			return read, err
		},
	}
}

func powerVS() system {
	return system{
		name: "powervs", provider: "ibm-powervs", ledgers: powervsv1.LedgerGroup,
		version: powervsv1.GroupVersion, clusterKind: "IBMPowerVSCluster", machineKind: "IBMPowerVSMachine", imageKind: "IBMPowerVSImage",
		finalizers: map[string]string{
			"IBMPowerVSCluster": powervsv1.ClusterFinalizer, "IBMPowerVSMachine": powervsv1.MachineFinalizer,
			"IBMPowerVSImage": powervsv1.ImageFinalizer, "Secret": "bedplate.dev/in-use-by-ibmpowervscluster",
		},
		credentials: "-ibmcloud", createMachine: "power.createServer",
		startIn: func(ctx context.Context, stack *localstack.Stack) (outside, error) {
			p, err := stack.StartPowerVS(ctx)
			if err != nil {
				return outside{}, err
			}
			return outside{p.URL, p.Variables(), func(ctx context.Context, s *localstack.Stack) error { return s.StartPowerVSManager(ctx, p) }}, nil
		},
		addresses: func(block *loopback.Block, nth byte) map[string]string {
			return map[string]string{"IBMPOWERVS_DHCP_CIDR": netip.PrefixFrom(block.Address(nth, 0), 24).String()}
		},
		read: func(ctx context.Context, r simulatortest.Remote) (read state, _ error) {
			var all powervssim.State
			err := r.Ask(ctx, http.MethodGet, "state", nil, &all)
			for _, server := range all[powervssim.KindServer] {
				read.machines = append(read.machines, server.ID)
			}
			read.all, read.empty = all, all.Empty()
			return read, err
		},
	}
}
