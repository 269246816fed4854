package platform

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bedplate/bedplate/internal/dpf/sim/argo"
)

// Nodes that there are.
type Nodes struct {
	// WithDPUs and Without are those of the host cluster, PerCluster those of each DPU cluster: the DPUs of hosts, and more of them.
	WithDPUs   int `json:"withDPUs"`
	Without    int `json:"without"`
	PerCluster int `json:"perCluster"`
}

var few = Nodes{WithDPUs: 3, Without: 2, PerCluster: 3}

// hosts of the OpenShift cluster, with what ovn-kubernetes writes where it doesn't run.
func (n Nodes) hosts(bare bool) (nodes []*corev1.Node) {
	for i := range n.WithDPUs + n.Without {
		host := node(fmt.Sprintf("ocp-worker-%d", i+1), address(18, i))
		host.Labels["node-role.kubernetes.io/worker"] = ""
		if i < n.WithDPUs {
			host.Labels["feature.node.kubernetes.io/dpu-enabled"] = "true" // as NFD finds it
		}
		if bare {
			host.Annotations = map[string]string{"k8s.ovn.org/node-chassis-id": "host-" + host.Name}
		}
		nodes = append(nodes, host)
	}
	return nodes
}

// dpus are the nodes of one of so many DPU clusters: those of hosts are dealt out in turn.
func (n Nodes) dpus(cluster, clusters int) (nodes []*corev1.Node) {
	for i := range n.PerCluster {
		number := i*clusters + cluster
		dpu := node(fmt.Sprintf("dpu-worker-%d", number+1), address(19, number))
		if i == 0 {
			dpu.Labels[first] = ""
		}
		nodes = append(nodes, dpu)
	}
	return nodes
}

// first is the label of the first node of a DPU cluster.
const first = "example.com/first"

// address of a node: hosts have those of the machineNetwork.
func address(second, node int) string {
	return fmt.Sprintf("198.%d.%d.%d", second, node/250, node%250+1)
}

func node(name, address string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	}}}
	n.Status.Capacity = corev1.ResourceList{
		"cpu": resource.MustParse("16"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110"),
	}
	n.Status.Allocatable = n.Status.Capacity
	n.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name},
	}
	return n
}

// chart of every service: a DaemonSet, with the labels that its values say.
func chart(r argo.Release) ([]*unstructured.Unstructured, error) {
	given, _, err := unstructured.NestedStringMap(r.Values, "serviceDaemonSet", "labels")
	if err != nil {
		return nil, fmt.Errorf("read the values of %s: %w", r.Name, err)
	}
	selector := map[string]string{"app.kubernetes.io/instance": r.Name}
	labels := map[string]string{"app.kubernetes.io/instance": r.Name}
	for key, value := range given {
		labels[key] = value
	}
	set := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: r.Name, Namespace: r.Namespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "service", Image: r.RepoURL + "/" + r.Chart}}},
			},
		},
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", r.Name, err)
	}
	delete(fields, "status")
	return []*unstructured.Unstructured{{Object: fields}}, nil
}

// lightChart is a chart whose Pods run on the first node only, if they aren't those that the move of the network waits for.
func lightChart(r argo.Release) ([]*unstructured.Unstructured, error) {
	objects, err := chart(r)
	if err != nil {
		return nil, err
	}
	template := objects[0].Object["spec"].(map[string]any)["template"].(map[string]any)
	labels, _, err := unstructured.NestedStringMap(template, "metadata", "labels")
	if err == nil && labels["svc.dpu.nvidia.com/service"] != "dpucniprovisioner" {
		err = unstructured.SetNestedStringMap(template, map[string]string{first: ""}, "spec", "nodeSelector")
	}
	return objects, err
}
