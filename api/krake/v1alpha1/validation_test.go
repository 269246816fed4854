package v1alpha1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// refusal is a change that the API server has to answer with a message; "" means that it takes it. In the message, " … " stands for
// anything.
type refusal[T client.Object] struct {
	name    string
	change  func(T)
	message string
}

func checkCreate[T client.Object](t *testing.T, valid func() T, refusals []refusal[T]) {
	t.Helper()
	namespace := testenv.Namespace(t)
	for _, row := range refusals {
		object := valid()
		if !strings.HasPrefix(kindOf(t, object), "Global") {
			object.SetNamespace(namespace)
		}
		testenv.Created(t, row.name, object, row.change, row.message)
	}
}

func checkUpdate[T client.Object](t *testing.T, valid func() T, refusals []refusal[T]) {
	t.Helper()
	namespace := testenv.Namespace(t)
	for _, row := range refusals {
		object := valid()
		if !strings.HasPrefix(kindOf(t, object), "Global") {
			object.SetNamespace(namespace)
		}
		testenv.Updated(t, row.name, object, row.change, row.message)
	}
}

func kindOf(t *testing.T, object client.Object) string {
	t.Helper()
	kinds, _, err := testenv.Scheme(t).ObjectKinds(object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return kinds[0].Kind
}

func registered() *Cluster {
	return &Cluster{Spec: ClusterSpec{Kubeconfig: &Kubeconfig{SecretRef: SecretReference{Name: "demo"}}}}
}

func made() *Cluster {
	return &Cluster{Spec: ClusterSpec{TOSCA: "tosca_definitions_version: tosca_simple_yaml_1_0"}}
}

func use(provider string) CloudUse {
	return CloudUse{
		Metrics: []MetricReference{{Name: "load", Weight: 0.5}}, InfrastructureProvider: ProviderReference{Name: provider},
	}
}

func openstack() CloudSpec {
	return CloudSpec{Type: CloudTypeOpenStack, OpenStack: &OpenStackCloud{
		URL: "https://openstack.example.com:5000/v3", CloudUse: use("im"), Auth: OpenStackAuth{Password: OpenStackPassword{
			SecretRef: SecretReference{Name: "openstack"}, Project: OpenStackProject{Name: "demo"},
		}},
	}}
}

func im() CloudSpec {
	return CloudSpec{Type: CloudTypeIM, IM: &IMCloud{SecretRef: SecretReference{Name: "aws"}, CloudUse: use("im")}}
}

func TestDefaults_areThoseOfKrake(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	cluster := made()
	cluster.Namespace, cluster.Name = namespace, "demo"
	g.Expect(c.Create(t.Context(), cluster)).To(Succeed())
	g.Expect(cluster.Spec.Backoff).To(BeEquivalentTo(1))
	g.Expect(cluster.Spec.BackoffDelay).To(BeEquivalentTo(1))
	g.Expect(cluster.Spec.BackoffLimit).To(HaveValue(BeEquivalentTo(-1)))

	cloud := &Cloud{Spec: openstack()}
	cloud.Namespace, cloud.Name = namespace, "demo"
	g.Expect(c.Create(t.Context(), cloud)).To(Succeed())
	password := cloud.Spec.OpenStack.Auth.Password
	g.Expect([]string{cloud.Spec.OpenStack.Auth.Type, password.Version, password.Project.DomainID}).To(Equal([]string{"password", "3", "default"}))
	g.Expect(cloud.Spec.Use().Metrics[0].Namespaced).To(BeFalse())
}

func TestCluster_isMadeOrRegistered(t *testing.T) {
	t.Parallel()
	checkCreate(t, made, []refusal[*Cluster]{
		{"a template", func(*Cluster) {}, ""},
		{"as long a name as a label may have", func(c *Cluster) { c.Name = strings.Repeat("a", 63) }, ""},
		{"a longer name", func(c *Cluster) { c.Name = strings.Repeat("a", 64) }, "metadata: Invalid value … choose a shorter one"},
		{"a kubeconfig", func(c *Cluster) { c.Spec = registered().Spec }, ""},
		{"both, as in a backup", func(c *Cluster) { c.Spec.Kubeconfig = registered().Spec.Kubeconfig }, ""},
		{"neither", func(c *Cluster) { c.Spec = ClusterSpec{Backoff: 2} }, "neither tosca nor kubeconfig is set"},
		{"as much as there may be", func(c *Cluster) { c.Spec.TOSCA = strings.Repeat("#", MaxTOSCA) }, ""},
		{"one byte more", func(c *Cluster) { c.Spec.TOSCA = strings.Repeat("#", MaxTOSCA+1) }, "spec.tosca: Too long"},
		{"no Secret", func(c *Cluster) { c.Spec.Kubeconfig = &Kubeconfig{} }, "spec.kubeconfig.secretRef"},
		{"another namespace's Secret", func(c *Cluster) {
			c.Spec.Kubeconfig = &Kubeconfig{SecretRef: SecretReference{Name: "other/demo"}}
		}, "spec.kubeconfig.secretRef.name: Invalid value"},
		{"no backoff", func(c *Cluster) { c.Spec.Backoff = -1 }, "spec.backoff: Invalid value"},
		{"fewer retries than none", func(c *Cluster) { c.Spec.BackoffLimit = ptr.To[int32](-2) }, "spec.backoffLimit: Invalid value"},
		{"no retries", func(c *Cluster) { c.Spec.BackoffLimit = ptr.To[int32](0) }, ""},
		{"an empty constraint", func(c *Cluster) {
			c.Spec.Constraints = &Constraints{Cloud: &CloudConstraints{Labels: []string{""}}}
		}, "spec.constraints.cloud.labels[0]"},
	})
	checkUpdate(t, made, []refusal[*Cluster]{
		{"another template", func(c *Cluster) { c.Spec.TOSCA += "\n" }, ""},
		{"its kubeconfig", func(c *Cluster) { c.Spec.Kubeconfig = registered().Spec.Kubeconfig }, ""},
		{"no template any more", func(c *Cluster) { c.Spec = registered().Spec }, "neither be added to a registered cluster nor be removed"},
	})
	checkUpdate(t, registered, []refusal[*Cluster]{
		{"another kubeconfig", func(c *Cluster) { c.Spec.Kubeconfig.SecretRef.Name = "other" }, ""},
		{"a template", func(c *Cluster) { c.Spec.TOSCA = made().Spec.TOSCA }, "neither be added to a registered cluster nor be removed"},
	})
}

func TestCluster_isNeverReboundAndKeepsItsStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := client.WithFieldValidation(testenv.Client(t), metav1.FieldValidationStrict)
	cluster := made()
	cluster.Namespace, cluster.Name = testenv.Namespace(t), "demo"
	g.Expect(c.Create(t.Context(), cluster)).To(Succeed())
	write := func(status string) error {
		return c.Status().Patch(t.Context(), cluster, client.RawPatch("application/merge-patch+json", []byte(`{"status": `+status+`}`)))
	}
	g.Expect(write(`{"state": "UNHEALTHY", "reason": {"code": "RECONFIGURE_FAILED", "message": "m"}, "lastAppliedTosca": "t",
		"lastAppliedToscaHash": "h", "scheduledTo": {"kind": "Cloud", "name": "a"}, "scheduledAt": "2026-01-02T03:04:05Z",
		"runningOn": {"kind": "GlobalCloud", "name": "a"}, "clusterID": "i", "retries": 2, "nodes": [
			{"name": "n", "conditions": [{"type": "DiskPressure", "status": "True", "reason": "r", "message": "m"}]}]}`)).To(Succeed())
	g.Expect(cluster.Status.Nodes[0].Conditions[0].Type).To(Equal("DiskPressure"))
	g.Expect(cluster.Status.ScheduledTo.String()).To(Equal("Cloud a"))
	g.Expect(cluster.OutsideIDs()).To(ConsistOf(HaveField("ID", "i")))
	g.Expect(write(`{"scheduledTo": {"name": "b"}}`)).To(MatchError(ContainSubstring("a cluster stays on its cloud: write another Cluster")))
	g.Expect(write(`{"state": "SLEEPING"}`)).To(MatchError(ContainSubstring("status.state: Unsupported value")))
}

func TestCloud_hasTheFieldsOfItsType(t *testing.T) {
	t.Parallel()
	checkCreate(t, func() *Cloud { return &Cloud{Spec: openstack()} }, []refusal[*Cloud]{
		{"an OpenStack", func(*Cloud) {}, ""},
		{"any other", func(c *Cloud) { c.Spec = im() }, ""},
		{"a type without its fields", func(c *Cloud) { c.Spec.Type = CloudTypeIM }, "openstack is set with type openstack, and only then … im is set with type im"},
		{"both", func(c *Cloud) { c.Spec.IM = im().IM }, "spec.im: Invalid value … im is set with type im, and only then"},
		{"another type", func(c *Cloud) { c.Spec.Type = "ec2" }, "spec.type: Unsupported value"},
		{"no provider", func(c *Cloud) { c.Spec.OpenStack.InfrastructureProvider.Name = "" }, "spec.openstack.infrastructureProvider"},
		{"no URL", func(c *Cloud) { c.Spec.OpenStack.URL = "openstack.example.com" }, "spec.openstack.url: Invalid value"},
		{"a URL that ends a field", func(c *Cloud) { c.Spec.OpenStack.URL = "https://openstack.example.com;token=a" }, "spec.openstack.url: Invalid value"},
		{"namespaced kinds", func(c *Cloud) {
			c.Spec.OpenStack.InfrastructureProvider.Namespaced, c.Spec.OpenStack.Metrics[0].Namespaced = true, true
		}, ""},
		{"a metric twice", func(c *Cloud) {
			c.Spec.OpenStack.Metrics = append(c.Spec.OpenStack.Metrics, c.Spec.OpenStack.Metrics[0])
		}, "spec.openstack.metrics[1]: Duplicate value"},
		{"a metric of the same name", func(c *Cloud) {
			c.Spec.OpenStack.Metrics = append(c.Spec.OpenStack.Metrics, MetricReference{Name: "load", Namespaced: true})
		}, "spec.openstack.metrics[1]: Duplicate value"},
		{"a negative weight", func(c *Cloud) { c.Spec.OpenStack.Metrics[0].Weight = -1 }, "spec.openstack.metrics[0].weight: Invalid value"},
	})
	const provider, metrics = "a GlobalCloud has a GlobalInfrastructureProvider: remove namespaced", "a GlobalCloud has GlobalMetrics: remove namespaced"
	checkCreate(t, func() *GlobalCloud { return &GlobalCloud{Spec: openstack()} }, []refusal[*GlobalCloud]{
		{"a global OpenStack", func(*GlobalCloud) {}, ""},
		{"any other, global", func(c *GlobalCloud) { c.Spec = im() }, ""},
		{"of a namespaced provider", func(c *GlobalCloud) { c.Spec.OpenStack.InfrastructureProvider.Namespaced = true }, provider},
		{"of namespaced metrics", func(c *GlobalCloud) { c.Spec.OpenStack.Metrics[0].Namespaced = true }, metrics},
		{"any other, of a namespaced provider", func(c *GlobalCloud) {
			c.Spec = im()
			c.Spec.IM.InfrastructureProvider.Namespaced = true
		}, provider},
		{"any other, of namespaced metrics", func(c *GlobalCloud) {
			c.Spec = im()
			c.Spec.IM.Metrics[0].Namespaced = true
		}, metrics},
	})
}

// A DELETE would go out under another cloud's credential: IM forgets then what stays in the old one.
func TestCloud_staysWhereItIsWhileClustersAreOnIt(t *testing.T) {
	t.Parallel()
	const stays = "spec: Invalid value … Clusters are on this cloud (status.clusters), and are changed and deleted where it says: " +
		"write another one instead of another type, url, project or infrastructureProvider"
	moves := []refusal[*Cloud]{
		{"another type", func(c *Cloud) { c.Spec = im() }, stays},
		{"another URL", func(c *Cloud) { c.Spec.OpenStack.URL += "/" }, stays},
		{"another project", func(c *Cloud) { c.Spec.OpenStack.Auth.Password.Project.Name = "other" }, stays},
		{"a project of another domain", func(c *Cloud) { c.Spec.OpenStack.Auth.Password.Project.DomainID = "other" }, stays},
		{"another provider", func(c *Cloud) { c.Spec.OpenStack.InfrastructureProvider.Name = "other" }, stays},
		{"a namespaced provider", func(c *Cloud) { c.Spec.OpenStack.InfrastructureProvider.Namespaced = true }, stays},
	}
	used := func() *Cloud { return &Cloud{Spec: openstack(), Status: CloudStatus{Clusters: 1}} }
	checkUpdate(t, used, append([]refusal[*Cloud]{
		{"another login", func(c *Cloud) { c.Spec.OpenStack.Auth.Password.SecretRef.Name = "other" }, ""},
		{"other metrics", func(c *Cloud) { c.Spec.OpenStack.Metrics = nil }, ""},
	}, moves...))
	checkUpdate(t, func() *Cloud { return &Cloud{Spec: im(), Status: CloudStatus{Clusters: 1}} }, []refusal[*Cloud]{
		{"another type, of any", func(c *Cloud) { c.Spec = openstack() }, stays},
		{"another provider, of any", func(c *Cloud) { c.Spec.IM.InfrastructureProvider.Name = "other" }, stays},
		{"a namespaced provider, of any", func(c *Cloud) { c.Spec.IM.InfrastructureProvider.Namespaced = true }, stays},
		{"other metrics, of any", func(c *Cloud) { c.Spec.IM.Metrics = nil }, ""},
	})
	checkUpdate(t, func() *GlobalCloud { return &GlobalCloud{Spec: openstack(), Status: CloudStatus{Clusters: 1}} }, []refusal[*GlobalCloud]{
		{"another URL of a global one", func(c *GlobalCloud) { c.Spec.OpenStack.URL += "/" }, stays},
	})
	for i := range moves { // while it is free
		moves[i].name, moves[i].message = moves[i].name+", unused", ""
	}
	checkUpdate(t, func() *Cloud { return &Cloud{Spec: openstack()} }, moves)
}

func metric() *Metric {
	return &Metric{Spec: MetricSpec{Min: 0, Max: 1.5, Provider: MetricSource{Name: "static", Metric: "load"}}}
}

func TestMetric_hasBounds(t *testing.T) {
	t.Parallel()
	checkCreate(t, metric, []refusal[*Metric]{
		{"bounds", func(*Metric) {}, ""},
		{"one value", func(m *Metric) { m.Spec.Min = 1.5 }, ""},
		{"nothing between", func(m *Metric) { m.Spec.Min = 2 }, "spec.max: Invalid value … max is less than min: exchange them"},
		{"some values", func(m *Metric) { m.Spec.AllowedValues = []float64{0, 0.25, 1.5} }, ""},
		{"a value that isn't between", func(m *Metric) { m.Spec.AllowedValues = []float64{0, 2} }, "an allowed value is less than min or greater than max"},
		{"no provider", func(m *Metric) { m.Spec.Provider = MetricSource{} }, "spec.provider"},
	})
	checkCreate(t, func() *GlobalMetric { return &GlobalMetric{Spec: metric().Spec} }, []refusal[*GlobalMetric]{
		{"global", func(*GlobalMetric) {}, ""},
		{"global, nothing between", func(m *GlobalMetric) { m.Spec.Min = 2 }, "max is less than min"},
	})
}

func TestProviders_haveTheFieldsOfTheirType(t *testing.T) {
	t.Parallel()
	static := MetricsProviderSpec{Type: MetricsProviderStatic, Static: &StaticMetrics{Metrics: map[string]float64{"load": 0.5}}}
	prometheus := MetricsProviderSpec{Type: MetricsProviderPrometheus, Prometheus: &PrometheusMetrics{URL: "https://prometheus.example.com"}}
	checkCreate(t, func() *MetricsProvider { return &MetricsProvider{Spec: *static.DeepCopy()} }, []refusal[*MetricsProvider]{
		{"values", func(*MetricsProvider) {}, ""},
		{"Prometheus", func(p *MetricsProvider) { p.Spec = prometheus }, ""},
		{"values of Prometheus", func(p *MetricsProvider) { p.Spec.Type = MetricsProviderPrometheus }, "static is set with type static, and only then"},
		{"no values", func(p *MetricsProvider) { p.Spec.Static.Metrics = nil }, "spec.static.metrics"},
		{"a password in a URL", func(p *MetricsProvider) {
			p.Spec = *prometheus.DeepCopy()
			p.Spec.Prometheus.URL = "https://me:secret@prometheus.example.com"
		}, "spec.prometheus.url: Invalid value"},
	})
	provider := InfrastructureProviderSpec{Type: "im", IM: IMProvider{URL: "https://im.example.com:8800", SecretRef: SecretReference{Name: "im"}}}
	checkCreate(t, func() *InfrastructureProvider { return &InfrastructureProvider{Spec: provider} }, []refusal[*InfrastructureProvider]{
		{"an Infrastructure Manager", func(*InfrastructureProvider) {}, ""},
		{"another one", func(p *InfrastructureProvider) { p.Spec.Type = "terraform" }, "spec.type: Unsupported value"},
		{"no login", func(p *InfrastructureProvider) { p.Spec.IM.SecretRef.Name = "" }, "spec.im.secretRef"},
	})
	checkCreate(t, func() *GlobalInfrastructureProvider { return &GlobalInfrastructureProvider{Spec: provider} },
		[]refusal[*GlobalInfrastructureProvider]{{"a global one", func(*GlobalInfrastructureProvider) {}, ""}})
}

func TestCloudBinding_isNotChanged(t *testing.T) {
	t.Parallel()
	binding := func() *CloudBinding {
		return &CloudBinding{Spec: CloudBindingSpec{Cluster: ClusterReference{Name: "demo"}, Cloud: CloudReference{Kind: "Cloud", Name: "a"}}}
	}
	checkCreate(t, binding, []refusal[*CloudBinding]{
		{"a cloud", func(*CloudBinding) {}, ""},
		{"something else", func(b *CloudBinding) { b.Spec.Cloud.Kind = "Cluster" }, "spec.cloud.kind: Unsupported value"},
	})
	checkUpdate(t, binding, []refusal[*CloudBinding]{
		{"another cloud", func(b *CloudBinding) { b.Spec.Cloud.Name = "b" }, "a CloudBinding can't be changed: delete it, and write another one"},
	})
}

// A password in a spec would be in every backup. No field has a name of one, and unknown fields are refused.
func TestSpecs_haveNoPlaceForASecret(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cloud := openstack()
	cloud.IM = im().IM
	for _, spec := range []any{cloud, InfrastructureProviderSpec{}} {
		text, err := json.Marshal(spec)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).NotTo(MatchRegexp(`"(username|token|password)":"`))
	}
	const manifest = `{"apiVersion": "krake.bedplate.dev/v1alpha1", "kind": "InfrastructureProvider", "metadata": {"name": "krake"},
		"spec": {"type": "im", "im": {"url": "https://im.example.com", "secretRef": {"name": "im"}, "username": "u", "password": "p"}}}`
	out, err := testenv.RunKubectl(t, testenv.Kubeconfig(t), "create", "--raw",
		"/apis/krake.bedplate.dev/v1alpha1/namespaces/"+testenv.Namespace(t)+"/infrastructureproviders?fieldValidation=Strict", "-f", file(t, manifest))
	g.Expect(err).To(HaveOccurred())
	g.Expect(out).To(And(ContainSubstring(`unknown field "spec.im.password"`), ContainSubstring(`unknown field "spec.im.username"`)))
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "object.json")
	NewWithT(t).Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}
