package webhook_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/krake/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, webhook.Options{Imports: tosca.Imports{"https://example.com/types/"}}.SetupWithManager)
}

const template = `tosca_definitions_version: tosca_simple_yaml_1_0
imports: [https://example.com/types/all.yaml]
topology_template:
  node_templates:
    front: {type: tosca.nodes.Compute}
    wn: {type: tosca.nodes.Compute}
  outputs:
    kubeconfig: {value: {get_attribute: [front, kubeconfig]}}
`

func cluster(t *testing.T, namespace string) *krakev1.Cluster {
	t.Helper()
	c := &krakev1.Cluster{Spec: krakev1.ClusterSpec{
		TOSCA:       template,
		Constraints: &krakev1.Constraints{Cloud: &krakev1.CloudConstraints{Labels: []string{"location is DE"}, Metrics: []string{"load < 0.5"}}},
	}}
	c.Namespace = namespace
	return c
}

func TestCluster_isRefusedWhereItCantBeRead(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	for _, row := range []struct {
		name    string
		change  func(*krakev1.Cluster)
		message string
	}{
		{"as it should be", func(*krakev1.Cluster) {}, ""},
		{"registered", func(c *krakev1.Cluster) {
			c.Spec = krakev1.ClusterSpec{Kubeconfig: &krakev1.Kubeconfig{SecretRef: krakev1.SecretReference{Name: "a"}}}
		}, ""},
		{"constraints", func(c *krakev1.Cluster) {
			c.Spec.Constraints.Cloud.Labels = []string{"a is b", "location in DE"}
			c.Spec.Constraints.Cloud.Metrics = []string{"load > high"}
		}, `spec.constraints.cloud.labels[1]: Invalid value: "location in DE": column 13: expected "(", found "DE" … ` +
			`spec.constraints.cloud.metrics[0]: Invalid value: "load > high": column 8: expected a number, found "high"`},
		{"not YAML", func(c *krakev1.Cluster) { c.Spec.TOSCA = "a: b\n c: secret" },
			"spec.tosca: Invalid value: line 2: mapping values are not allowed"},
		{"a bomb", func(c *krakev1.Cluster) { c.Spec.TOSCA = "a: &a [*a]" }, "spec.tosca: Invalid value: line 1: values are more than 64 deep"},
		{"too many bytes, of few characters", func(c *krakev1.Cluster) { c.Spec.TOSCA += "#" + strings.Repeat("ä", 150_000) },
			"spec.tosca: Invalid value: it has 300"},
		{"no TOSCA", func(c *krakev1.Cluster) { c.Spec.TOSCA = "a: b" }, "spec.tosca: Invalid value: tosca_definitions_version … " +
			"spec.tosca: Invalid value: topology_template.node_templates … topology_template.outputs.kubeconfig must have a value"},
		{"an import", func(c *krakev1.Cluster) { c.Spec.TOSCA = strings.Replace(template, "https", "http", 1) },
			`spec.tosca: Invalid value: imports: "http://example.com/types/all.yaml" isn't allowed: ` +
				`the manager allows https://example.com/types/ (--tosca-imports)`},
	} {
		testenv.Created(t, row.name, cluster(t, namespace), row.change, row.message)
		if row.message != "" {
			testenv.Updated(t, row.name+", later", cluster(t, namespace), func(c *krakev1.Cluster) { row.change(c) }, row.message)
		}
	}
}

// A manager that allows less than before keeps no one from pausing or deleting a cluster.
func TestCluster_thatHadAProblemCanStillBeChanged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := context.Background()
	before, after := cluster(t, ""), cluster(t, "")
	before.Spec.TOSCA = strings.Replace(template, "https", "http", 1)
	after.Spec.TOSCA, after.Spec.Paused = before.Spec.TOSCA, true
	problems, err := webhook.Options{}.Updated(ctx, before, after)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
	after.Spec.TOSCA += "metadata: a\n"
	problems, err = webhook.Options{}.Updated(ctx, before, after)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(ConsistOf(HaveField("Detail", "metadata must be a mapping")))
}

// warnings that a client gets.
type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

func TestCluster_warnsOfWhatHasNoEffect(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var seen warnings
	config := rest.CopyConfig(testenv.Config(t))
	config.WarningHandler = &seen
	c, err := client.New(config, client.Options{Scheme: testenv.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())

	made := cluster(t, testenv.Namespace(t))
	made.Name = "demo"
	g.Expect(c.Create(t.Context(), made)).To(Succeed())
	made.Spec.TOSCA = strings.Replace(template, "    wn:", "    worker:", 1)
	g.Expect(seen).To(BeEmpty())
	g.Expect(c.Update(t.Context(), made)).To(Succeed())
	g.Expect(seen).To(ConsistOf(HavePrefix(
		`spec.tosca: node template "wn" stays, because the infrastructure manager ignores that it is removed.`)))

	seen = nil
	made.Spec.Kubeconfig = &krakev1.Kubeconfig{SecretRef: krakev1.SecretReference{Name: "a"}}
	g.Expect(c.Update(t.Context(), made)).To(Succeed())
	g.Expect(seen).To(ConsistOf(HavePrefix("spec.tosca is ignored: the cluster has a kubeconfig already")))
	seen = nil
	made.Status.ScheduledTo = &krakev1.CloudReference{Kind: krakev1.KindCloud, Name: "a"}
	g.Expect(c.Status().Update(t.Context(), made)).To(Succeed())
	made.Spec.Kubeconfig.SecretRef.Name = "b"
	g.Expect(c.Update(t.Context(), made)).To(Succeed())
	g.Expect(seen).To(BeEmpty(), "it was made")
}

// What was made is in the account at the old URL: its Clusters would be FAILED, and what is outside would stay.
func TestProvider_staysWhereItIsWhileClustersAreMadeByIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	provider := krakev1.InfrastructureProviderSpec{
		Type: "im", IM: krakev1.IMProvider{URL: "https://im.example.com", SecretRef: krakev1.SecretReference{Name: "im"}},
	}
	own := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "im"}, Spec: provider}
	global := &krakev1.GlobalInfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: provider}
	by := func(name string, namespaced bool) krakev1.CloudSpec {
		return krakev1.CloudSpec{Type: krakev1.CloudTypeIM, IM: &krakev1.IMCloud{
			SecretRef: krakev1.SecretReference{Name: "dummy"},
			CloudUse:  krakev1.CloudUse{InfrastructureProvider: krakev1.ProviderReference{Name: name, Namespaced: namespaced}},
		}}
	}
	cloud := func(name string, spec krakev1.CloudSpec) *krakev1.Cloud {
		return &krakev1.Cloud{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	}
	clouds := []krakev1.AnyCloud{
		cloud("of-its-own", by("im", true)), cloud("of-a-global-one", by(namespace, false)), cloud("of-another", by("im", false)),
		&krakev1.GlobalCloud{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: by(namespace, false)},
	}
	for _, object := range []client.Object{own, global, clouds[0], clouds[1], clouds[2], clouds[3]} {
		g.Expect(c.Create(t.Context(), object)).To(Succeed())
	}
	use := func(cloud krakev1.AnyCloud, clusters int32) {
		t.Helper()
		cloud.Known().Clusters = clusters
		g.Expect(c.Status().Update(t.Context(), cloud)).To(Succeed())
	}
	move := func() (errs []error) {
		own.Spec.IM.URL, global.Spec.IM.URL = own.Spec.IM.URL+"/", global.Spec.IM.URL+"/"
		return []error{c.Update(t.Context(), own), c.Update(t.Context(), global)}
	}
	stays := func(cloud string) types.GomegaMatcher {
		return MatchError(And(ContainSubstring("spec.im.url: Forbidden: Clusters are made by it on "+cloud), ContainSubstring("write another one")))
	}
	use(clouds[2], 1)
	g.Expect(move()).To(HaveEach(Succeed()))
	use(clouds[0], 1)
	g.Expect(move()).To(HaveExactElements(stays("Cloud "+namespace+"/of-its-own"), Succeed()))
	use(clouds[1], 1)
	use(clouds[3], 2)
	g.Expect(move()).To(HaveExactElements(
		stays("Cloud "+namespace+"/of-its-own"), stays("Cloud "+namespace+"/of-a-global-one, GlobalCloud "+namespace)))
	for _, object := range []client.Object{own, global} {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	}
	own.Spec.IM.SecretRef.Name = "other"
	g.Expect(c.Update(t.Context(), own)).To(Succeed(), "all else may change")
}
