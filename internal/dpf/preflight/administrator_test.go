package preflight_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// step of an administrator, and what is then said of a prerequisite.
type step struct {
	does      string
	do        func(*testing.T, client.Client)
	row, says string
}

const (
	namespace = operatorv1.Namespace
	noArgoCD  = "there is no Deployment with app.kubernetes.io/component=repo-server,app.kubernetes.io/part-of=argocd in dpf-operator-system, " +
		"there is no Deployment with app.kubernetes.io/component=application-controller,app.kubernetes.io/part-of=argocd in dpf-operator-system"
)

var administrator = []step{
	{"a ClusterVersion", both(kind("config.openshift.io/v1", "ClusterVersion"), object(`
apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version}
spec: {clusterID: a, overrides: [{group: apps, kind: Deployment, namespace: a, name: b, unmanaged: true}]}
status: {conditions: [{type: Available, status: "False"}, {type: Failing, status: "True"}]}`)), "OCP cluster", "ClusterVersion version isn't Available"},
	{"an available cluster", change("config.openshift.io/v1", "ClusterVersion", "version", `
status: {conditions: [{type: Available, status: "True"}, {type: Failing, status: "True"}]}`), "OCP cluster", ""},
	{"a failing upgrade", nothing, "clean OCP cluster", "ClusterVersion version is Failing, ClusterVersion version has an override for Deployment a/b"},
	{"our override", change("config.openshift.io/v1", "ClusterVersion", "version", `
spec: {overrides: [{group: apps, kind: Deployment, namespace: openshift-network-operator, name: network-operator, unmanaged: true}]}
status: {conditions: [{type: Available, status: "True"}]}`), "clean OCP cluster", ""},

	{"a network-operator", deployment("openshift-network-operator", "network-operator", nil), "ovn-kubernetes",
		"DaemonSet openshift-ovn-kubernetes/ovnkube-node doesn't exist, ConfigMap openshift-ovn-kubernetes/ovnkube-config doesn't exist, " +
			"ConfigMap openshift-ovn-kubernetes/ovnkube-script-lib doesn't exist"},
	{"another ovnkube-node", both(daemonSet("other"), configMap("openshift-ovn-kubernetes", "ovnkube-config", "", ""),
		configMap("openshift-ovn-kubernetes", "ovnkube-script-lib", "ovnkube-lib.sh", "true")), "ovn-kubernetes",
		"DaemonSet openshift-ovn-kubernetes/ovnkube-node has no container ovnkube-controller, ConfigMap openshift-ovn-kubernetes/ovnkube-config has no ovnkube.conf"},
	{"ovnkube-node of an older release", daemonSet("ovnkube-node"), "ovn-kubernetes",
		"DaemonSet openshift-ovn-kubernetes/ovnkube-node has no container ovnkube-controller, ConfigMap openshift-ovn-kubernetes/ovnkube-config has no ovnkube.conf"},
	{"ovn-kubernetes", both(daemonSet("ovnkube-controller"), configMap("openshift-ovn-kubernetes", "ovnkube-config", "ovnkube.conf", "[default]")),
		"ovn-kubernetes", ""},

	{"nodes", both(node("ocp-worker-1", "192.0.2.1"), node("ocp-worker-2", "198.51.100.2")), "hosts", ""},
	{"an unknown installer", configMap("kube-system", "cluster-config-v1", "install-config", "networking: {}"), "topology",
		"install-config of ConfigMap kube-system/cluster-config-v1 has no machineNetwork"},
	{"an installation", configMap("kube-system", "cluster-config-v1", "install-config", `
networking:
  machineNetwork: [{cidr: 192.0.2.0/24}]
  clusterNetwork: [{cidr: 10.0.0.0/14, hostPrefix: 23}]
  serviceNetwork: [172.30.0.0/16]`), "topology", "node ocp-worker-2 has no InternalIP in [192.0.2.0/24]"},
	{"overlapping ranges", nothing, "separate ranges", "CIDR 10.0.96.0/20 overlaps clusterNetwork 10.0.0.0/14"},
	{"an old installation", configMap("kube-system", "cluster-config-v1", "install-config", "networking: {machineCIDR: 192.0.2.0/24}"), "separate ranges", ""},
	{"another address", node("ocp-worker-2", "192.0.2.2"), "topology", ""},
	{"no labels", nothing, "detection of DPUs", "no node has the label feature.node.kubernetes.io/dpu-enabled=true"},
	{"labels", both(label("ocp-worker-1"), node("ocp-worker-3", "192.0.2.3"), label("ocp-worker-3")), "detection of DPUs", ""},
	{"a host without a DPU", nothing, "a DPU in each host", "node ocp-worker-2 doesn't have the label feature.node.kubernetes.io/dpu-enabled=true"},
	{"all labels", label("ocp-worker-2"), "a DPU in each host", ""},
	{"a host without an entry", nothing, "an entry for each host", "node ocp-worker-3 has no entry"},
	{"it is gone", remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ocp-worker-3"}}), "an entry for each host", ""},

	{"Argo CD's kinds", both(kind("argoproj.io/v1alpha1", "Application"), kind("argoproj.io/v1alpha1", "AppProject")), "Argo CD", noArgoCD},
	{"Argo CD elsewhere", argoCD("argocd"), "Argo CD", noArgoCD},
	{"Argo CD", argoCD(namespace), "Argo CD", ""},

	{"Kamaji's kind", kind("kamaji.clastix.io/v1alpha1", "TenantControlPlane"), "Kamaji", "there is no Deployment with app.kubernetes.io/name=kamaji"},
	{"Kamaji", deployment("kamaji-system", "kamaji", map[string]string{"app.kubernetes.io/name": "kamaji"}), "Kamaji", ""},
	{"no TenantControlPlane", nothing, "a TenantControlPlane", "there is no TenantControlPlane"},
	{"a TenantControlPlane", both(inNamespace("dpus"), object(`
apiVersion: kamaji.clastix.io/v1alpha1
kind: TenantControlPlane
metadata: {name: a, namespace: dpus}
spec: {controlPlane: {service: {serviceType: NodePort}}}
status: {kubernetesResources: {version: {status: Provisioning}}}`)), "a TenantControlPlane", `TenantControlPlane dpus/a is "Provisioning"`},
	{"no connection", nothing, "connection of the TenantControlPlane",
		`TenantControlPlane dpus/a has a Service of type "NodePort", TenantControlPlane dpus/a has no endpoint`},
	{"a connection", change("kamaji.clastix.io/v1alpha1", "TenantControlPlane", "dpus/a", `
spec: {controlPlane: {service: {serviceType: LoadBalancer}}}
status: {controlPlaneEndpoint: "192.0.2.9:6443", kubernetesResources: {version: {status: Ready}}}`), "connection of the TenantControlPlane", ""},
	{"a ready TenantControlPlane", nothing, "a TenantControlPlane", ""},

	{"a volume of another claim", volume("volume-one", "other", corev1.ReadWriteOnce), "volume for provisioning",
		"PersistentVolume volume-one doesn't have the access mode ReadOnlyMany, PersistentVolume volume-one belongs to the claim dpf-operator-system/other"},
	{"no other volumes", nothing, "volumes for Kamaji", "there is no StorageClass, and no PersistentVolume besides bfbPersistentVolume"},
	{"other volumes", volume("volume-two", "other", corev1.ReadWriteOnce), "volumes for Kamaji", ""},
	{"the volume", both(removeVolume("volume-one"), volume("volume-one", "bfb-pvc", corev1.ReadWriteOnce, corev1.ReadOnlyMany)), "volume for provisioning", ""},

	{"another Secret", secret("ngc", corev1.SecretTypeOpaque), "image pull secrets", "Secret dpf-operator-system/ngc hasn't the type kubernetes.io/dockerconfigjson"},
	{"a pull secret", both(remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ngc"}}),
		secret("ngc", corev1.SecretTypeDockerConfigJson)), "image pull secrets", ""},

	{"no policies", nothing, "admission of services", "ValidatingAdmissionPolicy bedplate-dpf-services doesn't exist, " +
		"ValidatingAdmissionPolicy bedplate-dpf-services-end doesn't exist, ValidatingAdmissionPolicyBinding bedplate-dpf-services doesn't exist, " +
		"ValidatingAdmissionPolicyBinding bedplate-dpf-services-end doesn't exist"},
	{"policies", func(t *testing.T, _ client.Client) {
		testenv.Kubectl(t, "apply", "-f", "../../../config/dpf/admission/services_policy.yaml")
	}, "admission of services", ""},

	{"NFD", kind("nfd.k8s-sigs.io/v1alpha1", "NodeFeature"), "Node Feature Discovery", ""},
	{"NMState's kinds", both(kind("nmstate.io/v1", "NMState"), kind("nmstate.io/v1", "NodeNetworkConfigurationPolicy")), "NM operator", "there is no NMState"},
	{"NMState", object("{apiVersion: nmstate.io/v1, kind: NMState, metadata: {name: nmstate}}"), "NM operator", ""},
	{"cert-manager", both(kind("cert-manager.io/v1", "Certificate"), deployment("cert-manager", "cert-manager", map[string]string{
		"app.kubernetes.io/name": "cert-manager", "app.kubernetes.io/component": "controller"})), "cert-manager", ""},
	{"SR-IOV", kind("sriovnetwork.openshift.io/v1", "SriovNetworkNodePolicy"), "VF tool", ""},
}

func nothing(*testing.T, client.Client) {}

func both(all ...func(*testing.T, client.Client)) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		for _, do := range all {
			do(t, c)
		}
	}
}

var namespaced = []string{"TenantControlPlane", "Application", "AppProject", "NodeFeature", "Certificate", "SriovNetworkNodePolicy"}

// kind installs one that takes anything.
func kind(version, kind string) func(*testing.T, client.Client) {
	return func(t *testing.T, _ client.Client) {
		group, v, _ := strings.Cut(version, "/")
		plural := strings.ToLower(kind) + "s"
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}}
		crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: v, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}},
			}},
		}
		if strings.Contains(strings.Join(namespaced, " "), kind) {
			crd.Spec.Scope = apiextensionsv1.NamespaceScoped
		}
		_, err := envtest.InstallCRDs(testenv.Config(t), envtest.CRDInstallOptions{
			CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}, MaxTime: time.Minute,
		})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
}

func create(o client.Object) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		if o.GetNamespace() != "" {
			inNamespace(o.GetNamespace())(t, c)
		}
		NewWithT(t).Expect(c.Create(t.Context(), o)).To(Succeed())
	}
}

func inNamespace(name string) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		NewWithT(t).Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	}
}

func remove(o client.Object) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) { NewWithT(t).Expect(c.Delete(t.Context(), o)).To(Succeed()) }
}

func object(text string) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		u := &unstructured.Unstructured{}
		NewWithT(t).Expect(yaml.Unmarshal([]byte(text), u)).To(Succeed())
		NewWithT(t).Eventually(func() error { return c.Create(t.Context(), u) }, "1m").Should(Succeed())
	}
}

func change(version, kind, name, text string) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(version)
		u.SetKind(kind)
		u.SetName(name)
		if in, name, cut := strings.Cut(name, "/"); cut {
			u.SetNamespace(in)
			u.SetName(name)
		}
		data, err := yaml.YAMLToJSON([]byte(text))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(c.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, data))).To(Succeed())
	}
}

func pod(name string, labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "a"}}}}
}

func deployment(namespace, name string, labels map[string]string) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		d.Spec.Template = pod("a", d.Spec.Selector.MatchLabels)
		create(d)(t, c)
		d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		NewWithT(t).Expect(c.Status().Update(t.Context(), d)).To(Succeed())
	}
}

func argoCD(namespace string) func(*testing.T, client.Client) {
	return both(statefulSet(namespace, "controller"), deployment(namespace, "repo", map[string]string{
		"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/component": "repo-server"}))
}

func statefulSet(namespace, name string) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{
			"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/component": "application-controller"}}}
		s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		s.Spec.Template = pod("a", s.Spec.Selector.MatchLabels)
		create(s)(t, c)
		s.Status = appsv1.StatefulSetStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		NewWithT(t).Expect(c.Status().Update(t.Context(), s)).To(Succeed())
	}
}

// daemonSet is ovnkube-node with such a container.
func daemonSet(container string) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		s := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ovn-kubernetes", Name: "ovnkube-node"}}
		NewWithT(t).Expect(client.IgnoreNotFound(c.Delete(t.Context(), s.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground)))).To(Succeed())
		s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		s.Spec.Template = pod(container, s.Spec.Selector.MatchLabels)
		create(s)(t, c)
	}
}

func configMap(namespace, name, key, value string) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		NewWithT(t).Expect(client.IgnoreNotFound(c.Delete(t.Context(), m.DeepCopy()))).To(Succeed())
		if key != "" {
			m.Data = map[string]string{key: value}
		}
		create(m)(t, c)
	}
}

func node(name, address string) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		NewWithT(t).Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), n.DeepCopy()))).To(Succeed())
		NewWithT(t).Expect(c.Get(t.Context(), client.ObjectKeyFromObject(n), n)).To(Succeed())
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: address}}
		NewWithT(t).Expect(c.Status().Update(t.Context(), n)).To(Succeed())
	}
}

func label(name string) func(*testing.T, client.Client) {
	return change("v1", "Node", name, `metadata: {labels: {feature.node.kubernetes.io/dpu-enabled: "true"}}`)
}

func volume(name, claim string, modes ...corev1.PersistentVolumeAccessMode) func(*testing.T, client.Client) {
	return func(t *testing.T, c client.Client) {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		v.Spec.AccessModes, v.Spec.Capacity = modes, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/bfb"}
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: claim}
		create(v)(t, c)
	}
}

// removeVolume at once: there is no controller that takes its finalizer off.
func removeVolume(name string) func(*testing.T, client.Client) {
	return both(change("v1", "PersistentVolume", name, "metadata: {finalizers: null}"),
		remove(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

func secret(name string, kind corev1.SecretType) func(*testing.T, client.Client) {
	return create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")},
	})
}
