package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/yaml"

	ccmconfig "github.com/bedplate/bedplate/config/bmm-cloud-controller-manager"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const (
	cloudControllerManager = "bmm-cloud-controller-manager"
	// registering is how many nodes join in a second: two rows of racks that are switched on at the same time.
	registering = 10
	// nodeSubnetLength has room for all nodes.
	nodeSubnetLength = 16
)

// nodeFigures are what the cloud controller manager costs. Times are in seconds, sizes in bytes.
type nodeFigures struct {
	Nodes int `json:"nodes"`
	// Delay from the registration of a node to the moment in which a watch shows it initialised.
	Delay delay `json:"delay"`
	// StartCalls are those outside until all nodes are initialised.
	StartCalls map[string]int `json:"startCalls"`
	// Rest is a window in which nothing changes, and no Node is Ready: that asks most of it.
	Rest struct {
		Window, Poll  float64
		Calls         map[string]int
		ExpectedCalls int
		Cores         float64
	} `json:"rest"`
	PeakRSS uint64 `json:"peakRSS"`
}

// nodeBench is a cluster whose nodes are on a site's instances.
type nodeBench struct {
	bench
	*rig
	figures nodeFigures

	mu          sync.Mutex
	registered  map[string]time.Time
	initialised map[string]time.Time
}

// measureNodes measures the cloud controller manager, set as in production.
func (b bench) measureNodes(ctx context.Context) (*nodeFigures, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.dir = filepath.Join(b.dir, "nodes")
	if err := b.tools.Require(cloudControllerManager); err != nil {
		return nil, err
	}
	say("%d nodes: starting", b.nodes)
	rig, err := startRig(ctx, b.tools, b.dir, bmmSystem(worldOf(b.nodes, atSpeed(1000))))
	if err != nil {
		return nil, err
	}
	defer rig.stop()
	n := &nodeBench{
		bench: b, rig: rig, figures: nodeFigures{Nodes: b.nodes},
		registered: map[string]time.Time{}, initialised: map[string]time.Time{},
	}
	for _, phase := range []func(context.Context) error{n.makeInstances, n.watch, n.start, n.register, n.rest} {
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	return &n.figures, nil
}

func (n *nodeBench) name(i int) string { return fmt.Sprintf("n%04d", i) }

// makeInstances makes the instances that the nodes are on.
func (n *nodeBench) makeInstances(ctx context.Context) error {
	api, err := n.site.client(sim.Carbide)
	if err != nil {
		return err
	}
	vpc, subnet, err := n.makeNetwork(ctx, api)
	if err != nil {
		return err
	}
	for i := range n.nodes {
		if _, err := api.CreateInstance(ctx, instanceRequest(n.name(i), vpc, subnet)); err != nil {
			return err
		}
	}
	return n.until(ctx, "all instances are ready", n.patience, func(ctx context.Context) error {
		state, err := n.site.State(ctx)
		if err != nil {
			return err
		}
		return count("instances", len(readySince(state, 1)), n.nodes)
	})
}

func instanceRequest(name, vpcID, subnetID string) bmm.InstanceCreateRequest {
	return bmm.InstanceCreateRequest{
		Name: name, TenantID: sim.DefaultTenantID, VPCID: vpcID, InstanceTypeID: sim.DefaultInstanceTypeID,
		OperatingSystemID: sim.DefaultOperatingSystemID, Interfaces: []bmm.InterfaceCreateRequest{{SubnetID: subnetID}},
	}
}

// makeNetwork makes a VPC and a subnet, and returns their IDs.
func (n *nodeBench) makeNetwork(ctx context.Context, api *bmm.Client) (vpcID, subnetID string, err error) {
	vpc, err := api.CreateVPC(ctx, bmm.VPCCreateRequest{
		Name: "nodes", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer,
	})
	if err != nil {
		return "", "", err
	}
	if err := n.until(ctx, "the VPC is ready", n.patience, func(ctx context.Context) error {
		v, err := api.VPC(ctx, sim.DefaultSiteID, vpc.ID)
		if err == nil && v.Status != bmm.VPCReady {
			err = fmt.Errorf("it is %s", v.Status)
		}
		return err
	}); err != nil {
		return "", "", err
	}
	subnet, err := api.CreateSubnet(ctx, bmm.SubnetCreateRequest{
		Name: "nodes", VPCID: vpc.ID, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: nodeSubnetLength,
	})
	if err != nil {
		return "", "", err
	}
	return vpc.ID, subnet.ID, n.until(ctx, "the subnet is ready", n.patience, func(ctx context.Context) error {
		s, err := api.Subnet(ctx, sim.DefaultSiteID, subnet.ID)
		if err == nil && s.Status != bmm.SubnetReady {
			err = fmt.Errorf("it is %s", s.Status)
		}
		return err
	})
}

// watch the Nodes, until ctx ends.
func (n *nodeBench) watch(ctx context.Context) error {
	watches, err := ctrlcache.New(n.config, ctrlcache.Options{
		Scheme: n.client.Scheme(), DefaultTransform: ctrlcache.TransformStripManagedFields(),
	})
	if err != nil {
		return fmt.Errorf("watch the Nodes: %w", err)
	}
	go func() { _ = watches.Start(ctx) }() // ends with ctx
	informer, err := watches.GetInformer(ctx, &corev1.Node{})
	if err != nil {
		return fmt.Errorf("watch the Nodes: %w", err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: n.see, UpdateFunc: func(_, now any) { n.see(now) }})
	return err
}

func (n *nodeBench) see(object any) {
	node := object.(*corev1.Node)
	tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	_, seen := n.initialised[node.Name]
	if !seen && !tainted && node.Spec.ProviderID != "" && node.Labels[corev1.LabelTopologyZone] != "" &&
		node.Labels[corev1.LabelInstanceTypeStable] != "" {
		n.initialised[node.Name] = time.Now()
	}
}

func (n *nodeBench) seen() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.initialised)
}

// start the cloud controller manager with the rights and the flags that it has in production.
func (n *nodeBench) start(ctx context.Context) error {
	if err := n.createAll(ctx, ccmconfig.RBAC); err != nil {
		return err
	}
	kubeconfig := filepath.Join(n.bench.dir, cloudControllerManager+".kubeconfig")
	if err := n.plane.WriteServiceAccountKubeconfig(kubeconfig, metav1.NamespaceSystem, cloudControllerManager); err != nil {
		return err
	}
	config, err := n.writeConfig()
	if err != nil {
		return err
	}
	flags, err := productionFlags()
	if err != nil {
		return err
	}
	at := n.block.Address(254, 1).String()
	p, err := process.Start(process.Command{
		Name: cloudControllerManager, Path: n.rig.tools.Path(cloudControllerManager),
		Log: filepath.Join(n.bench.dir, cloudControllerManager+".log"),
		Args: append(flags, "--cloud-config="+config, "--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig,
			"--authorization-kubeconfig="+kubeconfig, "--bind-address="+at, "--cert-dir="+n.bench.dir, "--insecure-loopback-endpoints"),
	})
	if err != nil {
		return err
	}
	n.manager = &manager{process: p}
	return p.WaitReady(ctx, func(ctx context.Context) error {
		return process.AnswersOK(ctx, insecure(), "https://"+net.JoinHostPort(at, "10258")+"/healthz")
	})
}

// writeConfig writes the cloud config and the credentials, and returns the former's file.
func (n *nodeBench) writeConfig() (string, error) {
	credentials := filepath.Join(n.bench.dir, "credentials")
	if err := os.MkdirAll(credentials, 0o700); err != nil {
		return "", err
	}
	for key, value := range map[string]string{
		bmm.SecretKeyEndpoint: n.site.URL, bmm.SecretKeyOrg: sim.DefaultOrg, bmm.SecretKeyToken: sim.DefaultToken,
	} {
		if err := os.WriteFile(filepath.Join(credentials, key), []byte(value), 0o600); err != nil {
			return "", err
		}
	}
	data, err := yaml.Marshal(map[string]any{
		"site": map[string]string{"id": sim.DefaultSiteID}, "credentials": credentials, "interval": n.idling.poll.String(),
	})
	if err != nil {
		return "", err
	}
	file := filepath.Join(n.bench.dir, "cloud.yaml")
	return file, os.WriteFile(file, data, 0o600)
}

// productionFlags are those of the DaemonSet, but for its files.
func productionFlags() ([]string, error) {
	daemonSet, err := ccmconfig.DaemonSet()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(daemonSet.Spec.Template.Spec.Containers[0].Args, func(flag string) bool {
		return strings.HasPrefix(flag, "--cloud-config=")
	}), nil
}

// register the nodes one after the other, as kubelets do that know nothing of the site.
func (n *nodeBench) register(ctx context.Context) error {
	say("%d nodes: registering %d per second", n.nodes, registering)
	before, err := n.site.Calls(ctx)
	if err != nil {
		return err
	}
	every := time.NewTicker(time.Second / registering)
	defer every.Stop()
	for i := range n.nodes {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
		n.mu.Lock()
		n.registered[n.name(i)] = time.Now()
		n.mu.Unlock()
		if err := n.client.Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.name(i)},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{
				Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule,
			}}},
		}); err != nil {
			return fmt.Errorf("register node %s: %w", n.name(i), err)
		}
	}
	if err := n.until(ctx, "all nodes are initialised", n.patience, func(context.Context) error {
		return count("nodes", n.seen(), n.nodes)
	}); err != nil {
		return err
	}
	after, err := n.site.Calls(ctx)
	n.figures.StartCalls = since(before, after)
	var delays []time.Duration
	for name, at := range n.initialised {
		delays = append(delays, at.Sub(n.registered[name]))
	}
	n.figures.Delay = delayOf(delays)
	say("%d nodes: initialised, p99 %.2f s", n.nodes, n.figures.Delay.P99)
	return err
}

// rest measures while nothing changes.
func (n *nodeBench) rest(ctx context.Context) error {
	if err := n.untilListed(ctx, n.idling.poll); err != nil {
		return err
	}
	calls, err := n.site.Calls(ctx)
	if err != nil {
		return err
	}
	before, err := usageOf(n.manager.process.PID())
	if err != nil {
		return err
	}
	window := time.Duration(n.idling.intervals) * n.idling.poll
	say("%d nodes: measuring for %s", n.nodes, window)
	if err := pause(ctx, window); err != nil {
		return err
	}
	after, err := usageOf(n.manager.process.PID())
	if err != nil {
		return err
	}
	callsAfter, err := n.site.Calls(ctx)
	if err != nil {
		return err
	}
	r := &n.figures.Rest
	r.Window, r.Poll = after.at.Sub(before.at).Seconds(), n.idling.poll.Seconds()
	r.Calls, r.ExpectedCalls = since(calls, callsAfter), pages(n.nodes)*n.idling.intervals
	r.Cores = after.cores(before)
	n.figures.PeakRSS = after.peak
	return nil
}

func (f nodeFigures) lines() []line {
	const maxDelay, maxNodeRSS = 2.0, 150 << 20
	lists := f.Rest.Calls["listInstances"]
	return []line{
		{"from registration to initialised, p99", fmt.Sprintf("%.2f s", f.Delay.P99),
			fmt.Sprintf("p50 %.2f s, max %.2f s; %d nodes per second", f.Delay.P50, f.Delay.Max, registering),
			fmt.Sprintf("≤ %.0f s", maxDelay), f.Delay.P99 <= maxDelay},
		{"outside calls until all are initialised", fmt.Sprint(sum(f.StartCalls)), listed(f.StartCalls, "%d"), "", true},
		{"lists of instances at rest, in pages", fmt.Sprint(lists),
			fmt.Sprintf("in %.0f s, every %.0f s; a call for each node would be %d", f.Rest.Window, f.Rest.Poll,
				f.Nodes*f.Rest.ExpectedCalls/pages(f.Nodes)),
			fmt.Sprintf("≤ %d: pages × intervals", f.Rest.ExpectedCalls), lists <= f.Rest.ExpectedCalls},
		{"other outside calls at rest", fmt.Sprint(sum(f.Rest.Calls) - lists), listed(f.Rest.Calls, "%d"), "0",
			sum(f.Rest.Calls) == lists},
		{"CPU at rest", fmt.Sprintf("%.1f %% of a core", 100*f.Rest.Cores), "", "", true},
		{"peak RSS", mib(f.PeakRSS), "", "≤ " + mib(maxNodeRSS), f.PeakRSS <= maxNodeRSS},
	}
}
