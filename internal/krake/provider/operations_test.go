package provider_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/managertest"
	"github.com/bedplate/bedplate/internal/optest"
)

// place has metrics, and controllers that observe.
func place(t *testing.T) *kraketest.Fixture {
	f := kraketest.StartIM(t)
	f.Observe()
	f.RunControllers()
	f.Create(&krakev1.MetricsProvider{ObjectMeta: meta(f, "static"), Spec: krakev1.MetricsProviderSpec{
		Type: krakev1.MetricsProviderStatic, Static: &krakev1.StaticMetrics{Metrics: map[string]float64{"load": 0.25, "cost": 7}},
	}})
	for _, name := range []string{"load", "cost"} { // one of which is too much
		f.Create(&krakev1.Metric{ObjectMeta: meta(f, name), Spec: krakev1.MetricSpec{
			Max: 1, Provider: krakev1.MetricSource{Name: "static", Metric: name},
		}})
	}
	return f
}

func meta(f *kraketest.Fixture, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: f.Namespace}
}

// templates merge to themselves: the manager keeps what a template has had.
func templates() (all []any) {
	for _, count := range []string{"0", "1", "2", "3"} {
		text := strings.Replace(kraketest.Template, "count: 1", "count: "+count, 1)
		all = append(all, text, "# as before\n"+text)
	}
	return all
}

func TestOperations_cluster(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := place(t)
			kraketest.Change(f, f.CreateCloud(), func(c *krakev1.Cloud) {
				c.Labels = map[string]string{"location": "DE"}
				c.Spec.IM.Metrics = []krakev1.MetricReference{{Name: "load", Weight: 1, Namespaced: true}}
			})
			return f.World(f.NewCluster("demo"), krakev1.ReadyCondition)
		},
		Values: map[string][]any{
			"tosca": templates(), "kubeconfig.secretRef.name": {"demo-kubeconfig", "other"},
			// Constraints that aren't met hold up new Clusters, and leave alone those that are bound.
			"constraints.cloud.labels[]": {"location is DE", "location in (DE, SK)"}, "constraints.cloud.metrics[]": {"load < 0.5", "load >= 0"},
		},
		Written: []string{"kubeconfig"},
	}.Run(t)
}

func TestOperations_cloud(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := place(t)
			cloud := f.CreateCloud()
			object := &krakev1.Cloud{ObjectMeta: meta(f, "another"), Spec: *cloud.Spec.DeepCopy()}
			return f.World(object, krakev1.MetricsAvailableCondition)
		},
		Values: map[string][]any{
			"im.metrics[]": {metric("load"), metric("cost")}, "im.metrics[].name": {"load", "cost"}, "im.metrics[].namespaced": {true},
			"im.infrastructureProvider.name": {kraketest.ProviderName}, "im.secretRef.name": {kraketest.CloudName},
		},
	}.Run(t)
}

func metric(name string) any {
	return map[string]any{"name": name, "weight": int64(1), "namespaced": true}
}

// judged is a world of a metric, or of a provider of metrics, which a Cloud has of that name.
func judged(f *kraketest.Fixture, object client.Object, namespaced bool, metric string) *optest.World {
	cloud := f.CreateCloud()
	kraketest.Change(f, cloud, func(c *krakev1.Cloud) {
		c.Spec.IM.Metrics = []krakev1.MetricReference{{Name: metric, Weight: 1, Namespaced: namespaced}}
	})
	world := f.World(object, krakev1.MetricsAvailableCondition)
	world.Judge = cloud
	return world
}

var metricValues = map[string][]any{
	"min": {int64(0), 0.5}, "max": {int64(1), int64(7)}, "allowedValues[]": {0.25, int64(1), int64(7)},
	"provider.name": {"operations"}, "provider.metric": {"load", "cost"},
}

func metricSpec() krakev1.MetricSpec {
	return krakev1.MetricSpec{Max: 1, Provider: krakev1.MetricSource{Name: "operations", Metric: "load"}}
}

// loads are values of which one is too much.
func loads() krakev1.MetricsProviderSpec {
	return krakev1.MetricsProviderSpec{
		Type: krakev1.MetricsProviderStatic, Static: &krakev1.StaticMetrics{Metrics: map[string]float64{"load": 0.25, "cost": 7}},
	}
}

func TestOperations_metric(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := place(t)
			f.Create(&krakev1.MetricsProvider{ObjectMeta: meta(f, "operations"), Spec: loads()})
			return judged(f, &krakev1.Metric{ObjectMeta: meta(f, "tried"), Spec: metricSpec()}, true, "tried")
		},
		Values: metricValues,
	}.Run(t)
}

func TestOperations_globalMetric(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := place(t)
			shared(f, &krakev1.GlobalMetricsProvider{ObjectMeta: metav1.ObjectMeta{Name: "operations"}, Spec: loads()})
			return judged(f, &krakev1.GlobalMetric{ObjectMeta: global(f), Spec: metricSpec()}, false, f.Namespace)
		},
		Values: metricValues,
	}.Run(t)
}

var sourceValues = map[string][]any{
	"static.metrics": {map[string]any{"load": 0.25}, map[string]any{"load": int64(7)}, map[string]any{"cost": 0.25}},
	"prometheus.url": {"http://127.0.0.1:1", "http://127.0.0.1:2"}, // where nothing is
}

func TestOperations_metricsProvider(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := place(t)
			f.Create(&krakev1.Metric{ObjectMeta: meta(f, "tried"), Spec: metricSpec()})
			return judged(f, &krakev1.MetricsProvider{ObjectMeta: meta(f, "operations"), Spec: loads()}, true, "tried")
		},
		Values: sourceValues,
	}.Run(t)
}

func TestOperations_globalMetricsProvider(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := place(t)
			metric := &krakev1.GlobalMetric{ObjectMeta: global(f), Spec: metricSpec()}
			metric.Spec.Provider.Name = f.Namespace
			f.Create(metric)
			return judged(f, &krakev1.GlobalMetricsProvider{ObjectMeta: global(f), Spec: loads()}, false, f.Namespace)
		},
		Values: sourceValues,
	}.Run(t)
}

// global names what is in no namespace after that of its world, whose manager alone sees it.
func global(f *kraketest.Fixture) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: f.Namespace, Labels: map[string]string{managertest.OwnLabel: f.Namespace}}
}

// shared is in no namespace, and the same in all worlds.
func shared(f *kraketest.Fixture, object client.Object) {
	f.Expect(client.IgnoreAlreadyExists(f.Client.Create(context.Background(), object))).To(Succeed())
}

func TestOperations_globalCloud(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := globalPlace(t)
			shared(f, &krakev1.GlobalMetricsProvider{ObjectMeta: metav1.ObjectMeta{Name: "operations"}, Spec: loads()})
			for _, name := range []string{"load", "cost"} {
				spec := metricSpec()
				spec.Provider.Metric = name
				shared(f, &krakev1.GlobalMetric{ObjectMeta: metav1.ObjectMeta{Name: "operations-" + name}, Spec: spec})
			}
			object := &krakev1.GlobalCloud{ObjectMeta: global(f), Spec: *f.CreateCloud().Spec.DeepCopy()}
			object.Spec.IM.InfrastructureProvider = krakev1.ProviderReference{Name: kraketest.ProviderName}
			return f.World(object, krakev1.MetricsAvailableCondition)
		},
		Values: map[string][]any{
			"im.metrics[]": {
				map[string]any{"name": "operations-load", "weight": int64(1)}, map[string]any{"name": "operations-cost", "weight": 0.5},
			},
			"im.metrics[].name": {"operations-load", "operations-cost"}, "im.infrastructureProvider.name": {kraketest.ProviderName},
			"im.secretRef.name": {kraketest.CloudName},
		},
	}.Run(t)
}

// globalPlace is one whose manager uses Global kinds.
func globalPlace(t *testing.T) *kraketest.Fixture {
	f := kraketest.StartIM(t)
	f.Config.GlobalNamespace = f.Namespace
	f.Observe()
	f.RunControllers()
	return f
}

func login(f *kraketest.Fixture) krakev1.InfrastructureProviderSpec {
	f.Create(f.Secret("login", map[string]string{im.SecretKeyUsername: "me", im.SecretKeyPassword: "mine"}))
	f.Create(f.Secret("other", map[string]string{im.SecretKeyToken: kraketest.Token("me", "")}))
	return krakev1.InfrastructureProviderSpec{
		Type: "im", IM: krakev1.IMProvider{URL: kraketest.Address, SecretRef: krakev1.SecretReference{Name: "login"}},
	}
}

var loginValues = map[string][]any{
	"im.url": {kraketest.Address, "http://127.0.0.1:2", "https://192.0.2.1"}, "im.secretRef.name": {"login", "other", "missing"},
}

func TestOperations_globalInfrastructureProvider(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := globalPlace(t)
			return f.World(&krakev1.GlobalInfrastructureProvider{ObjectMeta: global(f), Spec: login(f)}, krakev1.ReachableCondition)
		},
		Values: loginValues,
	}.Run(t)
}

func TestOperations_infrastructureProvider(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := place(t)
			return f.World(&krakev1.InfrastructureProvider{ObjectMeta: meta(f, "im"), Spec: login(f)}, krakev1.ReachableCondition)
		},
		Values: loginValues,
	}.Run(t)
}
