package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	dpfconfig "github.com/bedplate/bedplate/config/dpf"
	"github.com/bedplate/bedplate/internal/dpf/operator"
	"github.com/bedplate/bedplate/internal/dpf/sim/platform"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

const (
	// servicesAccount is also the name of the Deployment that has it.
	servicesAccount = "dpf-dpuservice-controller"
	// syncEvery is how often the stand-in of Argo CD compares: its original does so every three minutes.
	syncEvery = 5 * time.Second
	// leaseSeconds are a kubelet's default.
	leaseSeconds = 40
)

// quick controllers: the default rates are for a cluster that grows slowly. A DaemonSet whose status was written a moment ago counts as failed
// with that feature, and with hundreds of Pods that start at once it is looked at minutes later.
var quick = []string{"--kube-api-qps=200", "--kube-api-burst=400", "--feature-gates=StaleControllerConsistencyDaemonSet=false"}

func dpfSystem() system {
	return system{
		manager: localstack.DPFManager, namespace: operatorv1.Namespace, account: "bedplate-dpf-manager",
		metricsReader: "bedplate-dpf-metrics-reader",
		crds:          dpfconfig.CRDs, rbac: dpfconfig.RBAC, addToScheme: operator.AddToScheme, simulator: "openshift", probe: "state",
	}
}

func dpfTools() []string { return append(localstack.DPFTools(), "bedplate") }

// dpfRig is an OpenShift cluster as management cluster, with its DPU clusters. Kubernetes' own controllers and schedulers work in each, and
// KWOK plays the nodes.
type dpfRig struct {
	*rig
	// bare: neither Kubernetes' controllers of workloads nor nodes are there.
	bare  bool
	dpus  []*controlplane.ControlPlane
	nodes []*kubelet.Kubelet
	// services is the manager of DPUServices; nil while none runs.
	services *manager
}

// startDPFRig starts everything but managers.
func startDPFRig(ctx context.Context, bin tools.Dir, dir string, nodes platform.Nodes, clusters int, bare bool) (*dpfRig, error) {
	if err := bin.Require(dpfTools()...); err != nil {
		return nil, err
	}
	block, err := loopback.Claim()
	if err != nil {
		return nil, err
	}
	r := &dpfRig{rig: &rig{system: dpfSystem(), dir: dir, tools: bin, block: block}, bare: bare, dpus: make([]*controlplane.ControlPlane, clusters)}
	if err := r.start(ctx, nodes); err != nil {
		r.stop()
		return nil, fmt.Errorf("start the clusters in %s: %w", dir, err)
	}
	return r, nil
}

func (r *dpfRig) start(ctx context.Context, nodes platform.Nodes) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		cfg := r.controllers()
		cfg.Audit = true
		if err := r.startPlane(groupCtx, cfg); err != nil {
			return err
		}
		return r.install(groupCtx)
	})
	for i := range r.dpus {
		group.Go(func() (err error) {
			r.dpus[i], err = r.startDPUs(groupCtx, i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	world := platform.Config{Nodes: &nodes, Light: true, Bare: r.bare, Sync: metav1.Duration{Duration: syncEvery}}
	var err error
	if world.OCP, err = r.startNodes(r.plane, "management"); err != nil {
		return err
	}
	for i, plane := range r.dpus {
		kubeconfig, err := r.startNodes(plane, dpuCluster(i))
		if err != nil {
			return err
		}
		world.DPUs = append(world.DPUs, kubeconfig)
	}
	r.system.world = world
	r.site, err = r.startSite(ctx)
	return err
}

func dpuCluster(i int) string { return fmt.Sprintf("dpus-%d", i+1) }

func (r *dpfRig) startDPUs(ctx context.Context, i int) (*controlplane.ControlPlane, error) {
	dir := filepath.Join(r.dir, dpuCluster(i))
	keys := pki.Dir(filepath.Join(dir, "pki"))
	if err := keys.CreateAuthorities(); err != nil {
		return nil, err
	}
	cfg := r.controllers()
	cfg.Name, cfg.Dir, cfg.PKI, cfg.Tools = dpuCluster(i), dir, keys, r.tools
	cfg.Address = r.block.Address(254, byte(10+i))
	return controlplane.Start(ctx, cfg)
}

// controllers of a cluster.
func (r *dpfRig) controllers() controlplane.Config {
	if r.bare {
		return controlplane.Config{Controllers: []string{"namespace-controller", "persistentvolume-binder-controller"}}
	}
	return controlplane.Config{Scheduler: true, ControllerManagerArgs: quick}
}

// startNodes plays the kubelets of all nodes that a cluster gets, if there are any. The kubeconfig is its administrator's.
func (r *dpfRig) startNodes(plane *controlplane.ControlPlane, cluster string) (kubeconfig string, _ error) {
	dir := filepath.Join(r.dir, cluster, "nodes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	kubeconfig = filepath.Join(dir, "admin.kubeconfig")
	if err := plane.WriteKubeconfig(kubeconfig, "kubernetes-admin", "system:masters"); err != nil {
		return "", err
	}
	if r.bare {
		return kubeconfig, nil
	}
	nodes, err := kubelet.Fleet{Kubeconfig: kubeconfig, Dir: dir, Tools: r.tools, LeaseSeconds: leaseSeconds}.Start()
	if err != nil {
		return "", err
	}
	r.nodes = append(r.nodes, nodes)
	return kubeconfig, nil
}

// install puts into the API server what the operator needs there.
func (r *dpfRig) install(ctx context.Context) error {
	crds := filepath.Join(r.dir, "crds")
	if err := os.CopyFS(crds, r.system.crds); err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(r.config, envtest.CRDInstallOptions{
		Paths:              []string{filepath.Join(crds, "crd", "bases"), r.tools.Path(filepath.Join("manifests", "cluster-version.yaml"))},
		ErrorIfPathMissing: true, MaxTime: time.Minute,
	}); err != nil {
		return err
	}
	for _, name := range []string{operatorv1.Namespace, "openshift-network-operator", "openshift-ovn-kubernetes"} {
		if err := r.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	if err := r.createAll(ctx, r.system.rbac); err != nil {
		return err
	}
	if err := r.createAll(ctx, dpfconfig.Admission); err != nil {
		return err
	}
	return r.allowMetrics(ctx, r.system.account)
}

// follow runs the program of the services' Deployment as long as there is that: its Pods run nothing.
func (r *dpfRig) follow(ctx context.Context) error {
	deployment := &appsv1.Deployment{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.system.namespace, Name: servicesAccount}, deployment)
	switch {
	case apierrors.IsNotFound(err):
		r.stopServices()
		return nil
	case err == nil && deployment.Status.AvailableReplicas > 0 && r.services == nil:
		r.services, err = r.runManager(ctx, localstack.DPUServiceManager, servicesAccount, 9460, "--controllers=services")
	}
	return err
}

func (r *dpfRig) stopServices() {
	if r.services != nil {
		r.services.process.Stop(stopGrace)
		r.services = nil
	}
}

// stop ends everything. The files stay.
func (r *dpfRig) stop() {
	r.stopServices()
	r.stopManager()
	for _, n := range r.nodes {
		n.Stop()
	}
	for _, plane := range r.dpus {
		if plane != nil {
			plane.Stop()
		}
	}
	r.rig.stop()
}
