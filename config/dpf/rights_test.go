package dpf_test

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
	"github.com/bedplate/bedplate/internal/dpf/operator"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

const ovn = "openshift-ovn-kubernetes"

// controllerStarts with these rights: all caches are filled, and it says what is missing.
func controllerStarts(t *testing.T, config *rest.Config) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(operator.AddToScheme(scheme)).To(Succeed())
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: operator.Cached()},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(operator.Setup(mgr, operator.Config{
		Release: components.Release{Registry: components.DefaultRegistry, Charts: components.DefaultCharts, Version: "v1.2.3"},
		Egress:  egress.Policy{Loopback: true}, Poll: time.Second,
	}, controller.Options{NewQueue: queue.New[reconcile.Request]})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop := func() { cancel(); g.Expect(<-ended).To(Succeed()) }
	defer stop()

	c := network()
	c.UID = ""
	admin := testenv.Client(t)
	g.Expect(admin.Create(t.Context(), c)).To(Succeed())
	condition := func(kind string) func() string {
		return func() string {
			g.Expect(client.IgnoreNotFound(admin.Get(t.Context(), client.ObjectKeyFromObject(c), c))).To(Succeed())
			if found := meta.FindStatusCondition(c.Status.Conditions, kind); found != nil {
				return found.Message
			}
			return ""
		}
	}
	g.Eventually(condition(operatorv1.ReadyCondition), "1m").Should(HavePrefix("PrerequisitesMet: "))
	g.Expect(condition(operatorv1.PrerequisitesMetCondition)()).NotTo(ContainSubstring("it isn't known"))
	g.Expect(condition(operatorv1.HostNetworkConfiguredCondition)()).To(Equal("it waits for the prerequisites"))
	g.Expect(admin.Delete(t.Context(), c)).To(Succeed())
	g.Eventually(func() *operatorv1.DPFOperatorConfig {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(c), c); apierrors.IsNotFound(err) {
			return nil
		}
		return c
	}, "1m").Should(BeNil())
}

// networkMoves with these rights, and back.
func networkMoves(t *testing.T, config *rest.Config) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(operator.AddToScheme(scheme)).To(Succeed())
	mine, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	admin := testenv.Client(t, operator.AddToScheme)
	for _, o := range ocp() {
		g.Expect(admin.Create(t.Context(), o)).To(Succeed())
	}
	move := hostnetwork.Move{
		Client: mine, Uncached: mine, Now: time.Now,
		DPUSide: func(context.Context, operatorv1.Host) (hostnetwork.Readiness, error) {
			return hostnetwork.Readiness{Ready: true}, nil
		},
		Provisioner: hostnetwork.Pods{Namespace: operatorv1.Namespace, Labels: map[string]string{"app.kubernetes.io/name": components.HostNetworkProvisioner}},
		CleanUp:     hostnetwork.Pods{Namespace: operatorv1.Namespace, Labels: map[string]string{"app.kubernetes.io/name": components.HostNetworkCleanUp}},
	}
	c := network()
	until := func() {
		g.Eventually(func() string {
			others(g, admin)
			result, err := move.Reconcile(t.Context(), c, time.Now())
			g.Expect(err).NotTo(HaveOccurred())
			if result.Done {
				return "done"
			}
			return result.Condition.Message
		}, "2m", "1ms").Should(Equal("done"))
	}
	until()
	left, err := move.Left(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(HaveLen(5), "%s", left)
	now := metav1.Now()
	c.DeletionTimestamp = &now
	until()
	left, err = move.Left(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(BeEmpty())
}

func network() *operatorv1.DPFOperatorConfig {
	c := &operatorv1.DPFOperatorConfig{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: operatorv1.Name, UID: "a"}}
	c.Spec.BFBPersistentVolume, c.Spec.ImagePullSecrets = "volume-one", []string{"ngc"}
	c.Spec.HostNetworkConfiguration = &operatorv1.HostNetworkConfiguration{HostPF0: "ens2f0np0", HostPF0VF0: "ens2f0v0", CIDR: "10.0.96.0/20",
		Hosts: []operatorv1.Host{{HostClusterNodeName: "ocp-worker-1", DPUClusterNodeName: "dpu-worker-1",
			HostIP: "10.0.96.10/24", DPUIP: "10.0.96.20/24", Gateway: "10.0.96.254"}}}
	return c
}

// ocp is a cluster with one worker, as far as the move sees it.
func ocp() []client.Object {
	labels := map[string]string{"app": "ovnkube-node"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	pod := func(container string) corev1.PodTemplateSpec {
		p := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
		p.Spec.Containers = []corev1.Container{{Name: container, Image: "quay.io/openshift/a:1"}}
		for _, name := range []string{"ovnkube-config", "ovnkube-script-lib"} {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}})
		}
		return p
	}
	data := func(name, key, text string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ovn, Name: name}, Data: map[string]string{key: text}}
	}
	return []client.Object{
		&configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"}, Spec: configv1.ClusterVersionSpec{ClusterID: "a"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-network-operator", Name: "network-operator"},
			Spec: appsv1.DeploymentSpec{Selector: selector, Template: pod("network-operator")}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: ovn, Name: "ovnkube-node"},
			Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pod("ovnkube-controller")}},
		data("ovnkube-config", "ovnkube.conf", "[default]\nmtu=\"1400\"\n\n[gateway]\nmode=shared\n"),
		data("ovnkube-script-lib", "ovnkube-lib.sh", strings.Join([]string{
			`vswitch_dbsock="/var/run/openvswitch/db.sock"`, "exec ovn-controller unix:${vswitch_dbsock} -vfile:off",
			`if [[ -n "${OVNKUBE_NODE_MGMT_PORT_NETDEV}" ]] ; then`,
			`  node_mgmt_port_netdev_flags="--ovnkube-node-mgmt-port-netdev ${OVNKUBE_NODE_MGMT_PORT_NETDEV}"`, "fi", ""}, "\n")),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ocp-worker-1", Labels: map[string]string{operatorv1.DPUEnabledLabel: "true"},
			Annotations: map[string]string{operatorv1.ChassisIDAnnotation: "a"}}},
	}
}

// others are the controllers of workloads and the kubelet, which have done their work.
func others(g Gomega, c client.Client) {
	ctx := context.Background()
	operator := &appsv1.Deployment{}
	g.Expect(c.Get(ctx, client.ObjectKey{Namespace: "openshift-network-operator", Name: "network-operator"}, operator)).To(Succeed())
	operator.Status = appsv1.DeploymentStatus{ObservedGeneration: operator.Generation, Replicas: *operator.Spec.Replicas}
	g.Expect(c.Status().Update(ctx, operator)).To(Succeed())
	stock := &appsv1.DaemonSet{}
	g.Expect(c.Get(ctx, client.ObjectKey{Namespace: ovn, Name: "ovnkube-node"}, stock)).To(Succeed())
	stock.Status.ObservedGeneration = stock.Generation
	g.Expect(c.Status().Update(ctx, stock)).To(Succeed())

	node := &corev1.Node{}
	g.Expect(c.Get(ctx, client.ObjectKey{Name: "ocp-worker-1"}, node)).To(Succeed())
	_, moved := node.Labels[operatorv1.NetworkMovedLabel]
	_, switched := node.Labels[operatorv1.NetworkPreconfigReadyLabel]
	runs(g, c, ovn, "app", "ovnkube-node", !moved)
	runs(g, c, ovn, "app", "ovnkube-node-dpf", switched)
	_, cleanUp := node.Labels[operatorv1.NetworkCleanUpLabel]
	runs(g, c, operatorv1.Namespace, "app.kubernetes.io/name", components.HostNetworkProvisioner, moved && !cleanUp)
	runs(g, c, operatorv1.Namespace, "app.kubernetes.io/name", components.HostNetworkCleanUp, cleanUp)
}

func runs(g Gomega, c client.Client, namespace, label, name string, wanted bool) {
	ctx := context.Background()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{label: name}}}
	err := c.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	g.Expect(client.IgnoreNotFound(err)).To(Succeed())
	switch there := err == nil; {
	case there && !wanted:
		g.Expect(c.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
	case !there && wanted:
		pod.Spec = corev1.PodSpec{NodeName: "ocp-worker-1", Containers: []corev1.Container{{Name: "a", Image: "a"}}}
		g.Expect(c.Create(ctx, pod)).To(Succeed())
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		g.Expect(c.Status().Update(ctx, pod)).To(Succeed())
	}
}
