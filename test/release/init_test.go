package release

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// An empty cluster becomes a management cluster by one command, and forgets the provider again by another. There are no
// nodes here, so nothing runs: clusterctl waits for cert-manager's API, and for nothing else.
func TestInit_installsTheProviderIntoAnEmptyCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctl := newClusterctl(t)
	c := emptyCluster(t, ctl)

	ctl.must(t, "init", "--infrastructure", "nvidia-bmm")
	providers := &unstructured.UnstructuredList{}
	providers.SetAPIVersion("clusterctl.cluster.x-k8s.io/v1alpha3")
	providers.SetKind("ProviderList")
	g.Expect(c.List(t.Context(), providers)).To(Succeed())
	g.Expect(providers.Items).To(ContainElement(HaveField("Object", And(
		HaveKeyWithValue("providerName", "nvidia-bmm"), HaveKeyWithValue("type", "InfrastructureProvider"),
		HaveKeyWithValue("version", version)))))
	g.Expect(providers.Items).To(HaveLen(4))

	manager := &appsv1.Deployment{}
	name := client.ObjectKey{Namespace: "bedplate-bmm-system", Name: "bedplate-bmm-manager"}
	g.Expect(c.Get(t.Context(), name, manager)).To(Succeed())
	g.Expect(manager.Spec.Template.Spec.Containers).To(ConsistOf(And(HaveField("Name", "manager"), HaveField("Image", image))))

	// What Cluster API finds the CRDs by, and clusterctl move what to take along.
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	provider := client.MatchingLabels{"cluster.x-k8s.io/provider": "infrastructure-nvidia-bmm"}
	g.Expect(c.List(t.Context(), crds, provider)).To(Succeed())
	g.Expect(crds.Items).To(HaveLen(5))
	for _, crd := range crds.Items {
		if crd.Spec.Group != ledgerv1.GroupBMM { // which Cluster API asks for nothing
			g.Expect(crd.Labels).To(HaveKeyWithValue("cluster.x-k8s.io/v1beta2", "v1beta1"), crd.Name)
		}
		g.Expect(crd.Labels).To(HaveKey("clusterctl.cluster.x-k8s.io"), crd.Name)
	}

	// Now that the provider is installed, clusterctl knows its version by itself.
	g.Expect(kindsOf(objectsOf(g, ctl.must(t, "generate", "cluster", "blue", "--kubernetes-version", "v1.36.0")))).
		To(ContainElement("NvidiaBMMCluster"))
	ctl.release(t, "v0.1.8", "")
	g.Expect(ctl.must(t, "upgrade", "plan")).To(MatchRegexp(`infrastructure-nvidia-bmm .*%s .*v0\.1\.8`, version))

	ctl.must(t, "delete", "--infrastructure", "nvidia-bmm")
	g.Expect(c.List(t.Context(), crds, provider)).To(Succeed())
	g.Expect(crds.Items).To(HaveLen(5), "with the CRDs the objects would go, and what they made would have no owner")
	deployments := &appsv1.DeploymentList{}
	g.Expect(c.List(t.Context(), deployments, provider)).To(Succeed())
	g.Expect(deployments.Items).To(BeEmpty())
}

// emptyCluster starts an API server without Cluster API, and configures clusterctl for it.
func emptyCluster(t *testing.T, ctl *clusterctl) client.Client {
	t.Helper()
	g := NewWithT(t)
	server := testenv.Another(t)
	ctl.kubeconfig = filepath.Join(ctl.home, "kubeconfig")
	g.Expect(os.WriteFile(ctl.kubeconfig, server.Kubeconfig, 0o600)).To(Succeed())
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(server.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}
