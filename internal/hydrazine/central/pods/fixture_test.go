package pods_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/central/pods"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	patience = 30 * time.Second
	blue     = "ovn-6f1c2a34-0000-4000-8000-00000000b1ce"
)

var node = netip.MustParseAddr("172.18.0.2")

// fixture is a runtime in a namespace of its own. No kubelet is there: the test says what becomes of Pods.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.WithWatch
	namespace string
	config    pods.Config
	writes    *writes
	runtime   *pods.Runtime
	access    *rest.Config                        // of the runtime
	with      func(context.Context, ctrl.Manager) // what else the manager has
	stop      func()
}

func start(t *testing.T, change ...func(*pods.Config)) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, client: testenv.Client(t), namespace: testenv.Namespace(t), writes: &writes{}}
	f.SetDefaultEventuallyTimeout(patience)
	f.config = pods.Config{Namespace: f.namespace, Manager: "managers", Image: "central:1", Service: corev1.ServiceTypeNodePort, Address: node}
	for _, c := range change {
		c(&f.config)
	}
	f.namespace, f.access = f.config.Namespace, testenv.Config(t)
	t.Cleanup(func() { f.stop() })
	f.stop = func() {}
	return f.run()
}

// run the runtime. Called again, it restarts it without its state.
func (f *fixture) run() *fixture {
	f.t.Helper()
	f.stop()
	config := rest.CopyConfig(f.access)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return f.writes.count(next) })
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(f.t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{f.namespace: {}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.runtime, err = pods.New(mgr, f.config)
	f.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	if f.with != nil {
		f.with(ctx, mgr)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	f.stop = func() {
		cancel()
		f.Eventually(ended).Should(Receive())
		f.stop = func() {}
	}
	f.Eventually(mgr.Elected()).Should(BeClosed())
	return f
}

// writes to the API server that a runtime has asked for.
type writes struct {
	mutex   sync.Mutex
	all     []string
	refused string // objects that can't be read
}

func (w *writes) refuse(plural string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.refused = plural
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (w *writes) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		w.mutex.Lock()
		if request.Method != http.MethodGet {
			w.all = append(w.all, request.Method+" "+request.URL.Path)
		}
		away := request.Method == http.MethodGet && w.refused != "" && strings.Contains(request.URL.Path, "/"+w.refused+"/")
		w.mutex.Unlock()
		if away {
			return nil, errors.New("the API server is away")
		}
		return next.RoundTrip(request)
	})
}

func (w *writes) take() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	defer func() { w.all = nil }()
	return w.all
}

// ensure that nothing is in the way but what a kubelet would do.
func (f *fixture) ensure(group string) {
	f.t.Helper()
	_, err := f.runtime.Ensure(f.t.Context(), group)
	f.Expect(err).To(Or(BeNil(), MatchError(central.ErrOnItsWay)))
}

// settled waits until the runtime has nothing to write any more: it hears late of what it has written.
func (f *fixture) settled(group string) {
	f.t.Helper()
	f.Eventually(func() []string {
		f.writes.take()
		f.ensure(group)
		return f.writes.take()
	}).Should(BeEmpty())
}

func kinds() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}, &corev1.Secret{}}
}

func (f *fixture) get(group string, into client.Object) error {
	return f.client.Get(f.t.Context(), client.ObjectKey{Namespace: f.namespace, Name: group}, into)
}

// pod is what a kubelet and a controller would make of the Deployment.
func (f *fixture) pod(group, ip string) *corev1.Pod {
	f.t.Helper()
	d := &appsv1.Deployment{}
	f.Expect(f.get(group, d)).To(Succeed())
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, GenerateName: group + "-", Labels: d.Spec.Template.Labels},
		Spec:       d.Spec.Template.Spec,
	}
	f.Expect(f.client.Create(f.t.Context(), p)).To(Succeed())
	f.t.Cleanup(func() { _ = f.client.Delete(context.Background(), p, client.GracePeriodSeconds(0)) })
	f.say(p, ip, corev1.ConditionTrue)
	return p
}

func (f *fixture) say(p *corev1.Pod, ip string, ready corev1.ConditionStatus) {
	f.t.Helper()
	p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	if p.Status.Phase != corev1.PodFailed {
		p.Status.Phase = corev1.PodRunning
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	f.Expect(f.client.Status().Update(f.t.Context(), p)).To(Succeed())
}

// hears of the group within some time.
func (f *fixture) hears(group string) {
	f.t.Helper()
	f.Eventually(f.runtime.Died()).Should(Receive(Equal(group)))
}

// quiet drains the runtime's notifications.
func (f *fixture) quiet() {
	for {
		select {
		case <-f.runtime.Died():
		case <-time.After(300 * time.Millisecond):
			return
		}
	}
}
