package dpuset_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

// still is how long something is looked at that must not happen.
const still = 2 * time.Second

func TestMain(m *testing.M) { testenv.Main(m) }

type fixture struct {
	*WithT
	t         *testing.T
	namespace string
	client.Client
}

func newFixture(t *testing.T, c client.Client) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, namespace: testenv.Namespace(t), Client: c}
	f.SetDefaultEventuallyTimeout(time.Minute)
	return f
}

// run controllers of one namespace.
func (f *fixture) run(config *rest.Config, setup func(ctrl.Manager) error) {
	f.t.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(f.t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{f.namespace: {}}},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(setup(mgr)).To(Succeed())
	testenv.Run(f.t, mgr)
}

// host runs the controllers of the host cluster.
func host(t *testing.T) *fixture {
	t.Helper()
	kamaji.Install(t, testenv.Config(t))
	f := newFixture(t, testenv.Client(t))
	f.run(testenv.Config(t), func(mgr ctrl.Manager) error {
		clusters, err := dpucluster.Setup(mgr, dpucluster.Config{
			Scheme: mgr.GetScheme(), Egress: egress.Policy{Loopback: true}, ProbeInterval: 200 * time.Millisecond, Cached: dpuset.Cached(),
		}, controller.Options{NewQueue: queue.New[reconcile.Request]})
		if err != nil {
			return err
		}
		return dpuset.Setup(mgr, dpuset.Config{Clusters: clusters, Poll: 500 * time.Millisecond}, controller.Options{NewQueue: queue.New[reconcile.Request]})
	})
	return f
}

func (f *fixture) cluster(name, place string, kubeconfig []byte) *corev1.Secret {
	f.t.Helper()
	secret := kamaji.Kubeconfig(f.t, f.Client, f.namespace, name, kubeconfig)
	secret.Labels["place"] = place
	f.Expect(f.Update(f.t.Context(), secret)).To(Succeed())
	return secret
}

func itself(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(testenv.KubeconfigOf(t, "administrator", "system:masters"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return data
}

// condition of an object, once it is about its generation: "True", or reason and message.
func (f *fixture) condition(o svcv1.Object, kind string) func() string {
	return func() string {
		object := o.(client.Object)
		if err := f.Get(f.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(o.GetStatus().Conditions, kind)
		switch {
		case c == nil || c.ObservedGeneration != o.GetGeneration():
			return "unknown"
		case c.Status == metav1.ConditionTrue:
			return "True"
		}
		return c.Reason + ": " + c.Message
	}
}

func (f *fixture) ready(o svcv1.Object) func() string { return f.condition(o, svcv1.ReadyCondition) }

func (f *fixture) change(o client.Object, change func()) {
	f.t.Helper()
	f.Eventually(func() error {
		if err := f.Get(f.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return f.Update(f.t.Context(), o)
	}).Should(Succeed())
}

// gone reports whether an object doesn't exist.
func gone(t *testing.T, c client.Client, o client.Object) func() bool {
	return func() bool { return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(o), o)) }
}

// makeReady says what the controller of an object in a DPU cluster would.
func (f *fixture) makeReady(c client.Client, o svcv1.Object) {
	f.t.Helper()
	object := o.(client.Object)
	f.Eventually(func() error {
		if err := c.Get(f.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		meta.SetStatusCondition(&o.GetStatus().Conditions, metav1.Condition{
			Type: svcv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: svcv1.ReasonSuccess, ObservedGeneration: o.GetGeneration(),
		})
		return c.Status().Update(f.t.Context(), object)
	}).Should(Succeed())
}
