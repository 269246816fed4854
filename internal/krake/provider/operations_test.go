package provider_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
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

func TestOperations_infrastructureProvider(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := place(t)
			f.Create(f.Secret("login", map[string]string{im.SecretKeyUsername: "me", im.SecretKeyPassword: "mine"}))
			f.Create(f.Secret("other", map[string]string{im.SecretKeyToken: kraketest.Token("me", "")}))
			return f.World(&krakev1.InfrastructureProvider{ObjectMeta: meta(f, "im"), Spec: krakev1.InfrastructureProviderSpec{
				Type: "im", IM: krakev1.IMProvider{URL: kraketest.Address, SecretRef: krakev1.SecretReference{Name: "login"}},
			}}, krakev1.ReachableCondition)
		},
		Values: map[string][]any{
			"im.url": {kraketest.Address, "http://127.0.0.1:2", "https://192.0.2.1"}, "im.secretRef.name": {"login", "other", "missing"},
		},
	}.Run(t)
}
