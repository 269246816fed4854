package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/sim/platform"
)

// dpfBench is what to measure of DPF's operator, and how.
type dpfBench struct {
	bench
	nodes    platform.Nodes
	clusters int
	rolled
	hosts int
}

// rolled says how a roll is measured.
type rolled struct{ alone, atATime int }

func dpfCommand() *cobra.Command {
	b := dpfBench{}
	command := &cobra.Command{
		Use:   "dpf",
		Short: "Measure what DPF's operator costs",
		Long: `Installs DPF on an OpenShift cluster with several DPU clusters, moves the network of all nodes onto their DPUs, kills the
operator on the way, measures while nothing changes, and takes everything back. Then a configuration with many hosts. docs/performance.md
explains the figures.`,
		Args: cobra.NoArgs,
		RunE: measuring(&b.bench, b.run),
	}
	flags := command.Flags()
	flags.IntVar(&b.nodes.WithDPUs, "nodes", 200, "number of nodes with DPUs; 0: only the large configuration is measured")
	flags.IntVar(&b.nodes.Without, "others", 2, "number of nodes without")
	flags.IntVar(&b.clusters, "clusters", 3, "number of DPU clusters")
	flags.IntVar(&b.nodes.PerCluster, "per-cluster", 200, "nodes of each DPU cluster")
	flags.IntVar(&b.alone, "alone", 20, "number of nodes that are moved with maxUnavailable 1")
	flags.IntVar(&b.atATime, "at-a-time", 10, "maxUnavailable of the others")
	flags.IntVar(&b.hosts, "hosts", 2000, "number of hosts of the large configuration; 0 for none")
	b.flags(flags, "bench-dpf.json")
	return command
}

// dpfRun is one host cluster.
type dpfRun struct {
	*run
	rolled
	clusters *dpfRig
	figures  *dpfFigures
	// ended is what an operator took that was killed.
	ended usage
}

func (b *dpfBench) run(ctx context.Context) (*dpfFigures, error) {
	dir, remove, err := folder(b.dir)
	if err != nil {
		return nil, err
	}
	defer remove()
	b.dir = dir
	f := &dpfFigures{Began: time.Now().UTC().Truncate(time.Second), Nodes: b.nodes, Clusters: b.clusters}
	if f.Host, err = host(); err != nil {
		return nil, err
	}
	if b.nodes.WithDPUs == 0 {
		say("no nodes are moved")
	} else if err := b.with(ctx, "nodes", b.nodes, b.clusters, false, f, (*dpfRun).whole); err != nil {
		return f, err
	}
	if b.hosts > 0 {
		f.Large = &largeFigures{Hosts: b.hosts}
		err = b.with(ctx, "hosts", platform.Nodes{WithDPUs: b.hosts, PerCluster: b.hosts}, 1, true, f, (*dpfRun).large)
	}
	return f, err
}

// with a host cluster, measure.
func (b *dpfBench) with(ctx context.Context, name string, nodes platform.Nodes, clusters int, bare bool, f *dpfFigures,
	measure func(*dpfRun, context.Context) error,
) error {
	say("%d nodes with DPUs, %d DPU clusters of %d: starting", nodes.WithDPUs, clusters, nodes.PerCluster)
	of := b.bench
	of.dir = filepath.Join(b.dir, name)
	clustersRig, err := startDPFRig(ctx, b.tools, of.dir, nodes, clusters, bare)
	if err != nil {
		return err
	}
	defer clustersRig.stop()
	r := &dpfRun{run: &run{bench: of, rig: clustersRig.rig}, clusters: clustersRig, rolled: b.rolled, figures: f}
	if err := r.startOperator(ctx); err != nil {
		return err
	}
	return measure(r, ctx)
}

func (r *dpfRun) startOperator(ctx context.Context) error {
	return r.startManager(ctx, "--leader-identity=one", "--poll-interval="+r.idling.poll.String())
}

func (r *dpfRun) whole(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{r.install, r.roll, r.rest, r.back} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

func theConfig() *operatorv1.DPFOperatorConfig {
	return &operatorv1.DPFOperatorConfig{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: operatorv1.Name}}
}

// until the DPFOperatorConfig is as it is to be. Meanwhile services are deployed as soon as they may be.
func (r *dpfRun) until(ctx context.Context, what string, check func(*operatorv1.DPFOperatorConfig) error) error {
	return r.rig.until(ctx, what, r.patience, func(ctx context.Context) error {
		if err := r.clusters.follow(ctx); err != nil {
			return err
		}
		config := theConfig()
		if err := r.rig.client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		return check(config)
	})
}

// condition is what is missing until one is True.
func condition(kind string) func(*operatorv1.DPFOperatorConfig) error {
	return func(config *operatorv1.DPFOperatorConfig) error {
		c := meta.FindStatusCondition(config.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != config.Generation {
			return fmt.Errorf("condition %s: %+v", kind, c)
		}
		return nil
	}
}

// reached is what is missing until so many nodes are in a phase.
func reached(phase operatorv1.NodePhase, nodes int) func(*operatorv1.DPFOperatorConfig) error {
	return func(config *operatorv1.DPFOperatorConfig) error {
		if n := in(config, phase); n < nodes {
			return fmt.Errorf("%d of %d nodes are %s", n, nodes, phase)
		}
		return nil
	}
}

func in(config *operatorv1.DPFOperatorConfig, phase operatorv1.NodePhase) (n int) {
	for _, node := range config.Status.Nodes {
		if node.Phase == phase {
			n++
		}
	}
	return n
}

// edit the DPFOperatorConfig.
func (r *dpfRun) edit(ctx context.Context, change func(*operatorv1.DPFOperatorConfigSpec)) error {
	config := theConfig()
	if err := r.rig.client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
		return err
	}
	before := config.DeepCopy()
	change(&config.Spec)
	return r.rig.client.Patch(ctx, config, client.MergeFrom(before))
}

func (r *dpfRun) create(ctx context.Context, network *operatorv1.HostNetworkConfiguration) error {
	config := theConfig()
	config.Spec.ImagePullSecrets, config.Spec.BFBPersistentVolume = []string{"ngc"}, "bfb"
	config.Spec.HostNetworkConfiguration = network
	return r.rig.client.Create(ctx, config)
}

// network of so many hosts: each has a prefix of its own.
func network(hosts, maxUnavailable int) *operatorv1.HostNetworkConfiguration {
	n := &operatorv1.HostNetworkConfiguration{
		HostPF0: "ens2f0np0", HostPF0VF0: "enp23s0f0v0", CIDR: "10.0.0.0/16", MaxUnavailable: int32(maxUnavailable),
	}
	for i := range hosts {
		address := func(j int) string { return fmt.Sprintf("10.0.%d.%d", i*8/256, i*8%256+j) }
		n.Hosts = append(n.Hosts, operatorv1.Host{
			HostClusterNodeName: operatorv1.NodeName(fmt.Sprintf("ocp-worker-%d", i+1)),
			DPUClusterNodeName:  operatorv1.NodeName(fmt.Sprintf("dpu-worker-%d", i+1)),
			HostIP:              operatorv1.AddressWithPrefix(address(1) + "/29"), DPUIP: operatorv1.AddressWithPrefix(address(2) + "/29"), Gateway: address(6),
		})
	}
	return n
}

// mark is what both managers have taken until a moment.
type mark struct{ operator, services usage }

func (r *dpfRun) mark() (m mark, err error) {
	if m.operator, err = usageOf(r.manager.process.PID()); err != nil {
		return m, err
	}
	m.operator.cpu += r.ended.cpu
	m.operator.peak = max(m.operator.peak, r.ended.peak)
	if m.services.at = time.Now(); r.clusters.services != nil {
		m.services, err = usageOf(r.clusters.services.process.PID())
	}
	return m, err
}

func (u usage) since(before usage) footprint {
	return footprint{CPU: (u.cpu - before.cpu).Seconds(), Cores: u.cores(before), PeakRSS: u.peak, RSS: u.rss}
}
