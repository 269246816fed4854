package kubelet

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Registration is what a kubelet says about its machine.
type Registration struct {
	Name       string
	Address    netip.Addr
	ProviderID string // may be empty
	// Unaddressed Nodes have no addresses until a cloud controller manager says which.
	Unaddressed bool
	Labels      map[string]string
	Taints      []corev1.Taint
	Version     string // of the kubelet, "v1.2.3"
}

// A server of middling size. Nothing runs on it, so the numbers only have to be large enough.
var resources = corev1.ResourceList{
	corev1.ResourceCPU:              resource.MustParse("64"),
	corev1.ResourceMemory:           resource.MustParse("256Gi"),
	corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	corev1.ResourcePods:             resource.MustParse("110"),
}

// register creates the Node. A Node of that name that exists already keeps its spec, as with a restarted kubelet.
func register(ctx context.Context, client kubernetes.Interface, r Registration) (*corev1.Node, error) {
	nodes := client.CoreV1().Nodes()
	wanted := r.node()
	var node *corev1.Node
	exists := false
	err := persist(ctx, func(ctx context.Context) (err error) {
		node, err = nodes.Create(ctx, wanted, metav1.CreateOptions{})
		if exists = apierrors.IsAlreadyExists(err); exists {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("register node %s: %w", r.Name, err)
	}
	if exists {
		return registerAgain(ctx, client, wanted)
	}
	return node, nil
}

func registerAgain(ctx context.Context, client kubernetes.Interface, wanted *corev1.Node) (*corev1.Node, error) {
	// KWOK would wait until the Lease of its predecessor runs out; a kubelet doesn't.
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if err := leases.Delete(ctx, wanted.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("take over the lease of node %s: %w", wanted.Name, err)
	}
	nodes := client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("register node %s again: %w", wanted.Name, err)
	}
	before := node.Status
	node.Status = wanted.Status
	node.Status.Conditions = before.Conditions
	if len(wanted.Status.Addresses) == 0 {
		node.Status.Addresses = before.Addresses
	}
	node, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("register node %s again: %w", wanted.Name, err)
	}
	return node, nil
}

func (r Registration) node() *corev1.Node {
	labels := maps.Clone(r.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1.LabelHostname] = r.Name
	labels[corev1.LabelOSStable] = "linux"
	labels[corev1.LabelArchStable] = runtime.GOARCH
	var addresses []corev1.NodeAddress
	if !r.Unaddressed {
		addresses = []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: r.Address.String()},
			{Type: corev1.NodeHostName, Address: r.Name},
		}
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: r.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: r.ProviderID, Taints: r.Taints},
		Status: corev1.NodeStatus{
			Capacity:        resources,
			Allocatable:     resources,
			Addresses:       addresses,
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: port}},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: r.Version, OperatingSystem: "linux", Architecture: runtime.GOARCH,
				OSImage: "Bedplate lab", ContainerRuntimeVersion: "kwok://none",
			},
		},
	}
}
