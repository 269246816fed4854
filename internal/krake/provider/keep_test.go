package provider_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/krake/guard"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/managertest"
)

// A whole file is deleted at once: cloud, provider and Secrets stay until the infrastructure is gone.
func TestKeep_allThatAClusterIsMadeWithStaysAsLongAsIt(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	cloud := f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilState(c, krakev1.StateConnecting)
	im := &krakev1.InfrastructureProvider{}
	im.Namespace, im.Name = f.Namespace, kraketest.ProviderName
	login, key := f.Secret(kraketest.ProviderName, nil), f.Secret(kraketest.CloudName, nil)
	for object, finalizer := range map[client.Object]string{
		cloud: guard.Finalizer, im: guard.Finalizer, login: guard.SecretFinalizer, key: guard.SecretFinalizer,
	} {
		f.Expect(f.Read(object)).To(Succeed())
		f.Expect(object.GetFinalizers()).To(ContainElement(finalizer), "%T", object)
	}
	for _, object := range []client.Object{login, key, im, cloud, c} {
		f.Delete(object)
	}
	for _, object := range []client.Object{c, cloud, im, login, key} {
		f.UntilGone(object)
	}
	f.Expect(f.IM.State()).To(BeEmpty())
}

// Without the Secret of a cloud, what is made there couldn't be deleted.
func TestKeep_nothingIsMadeWithASecretThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	cloud := f.CreateCloud()
	key := f.Secret(kraketest.CloudName, nil)
	kraketest.Change(f, key, func(s *corev1.Secret) { s.Finalizers = []string{"test/of-another-client"} })
	f.Delete(key)
	f.RunControllers()
	c := f.CreateCluster("demo")
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Invalid", "secret "+f.Namespace+"/"+cloud.Name)
	f.Expect(f.Called("createInfrastructure")).To(BeZero())
	kraketest.Change(f, key, func(s *corev1.Secret) { s.Finalizers = nil })
}

// Admission keeps a cloud where it is once its Clusters are counted, which takes a while here. So nothing is made before.
func TestKeep_nothingIsMadeOnACloudThatMayStillMove(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(func() { close(over); silent.Close() })
	f.Create(&krakev1.MetricsProvider{ObjectMeta: meta(f, "silent"), Spec: krakev1.MetricsProviderSpec{
		Type: krakev1.MetricsProviderPrometheus, Prometheus: &krakev1.PrometheusMetrics{URL: silent.URL},
	}})
	f.Create(&krakev1.Metric{ObjectMeta: meta(f, "load"), Spec: krakev1.MetricSpec{
		Max: 1, Provider: krakev1.MetricSource{Name: "silent", Metric: "load"},
	}})
	cloud := f.CreateCloud()
	kraketest.Change(f, cloud, func(c *krakev1.Cloud) {
		c.Spec.IM.Metrics = []krakev1.MetricReference{{Name: "load", Weight: 1, Namespaced: true}}
	})
	var early atomic.Int32
	next := f.Transport
	f.Transport = httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
		on := &krakev1.Cloud{ObjectMeta: meta(f, cloud.Name)}
		if err := f.Read(on); r.Method == http.MethodPost && (err != nil || on.Status.Clusters == 0) {
			early.Add(1)
		}
		return next.RoundTrip(r)
	})
	f.Create(&krakev1.CloudBinding{ObjectMeta: meta(f, "demo"), Spec: krakev1.CloudBindingSpec{
		Cluster: krakev1.ClusterReference{Name: "demo"}, Cloud: cloud.Reference(),
	}})
	f.RunControllers()
	f.UntilState(f.CreateCluster("demo"), krakev1.StateConnecting)
	f.Expect(early.Load()).To(BeZero())
}

// Managers of one namespace each don't see what the Clusters of others use: they leave it alone, and use none of it.
func TestGlobal_kindsAreLeftAloneWithoutANamespaceForTheirSecrets(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	f.Config.GlobalNamespace = ""
	f.Observe()
	made := f.CreateCloud()
	of := metav1.ObjectMeta{
		Name: f.Namespace, Labels: map[string]string{managertest.OwnLabel: f.Namespace}, Finalizers: []string{guard.Finalizer},
	}
	im := &krakev1.GlobalInfrastructureProvider{ObjectMeta: of, Spec: krakev1.InfrastructureProviderSpec{
		Type: "im", IM: krakev1.IMProvider{URL: kraketest.Address, SecretRef: krakev1.SecretReference{Name: kraketest.ProviderName}},
	}}
	cloud := &krakev1.GlobalCloud{ObjectMeta: of, Spec: *made.Spec.DeepCopy()}
	cloud.Spec.IM.InfrastructureProvider = krakev1.ProviderReference{Name: im.Name}
	f.Create(im)
	f.Create(cloud)
	kraketest.Change(f, made, func(c *krakev1.Cloud) { c.Spec.IM.InfrastructureProvider = cloud.Spec.IM.InfrastructureProvider })
	f.RunControllers()

	const remedy = "this manager uses no Global kinds (--global-namespace is empty): "
	c := f.CreateCluster("demo") // the Cloud's provider is a Global one
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Invalid", "GlobalInfrastructureProvider "+im.Name+": "+remedy)
	f.Delete(c)
	f.UntilGone(c)
	f.Delete(made)
	f.UntilGone(made)
	c = f.CreateCluster("another")
	f.UntilReason(c, krakev1.ScheduledCondition, "NoSuitableCloud", "there is no cloud: write a Cloud in this namespace")
	f.Create(&krakev1.CloudBinding{ObjectMeta: meta(f, "another"), Spec: krakev1.CloudBindingSpec{
		Cluster: krakev1.ClusterReference{Name: "another"}, Cloud: cloud.Reference(),
	}})
	f.UntilReason(c, krakev1.ScheduledCondition, "NotFound", cloud.Reference().String()+": named by CloudBinding another: "+remedy)
	for _, object := range []interface {
		client.Object
		GetConditions() []metav1.Condition
	}{im, cloud} {
		f.Expect(f.Read(object)).To(Succeed())
		f.Expect(object.GetFinalizers()).To(ConsistOf(guard.Finalizer))
		f.Expect(object.GetConditions()).To(BeEmpty())
	}
	f.Expect(cloud.Status).To(BeZero())
}
