// Package kubelet stands for the kubelet of one machine. It registers the Node and its static pods as a kubelet does, with
// the kubelet's own credentials; then one KWOK process keeps the Node's heartbeat and simulates its pods. No container
// runs.
package kubelet

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// Tool is the program that Start needs.
const Tool = "kwok"

const (
	port         = 10250 // of every kubelet; the API server connects to it for port-forward
	leaseSeconds = 20    // half a kubelet's default; it is renewed every quarter of it
)

//go:embed stages.yaml
var stages []byte

// Config describes one kubelet.
type Config struct {
	Registration Registration
	StaticPods   []corev1.Pod // reachable by port-forward on the container ports they declare
	Kubeconfig   string       // path; the user is system:node:<name>
	Dir          string       // for KWOK's configuration and log
	Tools        tools.Dir
}

// Kubelet is running until it is stopped.
type Kubelet struct {
	process *process.Process
}

// Start registers the node and returns when it is Ready. After an error nothing is left running.
func Start(ctx context.Context, config Config) (*Kubelet, error) {
	if err := config.Tools.Require(Tool); err != nil {
		return nil, err
	}
	client, err := clientFrom(config.Kubeconfig)
	if err != nil {
		return nil, err
	}
	node, err := register(ctx, client, config.Registration)
	if err != nil {
		return nil, err
	}
	command, err := kwok(config)
	if err != nil {
		return nil, err
	}
	p, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	k := &Kubelet{process: p}
	if err := k.run(ctx, client, node, config.StaticPods); err != nil {
		k.Stop()
		return nil, err
	}
	return k, nil
}

// Fleet stands for the kubelets of all nodes of a cluster, which the caller creates.
type Fleet struct {
	Kubeconfig string // path, of an administrator
	Dir        string // for KWOK's configuration and log
	Tools      tools.Dir
	// LeaseSeconds are how long a heartbeat counts; 0: half as long as a kubelet's.
	LeaseSeconds int
}

// Start returns when KWOK runs: from then on every Node becomes Ready, and Pods that are bound to one run.
func (f Fleet) Start() (*Kubelet, error) {
	if err := f.Tools.Require(Tool); err != nil {
		return nil, err
	}
	path := filepath.Join(f.Dir, "stages.yaml")
	if err := os.WriteFile(path, stages, 0o600); err != nil {
		return nil, fmt.Errorf("write KWOK's configuration: %w", err)
	}
	p, err := process.Start(process.Command{
		Name: "kubelets (kwok)", Path: f.Tools.Path(Tool), Log: filepath.Join(f.Dir, "kubelets.log"),
		Args: []string{
			"--kubeconfig=" + f.Kubeconfig, "--manage-all-nodes", "--config=" + path,
			"--node-lease-duration-seconds=" + strconv.Itoa(cmp.Or(f.LeaseSeconds, leaseSeconds)),
		},
		Env: []string{"HOME=" + f.Dir},
	})
	if err != nil {
		return nil, err
	}
	return &Kubelet{process: p}, nil
}

// run waits until the Node is Ready, and then creates its static pods. KWOK passes over a pod that it sees before it sees that
// the Node's Lease is its own, and doesn't come back to it; a Node that it has made Ready it holds.
func (k *Kubelet) run(ctx context.Context, client kubernetes.Interface, node *corev1.Node, static []corev1.Pod) error {
	if err := k.process.WaitReady(ctx, func(ctx context.Context) error { return nodeReady(ctx, client, node.Name) }); err != nil {
		return err
	}
	for i := range static {
		if err := createMirror(ctx, client, node, &static[i]); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the heartbeat and returns when the process has ended. The Node stays; the node lifecycle controller finds it
// NotReady after its grace period.
func (k *Kubelet) Stop() { k.process.Kill() }

// Process returns the child process, so that a caller can watch for its end.
func (k *Kubelet) Process() *process.Process { return k.process }

func clientFrom(kubeconfig string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's kubeconfig: %w", err)
	}
	config.Timeout = 10 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the kubelet: %w", err)
	}
	return client, nil
}

func nodeReady(ctx context.Context, client kubernetes.Interface, name string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !util.IsNodeReady(node) {
		return fmt.Errorf("node %s is not Ready", name)
	}
	return nil
}

// kwok writes KWOK's configuration and returns the command to run it.
//
// KWOK works with the kubelet's credentials. Besides what the Node authorizer grants to a kubelet it needs to list nodes
// and to list and watch leases: see the ClusterRole bedplate:kwok among kubeadm's objects.
func kwok(config Config) (process.Command, error) {
	forwards, err := portForwards(config)
	if err != nil {
		return process.Command{}, err
	}
	files := map[string][]byte{"stages.yaml": stages, "forwards.yaml": forwards}
	args := []string{
		"--kubeconfig=" + config.Kubeconfig,
		"--manage-single-node=" + config.Registration.Name,
		"--node-ip=" + config.Registration.Address.String(),
		"--node-lease-duration-seconds=" + strconv.Itoa(leaseSeconds), // without the flag there is no heartbeat
		"--server-address=" + net.JoinHostPort(config.Registration.Address.String(), strconv.Itoa(port)),
	}
	for name, content := range files {
		path := filepath.Join(config.Dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return process.Command{}, fmt.Errorf("write KWOK's configuration: %w", err)
		}
		if len(content) > 0 {
			args = append(args, "--config="+path)
		}
	}
	return process.Command{
		Name: "kubelet (kwok)", Path: config.Tools.Path(Tool), Args: args, Log: filepath.Join(config.Dir, "kubelet.log"),
		// A KWOK configuration in the user's home folder is none of ours.
		Env: []string{"HOME=" + config.Dir},
	}, nil
}

// portForwards returns KWOK's configuration for reaching the container ports of the static pods, which are programs on
// the machine's own address.
func portForwards(config Config) ([]byte, error) {
	var documents []byte
	for i := range config.StaticPods {
		pod := &config.StaticPods[i]
		var forwards []map[string]any
		for _, container := range pod.Spec.Containers {
			for _, p := range container.Ports {
				forwards = append(forwards, map[string]any{
					"ports":  []int32{p.ContainerPort},
					"target": map[string]any{"address": config.Registration.Address.String(), "port": p.ContainerPort},
				})
			}
		}
		if forwards == nil {
			continue
		}
		document, err := yaml.Marshal(map[string]any{
			"apiVersion": "kwok.x-k8s.io/v1alpha1",
			"kind":       "PortForward",
			"metadata":   map[string]any{"name": mirrorName(pod, config.Registration.Name), "namespace": pod.Namespace},
			"spec":       map[string]any{"forwards": forwards},
		})
		if err != nil {
			return nil, fmt.Errorf("encode KWOK's configuration: %w", err)
		}
		documents = append(append(documents, "---\n"...), document...)
	}
	return documents, nil
}
