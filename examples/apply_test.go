package examples_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// clusterAPI are the examples of bmm that are clusters of Cluster API.
var clusterAPI = []string{"bmm", "bmm-class"}

// powervsExamples are those of powervs that no test of a lab applies.
var powervsExamples = []string{"powervs-class"}

// patience is for what Cluster API and the managers do where other packages' tests have the CPUs.
const patience = 10 * time.Minute

// With all webhooks, Cluster API's and ours, and the controllers that make a cluster of a class.
func TestExamples_areTakenByAManagementCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stack, err := localstack.Start(ctx, localstack.Config{
		Dir: t.TempDir(), Tools: toolstest.Find(t, append(localstack.Tools(), "bedplate")...),
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stack.Stop)
	bmm, err := stack.StartBMM(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	powervs, err := stack.StartPowerVS(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(stack.AdminConfig(), client.Options{Scheme: testenv.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range slices.Concat(clusterAPI, powervsExamples) {
		variables := map[string]string{
			"CLUSTER_NAME": name, "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.36.0",
			"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "2",
		}
		maps.Copy(variables, bmm.Variables())
		maps.Copy(variables, powervs.Variables())
		yaml, err := examples.Render(name, variables)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(stack.Apply(ctx, yaml)).To(Succeed())
	}
	t.Run("a cluster of a class is what its variables say", func(t *testing.T) { clusterOfAClass(t, c, bmm) })
	t.Run("a cluster of the class powervs is what its variables say", func(t *testing.T) { powervsOfAClass(t, c, powervs) })
	t.Run("the cloud controller manager is taken for the cluster", func(t *testing.T) {
		g := NewWithT(t)
		for _, name := range clusterAPI {
			g.Eventually(func(g Gomega) { // owned, it is taken for a cluster that the set selects
				resource, key := &corev1.ConfigMap{}, client.ObjectKey{Namespace: "default", Name: name + "-bmm-ccm"}
				g.Expect(c.Get(t.Context(), key, resource)).To(Succeed())
				g.Expect(resource.GetOwnerReferences()).To(ContainElement(HaveField("Kind", "ClusterResourceSet")))
			}, patience).Should(Succeed())
		}
	})
}

func clusterOfAClass(t *testing.T, c client.Client, bmm *localstack.BMM) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	cluster := &clusterv1.Cluster{}
	reconciled := func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "bmm-class"}, cluster)).To(Succeed())
		condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)
		g.Expect(condition).To(HaveValue(And(
			HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", cluster.Generation))))
	}
	g.Eventually(reconciled).Should(Succeed())

	read := func(name string, into client.Object) {
		t.Helper()
		g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, into)).To(Succeed())
	}
	infra := &infrav1.NvidiaBMMCluster{}
	read(cluster.Spec.InfrastructureRef.Name, infra)
	g.Expect(infra.Spec.SiteRef).To(Equal(infrav1.SiteReference{ID: bmm.SiteID}))
	g.Expect(infra.Spec.TenantID).To(Equal(bmm.TenantID))
	g.Expect(infra.Spec.Authentication.SecretRef.Name).To(Equal("bmm-class-bmm"))
	g.Expect(infra.Spec.Subnets).To(Equal([]infrav1.SubnetSpec{{Name: "nodes", PrefixLength: ptr.To[int32](25)}}))
	g.Expect(infra.Spec.ControlPlaneEndpoint.Host).To(Equal(bmm.Endpoint.Addr().String()))

	controlPlane := &unstructured.Unstructured{}
	controlPlane.SetAPIVersion("controlplane.cluster.x-k8s.io/v1beta2")
	controlPlane.SetKind("KubeadmControlPlane")
	read(cluster.Spec.ControlPlaneRef.Name, controlPlane)
	arguments, _, err := unstructured.NestedSlice(controlPlane.Object,
		"spec", "kubeadmConfigSpec", "initConfiguration", "nodeRegistration", "kubeletExtraArgs")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(arguments).To(Equal([]any{map[string]any{
		"name": "cloud-provider", "value": "external",
	}}))

	// Templates can't be changed, so a variable that changes makes the topology controller write another one. It asks in a
	// dry run first.
	const another = "05000000-0000-4000-8000-000000000099"
	before := templateOf(g, c, controlPlane)
	g.Eventually(func() error {
		read(cluster.Name, cluster)
		for i, v := range cluster.Spec.Topology.Variables { // Cluster API has written the defaults of the class into them
			if v.Name == "operatingSystemID" {
				cluster.Spec.Topology.Variables[i].Value.Raw = []byte(`"` + another + `"`)
			}
		}
		return c.Update(t.Context(), cluster)
	}).Should(Succeed())
	g.Eventually(func(g Gomega) {
		reconciled(g)
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(controlPlane), controlPlane)).To(Succeed())
		after := templateOf(g, c, controlPlane)
		g.Expect(after.Name).NotTo(Equal(before.Name))
		g.Expect(after.Spec.Template.Spec.OperatingSystem.ID).To(Equal(another))
	}).Should(Succeed())
}

func templateOf(g Gomega, c client.Client, controlPlane *unstructured.Unstructured) *infrav1.NvidiaBMMMachineTemplate {
	name, _, err := unstructured.NestedString(controlPlane.Object,
		"spec", "machineTemplate", "spec", "infrastructureRef", "name")
	g.Expect(err).NotTo(HaveOccurred())
	template := &infrav1.NvidiaBMMMachineTemplate{}
	g.Expect(c.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, template)).To(Succeed())
	return template
}
