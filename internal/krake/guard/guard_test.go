package guard_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/guard"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const patience = time.Minute

// fixture is a namespace with the guards, and one for the Secrets of Global kinds.
type fixture struct {
	*WithT
	t                 *testing.T
	client            client.Client
	namespace, global string
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{NewWithT(t), t, testenv.Client(t), testenv.Namespace(t), testenv.Namespace(t)}
	f.SetDefaultEventuallyTimeout(patience)
	f.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	mgr, err := ctrl.NewManager(testenv.Config(t), ctrl.Options{
		Scheme: testenv.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{f.namespace: {}, f.global: {}}},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // each test has a manager
	})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = guard.Setup(t.Context(), mgr, guard.Config{
		GlobalNamespace: f.global, Options: controller.Options{NewQueue: queue.New[reconcile.Request]},
	})
	f.Expect(err).NotTo(HaveOccurred())
	testenv.Run(t, mgr)
	return f
}

func (f *fixture) create(o client.Object) {
	f.t.Helper()
	f.Expect(f.client.Create(f.t.Context(), o)).To(Succeed())
}

func (f *fixture) secret(namespace, name string) *corev1.Secret {
	f.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	f.create(s)
	return s
}

func (f *fixture) delete(objects ...client.Object) {
	f.t.Helper()
	for _, o := range objects {
		f.Expect(f.client.Delete(f.t.Context(), o)).To(Succeed())
	}
}

// has waits until an object has a finalizer.
func (f *fixture) has(o client.Object, finalizer string) {
	f.t.Helper()
	f.Eventually(func() []string {
		f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		return o.GetFinalizers()
	}).Should(ConsistOf(finalizer))
}

func (f *fixture) gone(objects ...client.Object) {
	f.t.Helper()
	for _, o := range objects {
		f.Eventually(func() bool {
			return apierrors.IsNotFound(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(o), o))
		}).Should(BeTrue(), "%T", o)
	}
}

type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

// stays expects that an object which is being deleted says who uses it.
func (f *fixture) stays(o conditioned, user string) {
	f.t.Helper()
	f.Eventually(func() *metav1.Condition {
		f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		return meta.FindStatusCondition(o.GetConditions(), krakev1.DeletingCondition)
	}).Should(And(Not(BeNil()), HaveField("Message", "it is still used by "+user+": delete these first")))
}

func cloud(provider string, namespaced bool) krakev1.CloudSpec {
	im := &krakev1.IMCloud{SecretRef: krakev1.SecretReference{Name: "cloud"}}
	im.InfrastructureProvider = krakev1.ProviderReference{Name: provider, Namespaced: namespaced}
	return krakev1.CloudSpec{Type: krakev1.CloudTypeIM, IM: im}
}

func provider() krakev1.InfrastructureProviderSpec {
	return krakev1.InfrastructureProviderSpec{
		Type: "im", IM: krakev1.IMProvider{URL: "https://im.example.com", SecretRef: krakev1.SecretReference{Name: "im"}},
	}
}

// bound is a Cluster on a cloud. It has a finalizer, as one whose infrastructure exists.
func (f *fixture) bound(to krakev1.CloudReference) *krakev1.Cluster {
	f.t.Helper()
	c := &krakev1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "demo", Finalizers: []string{krakev1.ClusterFinalizer}},
		Spec:       krakev1.ClusterSpec{TOSCA: "a: b"},
	}
	f.create(c)
	c.Status.ScheduledTo = &to
	f.Expect(f.client.Status().Update(f.t.Context(), c)).To(Succeed())
	return c
}

func TestGuard_keepsAllOfAClusterUntilItIsGone(t *testing.T) {
	t.Parallel()
	f := start(t)
	login, key := f.secret(f.namespace, "im"), f.secret(f.namespace, "cloud")
	im := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "im"}, Spec: provider()}
	f.create(im)
	on := &krakev1.Cloud{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "a"}, Spec: cloud("im", true)}
	f.create(on)
	f.has(im, guard.Finalizer)
	f.has(login, guard.SecretFinalizer)
	f.has(key, guard.SecretFinalizer)
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(on), on)).To(Succeed())
	f.Expect(on.Finalizers).To(BeEmpty(), "no Cluster is on it")

	cluster := f.bound(on.Reference())
	f.has(on, guard.Finalizer)
	f.delete(cluster, on, im, login, key) // at once, in any order
	f.stays(on, "Cluster "+f.namespace+"/demo")
	f.stays(im, "Cloud "+f.namespace+"/a")
	for _, secret := range []*corev1.Secret{login, key} {
		f.has(secret, guard.SecretFinalizer)
	}
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	cluster.Finalizers = nil
	f.Expect(f.client.Update(t.Context(), cluster)).To(Succeed())
	f.gone(cluster, on, im, login, key)
}

//nolint:paralleltest // all managers guard what is global, and those of other tests don't see this one's Cluster
func TestGuard_keepsGlobalKindsAndTheirSecretsInTheManagersNamespace(t *testing.T) {
	f := start(t)
	login, key, other := f.secret(f.global, "im"), f.secret(f.global, "cloud"), f.secret(f.namespace, "cloud")
	im := &krakev1.GlobalInfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}, Spec: provider()}
	f.create(im)
	on := &krakev1.GlobalCloud{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}, Spec: cloud(im.Name, false)}
	f.create(on)
	cluster := f.bound(on.Reference())
	f.has(on, guard.Finalizer)
	f.has(im, guard.Finalizer)
	f.has(login, guard.SecretFinalizer)
	f.has(key, guard.SecretFinalizer)
	f.delete(other)
	f.gone(other) // nothing uses it
	f.delete(on, im, key, login)
	f.stays(on, "Cluster "+f.namespace+"/demo")
	f.stays(im, "GlobalCloud "+on.Name)
	cluster.Finalizers = nil
	f.Expect(f.client.Update(t.Context(), cluster)).To(Succeed())
	f.delete(cluster)
	f.gone(cluster, on, im, key, login)
}

func TestGuard_letsGoWhatIsNotUsedAnyMore(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, name := range []string{"one", "two"} {
		f.create(&krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Spec: provider()})
	}
	on := &krakev1.Cloud{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "a"}, Spec: cloud("one", true)}
	f.create(on)
	one := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "one"}}
	two := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "two"}}
	f.has(one, guard.Finalizer)
	on.Spec.IM.InfrastructureProvider.Name = "two"
	f.Expect(f.client.Update(t.Context(), on)).To(Succeed())
	f.has(two, guard.Finalizer)
	f.delete(one)
	f.gone(one)
}
