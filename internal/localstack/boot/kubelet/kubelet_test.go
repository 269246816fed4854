package kubelet

import (
	"errors"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func machine() Registration {
	return Registration{
		Name: "node-1", Address: netip.MustParseAddr("127.9.0.1"), ProviderID: "cloud://x", Version: "v1.36.3",
		Labels: map[string]string{"a": "b"}, Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}},
	}
}

func etcdPod() corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "etcd"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Ports: []corev1.ContainerPort{{ContainerPort: 2379}}}}},
	}
}

func TestRegister_tellsWhatTheKubeletKnows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	node, err := register(t.Context(), fake.NewClientset(), machine())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(node.Spec.ProviderID).To(Equal("cloud://x"))
	g.Expect(node.Spec.Taints).To(HaveLen(1))
	g.Expect(node.Labels).To(And(HaveKeyWithValue("a", "b"), HaveKeyWithValue("kubernetes.io/hostname", "node-1")))
	g.Expect(node.Status.Addresses).To(ConsistOf(
		corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "127.9.0.1"},
		corev1.NodeAddress{Type: corev1.NodeHostName, Address: "node-1"}))
	g.Expect(node.Status.NodeInfo.KubeletVersion).To(Equal("v1.36.3"))
	g.Expect(node.Status.Conditions).To(BeEmpty(), "KWOK makes it Ready")
}

func TestRegister_leavesTheSpecOfAnExistingNode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	client := fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
		Spec:       corev1.NodeSpec{ProviderID: "cloud://older"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}},
	})
	node, err := register(t.Context(), client, machine())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(node.Spec.ProviderID).To(Equal("cloud://older"))
	g.Expect(node.Status.Addresses).To(HaveLen(2))
	g.Expect(node.Status.Conditions).To(HaveLen(1))
}

func TestCreateMirror_makesWhatAdmissionAcceptsFromAKubelet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	client := fake.NewClientset()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "u"}}
	static := etcdPod()
	g.Expect(createMirror(t.Context(), client, node, &static)).To(Succeed())
	g.Expect(createMirror(t.Context(), client, node, &static)).To(Succeed(), "also when it exists")

	pod, err := client.CoreV1().Pods("kube-system").Get(t.Context(), "etcd-node-1", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pod.Spec.NodeName).To(Equal("node-1"))
	g.Expect(pod.Annotations).To(HaveKey(corev1.MirrorPodAnnotationKey))
	g.Expect(pod.OwnerReferences).To(HaveLen(1))
	g.Expect(string(pod.OwnerReferences[0].UID)).To(Equal("u"))
}

// The API server's admission looks a Node up in a cache, which may not have it yet.
func TestCreateMirror_goesOnUntilTheAPIServerKnowsTheNode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	client := fake.NewClientset()
	refusals := 0
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		refusals++
		return refusals <= 2, nil, apierrors.NewForbidden(corev1.Resource("pods"), "etcd-node-1", errors.New("node \"node-1\" not found"))
	})
	static := etcdPod()
	g.Expect(createMirror(t.Context(), client, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, &static)).To(Succeed())
	g.Expect(refusals).To(Equal(3))
}

func TestPortForwards_leadToTheMachinesOwnPorts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	documents, err := portForwards(Config{
		Registration: machine(),
		StaticPods:   []corev1.Pod{etcdPod(), {ObjectMeta: metav1.ObjectMeta{Name: "without-port"}}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(documents)).To(Equal(`---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: PortForward
metadata:
  name: etcd-node-1
  namespace: kube-system
spec:
  forwards:
  - ports:
    - 2379
    target:
      address: 127.9.0.1
      port: 2379
`))
}
