package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	powervsv1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/config/powervs"
	"github.com/bedplate/bedplate/internal/testenv"
)

func crds(g Gomega, p provider) (all []apiextensionsv1.CustomResourceDefinition) {
	files, err := filepath.Glob(p.folder("crd/bases/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		var crd apiextensionsv1.CustomResourceDefinition
		g.Expect(yaml.UnmarshalStrict(data, &crd)).To(Succeed())
		all = append(all, crd)
	}
	return all
}

func TestCRDs_areInstalledTogether(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		var names, want []string
		for _, object := range testenv.Kustomize(t, p.folder("crd"), nil) {
			names = append(names, object.Name)
		}
		for _, crd := range crds(g, p) {
			want = append(want, crd.Name)
		}
		g.Expect(names).To(ConsistOf(want))
		g.Expect(names).To(And(HaveLen(p.kinds), ContainElement("ledgers."+p.ledgers)))
		testenv.Kubectl(t, "apply", "-k", p.folder("crd"), "--server-side", "--force-conflicts", "--warnings-as-errors")
	})
}

func TestCRDs_describeEveryField(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		for _, crd := range crds(g, p) {
			schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
			for _, part := range []string{"spec", "status"} {
				if fields, ok := schema.Properties[part]; ok {
					g.Expect(undescribed(crd.Spec.Names.Kind+"."+part, fields)).To(BeEmpty())
				}
			}
		}
	})
}

func undescribed(path string, schema apiextensionsv1.JSONSchemaProps) (paths []string) {
	if schema.Description == "" {
		paths = append(paths, path)
	}
	for name, field := range schema.Properties {
		paths = append(paths, undescribed(path+"."+name, field)...)
	}
	for _, items := range []*apiextensionsv1.JSONSchemaProps{itemsOf(schema), valuesOf(schema)} {
		if items != nil {
			for name, field := range items.Properties {
				paths = append(paths, undescribed(path+"."+name, field)...)
			}
		}
	}
	return paths
}

func itemsOf(schema apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if schema.Items == nil {
		return nil
	}
	return schema.Items.Schema
}

func valuesOf(schema apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if schema.AdditionalProperties == nil {
		return nil
	}
	return schema.AdditionalProperties.Schema
}

func TestExplain_tellsAUserWhatAFieldIsFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kubeconfig := testenv.Kubeconfig(t)
	explain := func(field string) (text string) { // what a new CRD says is known to the API server a little later
		g.Eventually(func() (err error) {
			text, err = testenv.RunKubectl(t, kubeconfig, "explain", field)
			return err
		}, time.Minute).Should(Succeed())
		return text
	}
	g.Expect(explain("nvidiabmmcluster.spec")).To(And(
		ContainSubstring("spec says which networks the cluster gets, and where."),
		MatchRegexp(`siteRef\t<Object> -required-\n +siteRef names the BMM site`)))
	g.Expect(explain("nvidiabmmcluster.spec.vpc.networkSecurityGroup.rules")).To(MatchRegexp(
		`direction\t<string> -required-\n +enum: ingress, egress\n +direction of the traffic: ingress comes to the machine`))
	g.Expect(explain("nvidiabmmmachine.spec.network")).To(MatchRegexp(`subnetName\t<string>\n +subnetName is the name of a subnet`))
	g.Expect(explain("ibmpowervscluster.spec")).To(And(
		ContainSubstring("spec says what the cluster gets, and where."),
		MatchRegexp(`zone\t<string>\n +zone is the PowerVS zone, such as dal10, of all machines`)))
	g.Expect(explain("ibmpowervscluster.spec.loadBalancers")).To(MatchRegexp(`public\t<boolean>\n +public says whether`))
	g.Expect(explain("ibmpowervsmachine.spec")).To(MatchRegexp(`systemType\t<string>\n +enum: s922, e880, e980`))
	g.Expect(explain("ibmpowervsimage.spec")).To(MatchRegexp(`bucket\t<string> -required-\n`))
}

// Each kind that has rules beyond its CRD is asked about, by the paths that the manager serves.
func TestWebhooks_areThoseOfPowerVSKinds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	data, err := powervs.Webhooks.ReadFile("webhook/manifests.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	g.Expect(yaml.UnmarshalStrict(data, &hooks)).To(Succeed())
	asked := map[string]int{}
	for _, hook := range hooks.Webhooks {
		asked[hook.Rules[0].Resources[0]] = len(hook.Rules[0].Operations)
	}
	g.Expect(asked).To(Equal(map[string]int{"ibmpowervsclusters": 2, "ibmpowervsclustertemplates": 2, "ibmpowervsmachinetemplates": 2,
		"ibmpowervsmachines": 1, "ibmpowervsimages": 1}), "what a machine or an image is can't be changed")
}

func TestWebhooks_takeIgnitionWithItsFeatureGateOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	cluster := &powervsv1.IBMPowerVSCluster{Spec: powervsv1.IBMPowerVSClusterSpec{Ignition: &powervsv1.Ignition{}}}
	cluster.Namespace, cluster.Name = namespace, "demo"
	const refused = "ignition: Forbidden: start the manager with --feature-gates=BootstrapFormatIgnition=true first, or remove ignition"
	g.Expect(c.Create(t.Context(), cluster)).To(MatchError(ContainSubstring("spec." + refused)))
	template := &powervsv1.IBMPowerVSClusterTemplate{}
	template.Namespace, template.Name, template.Spec.Template.Spec = namespace, "demo", cluster.Spec
	g.Expect(c.Create(t.Context(), template)).To(MatchError(ContainSubstring("spec.template.spec." + refused)))
	cluster.Spec.Ignition = nil
	g.Expect(c.Create(t.Context(), cluster)).To(Succeed())
}
