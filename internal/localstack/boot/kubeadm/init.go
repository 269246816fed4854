// Package kubeadm does on a simulated machine what "kubeadm init" and "kubeadm join" do on a real one: from the same
// configuration, with the same files, and with the same checks.
package kubeadm

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeadmv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/localstack/boot/cloudinit"
	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

const (
	kubeletConf = "/etc/kubernetes/kubelet.conf"
	// kubeadm waits as long for the control plane.
	initTimeout = 4 * time.Minute
)

// Host is the machine that kubeadm runs on.
type Host struct {
	Hostname string
	Address  netip.Addr
	Disk     string // folder that holds the machine's files
	State    string // folder for the logs and the data of its processes
	Tools    tools.Dir
	Console  *slog.Logger
}

// Path returns where a file of the machine really is.
func (h Host) Path(name string) string { return filepath.Join(h.Disk, cloudinit.OnDisk(name)) }

// Node is a machine that has become part of a cluster.
type Node struct {
	Processes    []*process.Process         // in the order of their start
	ControlPlane *controlplane.ControlPlane // nil on a worker
}

// Stop ends the machine's processes as a power cut does, and returns when they have ended.
func (n *Node) Stop() {
	for _, p := range slices.Backward(n.Processes) {
		p.Kill()
	}
}

// Init makes the machine the first control plane of a cluster and returns when its Node is Ready. The CAs come from the
// machine's disk; a damaged one is an error. After an error nothing is left running.
func Init(ctx context.Context, host Host, config *InitConfig) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()

	node, err := registration(host, config.Init.NodeRegistration)
	if err != nil {
		return nil, err
	}
	node.Version = config.Cluster.KubernetesVersion
	settings, err := controlPlaneConfig(host, config, node.Name)
	if err != nil {
		return nil, err
	}
	if len(config.Init.BootstrapTokens) > 0 {
		host.Console.Warn("bootstrapTokens have no effect here: what adds machines writes their tokens")
	}
	host.Console.Info("starting the control plane", "node", node.Name, "endpoint", settings.Endpoint)
	controlPlane, err := controlplane.Start(ctx, settings)
	if err != nil {
		return nil, err
	}
	k, err := initNode(ctx, host, config, controlPlane, node)
	return withKubelet(controlPlane, k, err)
}

// withKubelet completes a control plane machine. Without a kubelet it stops the rest.
func withKubelet(controlPlane *controlplane.ControlPlane, k *kubelet.Kubelet, err error) (*Node, error) {
	if err != nil {
		controlPlane.Stop()
		return nil, err
	}
	return &Node{
		Processes: append(slices.Clone(controlPlane.Processes()), k.Process()), ControlPlane: controlPlane,
	}, nil
}

// initNode fills the new cluster and makes the machine its first Node.
func initNode(ctx context.Context, host Host, config *InitConfig, controlPlane *controlplane.ControlPlane,
	node kubelet.Registration) (*kubelet.Kubelet, error) {
	admin := controlPlane.AdminConfig()
	c, err := client.New(admin, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("client for the new cluster: %w", err)
	}
	objects, err := clusterObjects(config, admin, controlPlane.Endpoint())
	if err != nil {
		return nil, err
	}
	if err := create(ctx, c, objects); err != nil {
		return nil, err
	}
	kubeconfig := host.Path(kubeletConf)
	if err := controlPlane.WriteKubeconfig(kubeconfig, "system:node:"+node.Name, "system:nodes"); err != nil {
		return nil, err
	}
	return startKubelet(ctx, host, config, controlPlane, node)
}

// startKubelet makes a control plane machine a Node.
func startKubelet(ctx context.Context, host Host, config *InitConfig, controlPlane *controlplane.ControlPlane,
	node kubelet.Registration) (*kubelet.Kubelet, error) {
	c, err := client.New(controlPlane.AdminConfig(), client.Options{})
	if err != nil {
		return nil, fmt.Errorf("client for the cluster: %w", err)
	}
	k, err := kubelet.Start(ctx, kubelet.Config{
		Registration: node, StaticPods: staticPods(host, config), Kubeconfig: host.Path(kubeletConf),
		Dir: host.State, Tools: host.Tools,
	})
	if err != nil {
		return nil, err
	}
	if err := markControlPlane(ctx, c, node.Name); err != nil {
		k.Stop()
		return nil, err
	}
	return k, nil
}

// markControlPlane sets the labels that a kubelet may not give itself.
func markControlPlane(ctx context.Context, c client.Client, name string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:"",%q:""}}}`, controlPlaneRole, corev1.LabelNodeExcludeBalancers)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("mark node %s as control plane: %w", name, err)
	}
	return nil
}

func controlPlaneConfig(host Host, config *InitConfig, node string) (controlplane.Config, error) {
	if a := config.Init.LocalAPIEndpoint.AdvertiseAddress; a != "" && a != host.Address.String() {
		return controlplane.Config{}, fmt.Errorf("this machine has no address %s, it has %s", a, host.Address)
	}
	settings := controlplane.Config{
		Name:        config.Cluster.ClusterName,
		Member:      node,
		Dir:         host.State,
		PKI:         pki.Dir(host.Path(config.Cluster.CertificatesDir)),
		Tools:       host.Tools,
		Address:     host.Address,
		ExtraSANs:   append(slices.Clone(config.Cluster.APIServer.CertSANs), node),
		ServiceCIDR: config.Cluster.Networking.ServiceSubnet,
		PodCIDR:     config.Cluster.Networking.PodSubnet,
		// kubeadm's, less those whose pods would need a scheduler to become more than pending.
		Controllers: []string{"*", "bootstrapsigner", "tokencleaner", "-daemonset-controller"},
	}
	if endpoint, ok, err := config.Endpoint(); err != nil {
		return controlplane.Config{}, err
	} else if ok {
		settings.Endpoint = endpoint.String()
	}
	settings.ControllerManagerArgs = controllerManagerArgs(host, config.Cluster.ControllerManager.ExtraArgs)
	return settings, checkServiceAccountKey(settings.PKI)
}

// controllerManagerArgs passes on the extra arguments that mean the same here as on a machine of its own; others name
// files, listeners or cloud providers.
func controllerManagerArgs(host Host, extra []kubeadmv1.Arg) []string {
	args := []string{
		// One of the control plane's machines leads. Twice the usual time: nothing restarts a leader that was slow once.
		"--leader-elect=true", "--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=25s",
		// A lab's machines are given up after less than half the usual time; their heartbeat is twice as fast as usual.
		"--node-monitor-grace-period=20s",
	}
	for _, arg := range extra {
		switch arg.Name {
		case "node-monitor-grace-period", "node-monitor-period":
			args = append(args, "--"+arg.Name+"="+arg.Value)
		default:
			host.Console.Warn("kube-controller-manager flag has no effect here", "flag", arg.Name)
		}
	}
	return args
}
