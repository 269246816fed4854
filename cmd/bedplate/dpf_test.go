//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
	"github.com/bedplate/bedplate/internal/testenv"
)

const dpfFile = `
apiVersion: operator.dpu.nvidia.com/v1alpha1
kind: DPFOperatorConfig
metadata: {name: dpfoperatorconfig, namespace: dpf-operator-system}
spec:
  bfbPersistentVolume: volume-one
  hostNetworkConfiguration:
    hostPF0: ens2f0np0
    hostPF0VF0: enp23s0f0v0
    CIDR: 10.0.96.0/20
    hosts:
      - {hostClusterNodeName: ocp-worker-1, dpuClusterNodeName: dpu-worker-1, hostIP: 10.0.96.10/24, dpuIP: 10.0.96.20/24, gateway: 10.0.96.254}
      - {hostClusterNodeName: ocp-worker-2, dpuClusterNodeName: dpu-worker-2, hostIP: 10.0.97.10/24, dpuIP: 10.0.97.20/24, gateway: 10.0.97.254}
`

// dpfEnds is an OpenShift cluster, as far as the commands see it, behind a wire. It is its own DPU cluster, too.
type dpfEnds struct {
	*WithT
	t *testing.T
	client.Client
	wire       *wire
	kubeconfig string
}

func startDPF(t *testing.T) *dpfEnds {
	t.Helper()
	e := &dpfEnds{WithT: NewWithT(t), t: t}
	server := testenv.Another(t, "dpf/crd/bases")
	testenv.AddCRDs(t, server.Config, testenv.ClusterVersion(t), "testdata/cert-manager.yaml")
	kamaji.Install(t, server.Config)
	scheme := runtime.NewScheme()
	all := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, configv1.Install, operatorv1.AddToScheme, svcv1.AddToScheme)
	e.Expect(all.AddToScheme(scheme)).To(Succeed())
	var err error
	e.Client, err = client.New(server.Config, client.Options{Scheme: scheme})
	e.Expect(err).NotTo(HaveOccurred())
	transport, err := rest.TransportFor(server.Config)
	e.Expect(err).NotTo(HaveOccurred())
	e.wire, e.kubeconfig = newWire(t, server.Config.Host, transport), filepath.Join(t.TempDir(), "kubeconfig")
	e.Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"test": {Server: e.wire.url}},
		Contexts: map[string]*clientcmdapi.Context{"test": {Cluster: "test", Namespace: operatorv1.Namespace}}, CurrentContext: "test",
	}, e.kubeconfig)).To(Succeed())
	for _, o := range openShift() {
		e.Expect(e.Create(t.Context(), o)).To(Succeed())
	}
	kamaji.Kubeconfig(t, e.Client, operatorv1.Namespace, "a", server.Kubeconfig)
	e.Expect(e.Create(t.Context(), &corev1.Secret{ // no TenantControlPlane controls it: its nodes don't count
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: dpucluster.SecretName("b"), Labels: dpucluster.SecretLabels("b")},
		Data:       map[string][]byte{dpucluster.KubeconfigKey: server.Kubeconfig},
	})).To(Succeed())
	return e
}

// openShift is what the plan looks at.
func openShift() (all []client.Object) {
	const ovn, network = "openshift-ovn-kubernetes", "openshift-network-operator"
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	for _, name := range []string{operatorv1.Namespace, ovn, network} {
		all = append(all, &corev1.Namespace{ObjectMeta: in("", name)})
	}
	for _, name := range []string{"ocp-worker-1", "ocp-worker-2", "dpu-worker-1", "dpu-worker-2"} {
		node := &corev1.Node{ObjectMeta: in("", name)}
		if strings.HasPrefix(name, "ocp") {
			node.Labels = map[string]string{operatorv1.DPUEnabledLabel: "true"}
			node.Annotations = map[string]string{operatorv1.ChassisIDAnnotation: name}
		}
		all = append(all, node)
	}
	labels := map[string]string{"app": "ovnkube-node"}
	volume := func(name string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
	}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "ovnkube-controller", Image: "ovn:1"}},
		Volumes:    []corev1.Volume{volume("ovnkube-config"), volume("ovnkube-script-lib")},
	}}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	return append(all,
		&configv1.ClusterVersion{ObjectMeta: in("", "version"), Spec: configv1.ClusterVersionSpec{ClusterID: "5d0d8f2e-6d0c-4d3c-9f0c-3f4a1b2c3d4e"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: in("", "network-node-identity.openshift.io")},
		&appsv1.Deployment{ObjectMeta: in(network, "network-operator"), Spec: appsv1.DeploymentSpec{Selector: selector, Template: pod}},
		&appsv1.DaemonSet{ObjectMeta: in(ovn, "ovnkube-node"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pod}},
		&corev1.ConfigMap{ObjectMeta: in(ovn, "ovnkube-config"), Data: map[string]string{"ovnkube.conf": "[default]\n[gateway]\n"}},
		&corev1.ConfigMap{ObjectMeta: in(ovn, "ovnkube-script-lib"), Data: map[string]string{
			"ovnkube-lib.sh": "unix:${vswitch_dbsock} ${OVNKUBE_NODE_MGMT_PORT_NETDEV}"}},
		&corev1.ConfigMap{ObjectMeta: in("kube-system", "cluster-config-v1"), Data: map[string]string{
			"install-config": "networking: {machineNetwork: [{cidr: 192.0.2.0/24}]}"}},
	)
}

func (e *dpfEnds) run(stdin string, args ...string) (string, error) {
	e.t.Helper()
	return runWith(e.t, catalogue{bmmSystem, dpfSystem}, strings.NewReader(stdin), append(args, "--kubeconfig", e.kubeconfig)...)
}

// The plan has what is missing, each component, and the move node by node. Nothing is written, neither here nor in a DPU cluster.
func TestDPF_isPlannedAndDescribed(t *testing.T) {
	t.Parallel()
	e := startDPF(t)
	out, err := e.run(dpfFile, "plan", "-f", "-", loopback)
	e.Expect(err).To(MatchError(ContainSubstring("steps of the plan can't be done")), out)
	golden(e, "plan-dpf", out)
	e.Expect(e.wire.written()).To(BeEmpty())

	without, _, _ := strings.Cut(dpfFile, "  hostNetworkConfiguration:")
	out, err = e.run(without, "plan", "-f", "-", loopback)
	e.Expect(err).To(HaveOccurred())
	e.Expect(out).To(And(ContainSubstring("dpf-dpuservice-controller"), Not(ContainSubstring("hostnetworkprovisioner")), Not(ContainSubstring("Node ocp"))))

	_, err = e.run(strings.ReplaceAll(dpfFile, "10.0.97.254", "10.0.98.254"), "plan", "-f", "-", loopback)
	e.Expect(err).To(MatchError(ContainSubstring("the gateway must be in the network of hostIP")))
	e.Expect(e.wire.written()).To(BeEmpty())
	e.describes()
}

func (e *dpfEnds) describes() {
	e.t.Helper()
	_, err := e.run("", "describe", "dpf", "dpfoperatorconfig")
	e.Expect(err).To(MatchError(ContainSubstring("not found")))
	config := &operatorv1.DPFOperatorConfig{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: operatorv1.Name},
		Spec: operatorv1.DPFOperatorConfigSpec{BFBPersistentVolume: "volume-one", HostNetworkConfiguration: &operatorv1.HostNetworkConfiguration{
			HostPF0: "p0", HostPF0VF0: "v0", CIDR: "10.0.96.0/20", Hosts: []operatorv1.Host{{HostClusterNodeName: "ocp-worker-1",
				DPUClusterNodeName: "dpu-worker-1", HostIP: "10.0.96.10/24", DPUIP: "10.0.96.20/24", Gateway: "10.0.96.254"}},
		}}}
	e.Expect(e.Create(e.t.Context(), config)).To(Succeed())
	ago := metav1.NewTime(time.Now().Add(-30 * 24 * time.Hour))
	config.Status = operatorv1.DPFOperatorConfigStatus{
		Conditions: []metav1.Condition{
			{Type: operatorv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: operatorv1.ReasonFailure, LastTransitionTime: ago},
			{Type: operatorv1.HostNetworkConfiguredCondition, Status: metav1.ConditionFalse, Reason: operatorv1.ReasonFailure,
				LastTransitionTime: ago, Message: "node ocp-worker-2 failed"},
		},
		Nodes: []operatorv1.NodeStatus{
			{Name: "ocp-worker-1", Phase: operatorv1.NodeReady, Since: &ago},
			{Name: "ocp-worker-2", Phase: operatorv1.NodeFailed, Since: &ago, Message: "Switching for longer than 15m0s"},
		},
		DPUClusters: []operatorv1.DPUClusterStatus{{Namespace: "dpus", Name: "a", Message: "its API server doesn't answer in time"}},
	}
	e.Expect(e.Status().Update(e.t.Context(), config)).To(Succeed())
	labels := map[string]string{"a": "b"}
	e.Expect(e.Create(e.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: "dpf-dpuservice-controller", Labels: components.Members},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}},
	})).To(Succeed())

	out, err := e.run("", "describe", "dpf", "dpfoperatorconfig")
	e.Expect(err).NotTo(HaveOccurred())
	golden(e, "describe-dpf", out)
	e.Expect(e.wire.written()).To(BeEmpty())
}
