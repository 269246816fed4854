package localstack

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dpfconfig "github.com/bedplate/bedplate/config/dpf"
	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/localstack/pki"
)

// Names of children, for Kill and Restart; also the tools' names, but of the last one, which is DPUServiceManager with other controllers.
const (
	DPFManager        = "dpf-manager"
	DPUServiceManager = "dpf-dpuservice-manager"
	DPUChainManager   = "dpf-servicefunctionchain-manager"
)

// Folders, and the name of the DPU cluster.
const (
	fleet = "fleet"
	dpus  = "dpus"
)

const (
	dpfNamespace = "dpf-operator-system"
	followEvery  = 250 * time.Millisecond
	followStart  = time.Minute
)

// clusterVersion is OpenShift's CRD, beside the tools.
var clusterVersion = filepath.Join("manifests", "cluster-version.yaml")

// DPFTools are those of a stack with the system dpf.
func DPFTools() []string {
	return slices.Concat(controlplane.Tools, []string{controlplane.SchedulerTool, kubelet.Tool, clusterVersion, DPFManager, DPUServiceManager})
}

// DPF is what DPF is installed on, as who may use it sees it.
type DPF struct {
	URL           string // of the simulator's own switches, below /simulator
	DPUKubeconfig string // path, of the DPU cluster's administrator
}

var dpfPrograms = []string{DPFManager, DPUServiceManager, DPUChainManager}

// followed are the components on the host cluster whose programs run as long as there are their Deployments: their Pods run nothing.
// Deployment and service account have one name.
var followed = []manager{
	{tool: DPUServiceManager, namespace: dpfNamespace, serviceAccount: "dpf-dpuservice-controller", port: 9530, plain: true},
	{
		tool: DPUServiceManager, child: DPUChainManager, namespace: dpfNamespace, serviceAccount: "dpf-servicefunctionchain-controller",
		port: 9540, plain: true,
	},
}

// dpf are the parts that aren't children.
type dpf struct {
	end       context.CancelFunc // of following
	following sync.WaitGroup
	dpus      *controlplane.ControlPlane
	nodes     []*kubelet.Kubelet // of both clusters
}

func (d *dpf) stop() {
	d.following.Wait()
	for _, n := range d.nodes {
		n.Stop()
	}
	if d.dpus != nil {
		d.dpus.Stop()
	}
}

// StartDPF makes the management cluster an OpenShift cluster with workers that have DPUs, and another one their DPU cluster, and starts the
// operator of DPF. The stack has to be one with Workloads.
func (s *Stack) StartDPF(ctx context.Context) (*DPF, error) {
	if err := s.cfg.Tools.Require(DPFTools()...); err != nil {
		return nil, err
	}
	out := &DPF{
		URL:           "http://" + netip.AddrPortFrom(s.block.Address(254, 3), simulatorPort).String(),
		DPUKubeconfig: filepath.Join(s.cfg.Dir, dpus+".kubeconfig"),
	}
	life, end := context.WithCancel(context.Background())
	s.dpf = &dpf{end: end}
	operator := manager{
		tool: DPFManager, namespace: dpfNamespace, serviceAccount: "bedplate-dpf-manager", port: 9520, plain: true,
		manifests: []fs.FS{dpfconfig.CRDs, dpfconfig.RBAC, dpfconfig.Admission, dpfconfig.Webhooks},
	}
	var kubeconfig string
	var server webhookServer
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return s.step("DPU cluster", func() error { return s.startDPUCluster(groupCtx, out.DPUKubeconfig) })
	})
	group.Go(func() (err error) {
		if err := s.prepareHost(groupCtx); err != nil {
			return err
		}
		kubeconfig, server, err = s.installManager(groupCtx, operator)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, c := range []struct{ kubeconfig, dir string }{
		{s.Kubeconfig(), filepath.Join(s.cfg.Dir, fleet)}, {out.DPUKubeconfig, filepath.Join(s.cfg.Dir, dpus, fleet)},
	} {
		if err := s.startNodes(c.kubeconfig, c.dir); err != nil {
			return nil, err
		}
	}
	if err := s.step("OpenShift", func() error {
		return s.startSimulator(ctx, "openshift", out.URL, map[string]any{"ocp": s.Kubeconfig(), "dpus": []string{out.DPUKubeconfig}})
	}); err != nil {
		return nil, err
	}
	for _, program := range followed {
		s.dpf.following.Go(func() { s.follow(life, program) })
	}
	return out, s.step("DPF", func() error { return s.runManager(ctx, operator, kubeconfig, server.flags()) })
}

// prepareHost has what the operator's manifests need: OpenShift's kind, and the namespaces that it has rights in.
func (s *Stack) prepareHost(ctx context.Context) error {
	if err := s.installKinds(ctx, clusterVersion); err != nil {
		return err
	}
	for _, name := range []string{"openshift-network-operator", "openshift-ovn-kubernetes"} {
		if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return nil
}

func (s *Stack) startDPUCluster(ctx context.Context, kubeconfig string) error {
	dir := filepath.Join(s.cfg.Dir, dpus)
	keys := pki.Dir(filepath.Join(dir, "pki"))
	if err := keys.CreateAuthorities(); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Config{
		Name: dpus, Dir: dir, PKI: keys, Tools: s.cfg.Tools, Address: s.block.Address(254, 4), Scheduler: true,
	})
	if err != nil {
		return err
	}
	s.dpf.dpus = plane
	for _, p := range plane.Processes() {
		s.children.watch(p)
	}
	if err := installServiceKinds(ctx, plane.AdminConfig()); err != nil {
		return err
	}
	return plane.WriteKubeconfig(kubeconfig, "kubernetes-admin", "system:masters")
}

// installServiceKinds installs what the chart of the component servicechainset brings to a DPU cluster: Argo CD's stand-in renders no
// charts.
func installServiceKinds(ctx context.Context, server *rest.Config) error {
	all, err := manifest.DecodeAll(dpfconfig.CRDs)
	if err != nil {
		return fmt.Errorf("read the kinds of services: %w", err)
	}
	c, err := client.New(server, client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("client of the DPU cluster: %w", err)
	}
	return install(ctx, c, server, slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool {
		return !strings.HasPrefix(o.GetName(), "service")
	}))
}

// startNodes plays the kubelets of all nodes that a cluster gets.
func (s *Stack) startNodes(kubeconfig, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the nodes: %w", err)
	}
	nodes, err := kubelet.Fleet{Kubeconfig: kubeconfig, Dir: dir, Tools: s.cfg.Tools}.Start()
	if err != nil {
		return err
	}
	s.dpf.nodes = append(s.dpf.nodes, nodes)
	s.children.watch(nodes.Process())
	return nil
}

// follow runs the program of a Deployment that the operator makes, with its arguments, as long as there is that. It has the rights of the
// Deployment's service account.
func (s *Stack) follow(ctx context.Context, program manager) {
	running := false
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, followStart)
		defer cancel()
		deployment := &appsv1.Deployment{}
		err := s.client.Get(ctx, client.ObjectKey{Namespace: program.namespace, Name: program.serviceAccount}, deployment)
		switch {
		case apierrors.IsNotFound(err) && running:
			running = s.Kill(program.name()) != nil
		case err == nil && deployment.Status.AvailableReplicas > 0 && !running:
			running = s.runFollowed(ctx, program, deployment.Spec.Template.Spec.Containers[0].Args) == nil
		}
	}, followEvery)
}

// runFollowed leaves nothing running when it fails.
func (s *Stack) runFollowed(ctx context.Context, program manager, args []string) error {
	kubeconfig, err := s.writeKubeconfig(program)
	if err != nil {
		return err
	}
	if err := s.runManager(ctx, program, kubeconfig, args); err != nil {
		_ = s.Kill(program.name()) // it may not have started
		return err
	}
	return nil
}
