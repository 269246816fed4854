package hostnetwork_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
)

const (
	ovnNamespace = "openshift-ovn-kubernetes"
	netNamespace = "openshift-network-operator"
	provisioner  = "host-network-provisioner"
	cleanUp      = provisioner + "-clean-up"
)

// scheme is small: a fake client goes through all of it in each write.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Node{}, &corev1.NodeList{}, &corev1.Pod{}, &corev1.PodList{},
		&corev1.ConfigMap{}, &corev1.ConfigMapList{}, &corev1.Namespace{})
	s.AddKnownTypes(appsv1.SchemeGroupVersion, &appsv1.DaemonSet{}, &appsv1.DaemonSetList{}, &appsv1.Deployment{}, &appsv1.DeploymentList{})
	s.AddKnownTypes(admissionregistrationv1.SchemeGroupVersion,
		&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfigurationList{})
	s.AddKnownTypes(configv1.GroupVersion, &configv1.ClusterVersion{}, &configv1.ClusterVersionList{})
	for _, version := range []schema.GroupVersion{
		corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, admissionregistrationv1.SchemeGroupVersion, configv1.GroupVersion,
	} {
		metav1.AddToGroupVersion(s, version)
	}
	return s
}

func worker(name string, dpu bool) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"kubernetes.io/hostname": name},
			Annotations: map[string]string{operatorv1.ChassisIDAnnotation: "chassis-" + name, "example.com/kept": "as it is"},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "example.com/tenant", Value: "a", Effect: corev1.TaintEffectNoSchedule}}},
	}
	node.Status.Capacity = corev1.ResourceList{
		"cpu": resource.MustParse("8"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110"),
	}
	node.Status.Allocatable = node.Status.Capacity
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	if dpu {
		node.Labels[operatorv1.DPUEnabledLabel] = "true"
	}
	return node
}

func daemonSet(namespace, name string, pod corev1.PodSpec) *appsv1.DaemonSet {
	labels := map[string]string{"app": name}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)}, Spec: pod},
		},
	}
}

// stock is ovnkube-node as OpenShift has it, as far as it matters.
func stock() *appsv1.DaemonSet {
	volume := func(name string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		}}
	}
	return daemonSet(ovnNamespace, "ovnkube-node", corev1.PodSpec{
		HostNetwork: true, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "network.operator.openshift.io/dpu-host", Operator: corev1.NodeSelectorOpDoesNotExist},
			}}},
		}}},
		Containers: []corev1.Container{
			{Name: "ovn-controller", Image: "quay.io/openshift/ovn:1"},
			{Name: "kube-rbac-proxy-node", Image: "quay.io/openshift/proxy:1"},
			{Name: "ovnkube-controller", Image: "quay.io/openshift/ovn:1", Env: []corev1.EnvVar{{Name: "OVN_KUBE_LOG_LEVEL", Value: "4"}}},
		},
		Volumes: []corev1.Volume{volume("ovnkube-config"), volume("ovnkube-script-lib"), volume("env-overrides")},
	})
}

const script = `#!/bin/bash
vswitch_dbsock="/var/run/openvswitch/db.sock"
exec ovn-controller unix:${vswitch_dbsock} -vfile:off
if [[ -n "${OVNKUBE_NODE_MGMT_PORT_NETDEV}" ]] ; then
  node_mgmt_port_netdev_flags="--ovnkube-node-mgmt-port-netdev ${OVNKUBE_NODE_MGMT_PORT_NETDEV}"
fi
`

const conf = `[default]
mtu="1400"
cluster-subnets="10.128.0.0/14/23"

[gateway]
mode=shared
nodeport=true
`

func configMap(name, key, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ovnNamespace, Name: name}, Data: map[string]string{key: text}}
}

// ocp is what is there before: three workers with DPUs, and two without.
func ocp() []client.Object {
	labels := map[string]string{"name": "network-operator"}
	objects := []client.Object{
		&configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version", UID: "uid-version"}, Spec: configv1.ClusterVersionSpec{
			ClusterID: "11111111-2222-3333-4444-555555555555",
			Overrides: []configv1.ComponentOverride{{Kind: "Deployment", Group: "apps", Namespace: "a", Name: "of-a-user", Unmanaged: true}},
		}},
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: netNamespace, Name: "network-operator"},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
					Containers:  []corev1.Container{{Name: "network-operator", Image: "quay.io/openshift/cno:1"}},
					Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				}},
			},
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "network-node-identity.openshift.io", UID: "uid-webhook", Labels: map[string]string{"a": "b"}},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "node.network-node-identity.openshift.io", AdmissionReviewVersions: []string{"v1"},
				ClientConfig:  admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:9743/node")},
				SideEffects:   ptr.To(admissionregistrationv1.SideEffectClassNone),
				FailurePolicy: ptr.To(admissionregistrationv1.Ignore),
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"x.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"xs"}},
				}},
			}},
		},
		stock(),
		configMap("ovnkube-config", "ovnkube.conf", conf),
		configMap("ovnkube-script-lib", "ovnkube-lib.sh", script),
		daemonSet(operatorv1.Namespace, provisioner, corev1.PodSpec{
			HostNetwork: true, NodeSelector: map[string]string{operatorv1.NetworkMovedLabel: ""},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "provisioner", Image: "localhost:5000/provisioner"}},
		}),
	}
	for _, name := range []string{"ocp-worker-1", "ocp-worker-2", "ocp-worker-3"} {
		objects = append(objects, worker(name, true))
	}
	return append(objects, worker("ocp-plain-1", false), worker("ocp-plain-2", false),
		daemonSet(operatorv1.Namespace, cleanUp, corev1.PodSpec{
			HostNetwork: true, NodeSelector: map[string]string{operatorv1.NetworkCleanUpLabel: ""},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "provisioner", Image: "localhost:5000/provisioner"}},
		}))
}

func config(hosts ...string) *operatorv1.DPFOperatorConfig {
	c := &operatorv1.DPFOperatorConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: operatorv1.Name, Generation: 1},
		Spec: operatorv1.DPFOperatorConfigSpec{HostNetworkConfiguration: &operatorv1.HostNetworkConfiguration{
			HostPF0: "ens2f0np0", HostPF0VF0: "enp23s0f0v0", CIDR: "10.0.96.0/20", MaxUnavailable: 1,
			NodeTimeout: metav1.Duration{Duration: 15 * time.Minute},
		}},
	}
	for _, host := range hosts {
		c.Spec.HostNetworkConfiguration.Hosts = append(c.Spec.HostNetworkConfiguration.Hosts, operatorv1.Host{
			HostClusterNodeName: operatorv1.NodeName(host), DPUClusterNodeName: operatorv1.NodeName("dpu-" + host),
		})
	}
	return c
}

var workers = []string{"ocp-worker-1", "ocp-worker-2", "ocp-worker-3"}

// world is a host cluster in memory, whose DaemonSets and Deployments do as they should between two reconciles.
type world struct {
	client.WithWatch
	t       *testing.T
	g       *WithT
	now     time.Time
	awake   time.Time
	config  *operatorv1.DPFOperatorConfig
	dpuSide func(operatorv1.Host) (hostnetwork.Readiness, error)
	broken  map[string]bool // nodes on which the Pods of the copy don't get ready
	unclean map[string]bool // nodes on which those of the clean-up don't
	writes  atomic.Int64
	fail    func(write int64, verb string) (before, after bool)
	log     []string // of the writes
	between func()   // two reconciles
	// patience is how long a condition is waited for at least: other programs have their part in it.
	patience time.Duration
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	g := NewWithT(t)
	if objects == nil {
		objects = ocp()
	}
	w := &world{t: t, g: g, now: time.Unix(1_800_000_000, 0), config: config(workers...), broken: map[string]bool{}}
	w.dpuSide = dpuReady
	w.between = func() {
		w.settle()
		w.now = w.now.Add(time.Second)
	}
	known := scheme()
	// It has no managed fields, which take long.
	tracker := clienttesting.NewObjectTracker(known, serializer.NewCodecFactory(known).UniversalDecoder())
	w.WithWatch = fake.NewClientBuilder().WithScheme(known).WithObjectTracker(tracker).WithObjects(objects...).Build()
	return w
}

func dpuReady(operatorv1.Host) (hostnetwork.Readiness, error) {
	return hostnetwork.Readiness{Ready: true}, nil
}

var errKilled = errors.New("killed")

// client counts the writes, and fails as the test wants it.
func (w *world) client() client.Client {
	write := func(verb string, object client.Object, do func() error) error {
		n := w.writes.Add(1)
		before, after := false, false
		if w.fail != nil {
			before, after = w.fail(n, verb)
		}
		if before {
			return errKilled
		}
		err := do()
		if err == nil {
			w.log = append(w.log, verb+" "+object.GetName())
		}
		if err == nil && after {
			return errKilled
		}
		return err
	}
	return interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
	})
}

func (w *world) move() hostnetwork.Move {
	return hostnetwork.Move{
		Client: w.client(), Uncached: w.WithWatch, Now: func() time.Time { return w.now },
		DPUSide: func(_ context.Context, host operatorv1.Host) (hostnetwork.Readiness, error) { return w.dpuSide(host) },
		Provisioner: hostnetwork.Pods{
			Namespace: operatorv1.Namespace, Labels: map[string]string{"app": provisioner},
		},
		CleanUp: hostnetwork.Pods{Namespace: operatorv1.Namespace, Labels: map[string]string{"app": cleanUp}},
	}
}

func (w *world) reconcile() (hostnetwork.Result, error) {
	w.between()
	return w.move().Reconcile(w.t.Context(), w.config, w.awake)
}

// until the result is as it should be; errors are tried again, as a controller does.
func (w *world) until(what string, holds func(hostnetwork.Result) bool) hostnetwork.Result {
	w.t.Helper()
	var last hostnetwork.Result
	var err error
	begun := time.Now()
	for n := 0; n < 600 || time.Since(begun) < w.patience; n++ {
		last, err = w.reconcile()
		if err == nil && holds(last) {
			return last
		}
	}
	w.t.Fatalf("%s: never; the last condition is %+v, the last error %v", what, last.Condition, err)
	return last
}

func done(r hostnetwork.Result) bool { return r.Done }

// settle does what the controllers of DaemonSets and Deployments and the kubelets do.
func (w *world) settle() {
	ctx := w.t.Context()
	var operator appsv1.Deployment
	err := w.Get(ctx, client.ObjectKey{Namespace: netNamespace, Name: "network-operator"}, &operator)
	if err == nil && operator.Status.Replicas != *operator.Spec.Replicas {
		operator.Status.Replicas = *operator.Spec.Replicas
		w.g.Expect(w.Update(ctx, &operator)).To(Succeed())
	}
	var sets appsv1.DaemonSetList
	w.g.Expect(w.List(ctx, &sets)).To(Succeed())
	var nodes corev1.NodeList
	w.g.Expect(w.List(ctx, &nodes)).To(Succeed())
	var pods corev1.PodList
	w.g.Expect(w.List(ctx, &pods)).To(Succeed())
	wanted := map[string]*corev1.Pod{}
	for i := range sets.Items {
		for j := range nodes.Items {
			if pod := w.podOf(&sets.Items[i], &nodes.Items[j]); pod != nil {
				wanted[pod.Name] = pod
			}
		}
	}
	for i := range pods.Items {
		if wanted[pods.Items[i].Name] == nil {
			w.g.Expect(w.Delete(ctx, &pods.Items[i])).To(Succeed())
		}
		delete(wanted, pods.Items[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		w.g.Expect(w.Create(ctx, wanted[name])).To(Succeed())
	}
}

func (w *world) podOf(set *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod {
	for key, value := range set.Spec.Template.Spec.NodeSelector {
		if had, has := node.Labels[key]; !has || had != value {
			return nil
		}
	}
	_, moved := node.Labels[operatorv1.NetworkMovedLabel]
	if moved && strings.Contains(asJSON(set.Spec.Template.Spec.Affinity), operatorv1.NetworkMovedLabel) {
		return nil
	}
	for i := range node.Spec.Taints {
		if !slices.ContainsFunc(set.Spec.Template.Spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Key == node.Spec.Taints[i].Key && t.Effect == node.Spec.Taints[i].Effect || t.Key == "" && t.Effect == ""
		}) {
			return nil
		}
	}
	ready := corev1.ConditionTrue
	if w.broken[node.Name] && set.Name == "ovnkube-node-dpf" || w.unclean[node.Name] && set.Name == cleanUp {
		ready = corev1.ConditionFalse
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name + "-on-" + node.Name, Labels: set.Spec.Template.Labels},
		Spec:       corev1.PodSpec{NodeName: node.Name},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
