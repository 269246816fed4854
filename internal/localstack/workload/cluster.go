package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/pki"
)

const (
	startTimeout = 2 * time.Minute // of a node
	retry        = 5 * time.Second
	callTimeout  = 10 * time.Second
	maxNodes     = 200 // one loopback address each
)

// cluster has a goroutine of its own.
type cluster struct {
	Config
	id     string
	cancel context.CancelFunc

	mu      sync.Mutex
	nodes   []string
	changed chan struct{} // the nodes that are wanted
}

// want those nodes.
func (c *cluster) want(nodes []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(nodes, c.nodes) {
		return
	}
	c.nodes = slices.Clone(nodes)
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *cluster) wanted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes
}

// run until ctx ends. What fails is logged, and tried again.
func (c *cluster) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.serve(ctx); err != nil && ctx.Err() == nil {
			c.Log.Error("cluster doesn't run", "cluster", c.id, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// serve starts the control plane, and then has the nodes that are wanted. A node that can't be started is tried again in the same
// cluster: with another control plane the cluster would be another one.
func (c *cluster) serve(ctx context.Context) error {
	block, err := loopback.Claim()
	if err != nil {
		return err
	}
	defer block.Close()
	plane, err := c.startControlPlane(ctx, block)
	if err != nil {
		return err
	}
	defer plane.Stop()
	client, err := kubernetes.NewForConfig(plane.AdminConfig())
	if err != nil {
		return fmt.Errorf("client of cluster %s: %w", c.id, err)
	}
	if err := c.tell(plane); err != nil {
		return err
	}
	n := &nodes{cluster: c, block: block, plane: plane, client: client, running: map[string]*kubelet.Kubelet{}}
	defer n.stop()
	for {
		var again <-chan time.Time
		if err := n.sync(ctx, c.wanted()); err != nil {
			if ended := plane.Ended(); ended != nil || ctx.Err() != nil {
				return ended
			}
			c.Log.Error("cluster doesn't have the nodes that are wanted", "cluster", c.id, "error", err)
			again = time.After(retry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.changed:
		case <-again:
		}
	}
}

func (c *cluster) dir() string { return filepath.Join(c.Dir, c.id) }

// startControlPlane fails when one of its programs ends: on a busy machine it takes minutes.
func (c *cluster) startControlPlane(ctx context.Context, block *loopback.Block) (*controlplane.ControlPlane, error) {
	if err := os.RemoveAll(c.dir()); err != nil { // of an attempt before
		return nil, fmt.Errorf("make the folder of cluster %s: %w", c.id, err)
	}
	keys := pki.Dir(filepath.Join(c.dir(), "pki"))
	if err := keys.CreateAuthorities(); err != nil {
		return nil, err
	}
	return controlplane.Start(ctx, controlplane.Config{
		Name: "cluster-" + c.id, Member: "main", Dir: c.dir(), PKI: keys, Tools: c.Tools, Address: block.Address(0, 1),
		Controllers: []string{"garbage-collector-controller", "namespace-controller", "node-lifecycle-controller", "serviceaccount-controller"},
	})
}

// tell how the cluster is reached.
func (c *cluster) tell(plane *controlplane.ControlPlane) error {
	path := filepath.Join(c.dir(), "kubeconfig")
	if err := plane.WriteKubeconfig(path, "kubernetes-admin", "system:masters"); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of cluster %s: %w", c.id, err)
	}
	c.Reached(c.id, string(text))
	return nil
}

// nodes of a cluster.
type nodes struct {
	*cluster
	block   *loopback.Block
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	running map[string]*kubelet.Kubelet
	next    byte // of the addresses
}

// sync lets those nodes run that are wanted, and no others.
func (n *nodes) sync(ctx context.Context, wanted []string) error {
	for name, k := range n.running {
		if slices.Contains(wanted, name) {
			continue
		}
		k.Stop()
		if err := n.remove(ctx, name); err != nil {
			return err
		}
		delete(n.running, name)
	}
	for _, name := range wanted {
		if n.running[name] != nil {
			continue
		}
		k, err := n.start(ctx, name)
		if err != nil {
			return fmt.Errorf("start node %s: %w", name, err)
		}
		n.running[name] = k
	}
	return nil
}

func (n *nodes) start(ctx context.Context, name string) (*kubelet.Kubelet, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if n.next == maxNodes {
		return nil, fmt.Errorf("the cluster has had %d nodes already", maxNodes)
	}
	dir := filepath.Join(n.dir(), name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	// A kubelet's own rights don't suffice for KWOK.
	if err := n.plane.WriteKubeconfig(kubeconfig, "system:node:"+name, "system:nodes", "system:masters"); err != nil {
		return nil, err
	}
	version, err := n.client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask for the version: %w", err)
	}
	k, err := kubelet.Start(ctx, kubelet.Config{
		Registration: kubelet.Registration{Name: name, Address: n.block.Address(1, n.next+1), Version: version.GitVersion},
		Kubeconfig:   kubeconfig, Dir: dir, Tools: n.Tools,
	})
	if err != nil {
		return nil, err
	}
	n.next++
	return k, nil
}

// remove a node, as what configures the machines does.
func (n *nodes) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := n.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove node %s: %w", name, err)
	}
	return nil
}

func (n *nodes) stop() {
	for _, k := range n.running {
		k.Stop()
	}
}
