package cloudprovider

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/node"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	// Time in these tests is 300 times as fast as in production: ten minutes pass in two seconds.
	interval      = 100 * time.Millisecond
	monitorPeriod = 16 * time.Millisecond
	// callTimeout is longer than any call that is answered takes, also where others have the processors.
	callTimeout = 20 * time.Second
	timeout     = time.Minute
	// seldomLooked is how often upstream updates the addresses of all nodes: never again in a test.
	seldomLooked = time.Hour

	testLabel = "test"
)

// fixture is a cluster of its own nodes within the API server, and the site that they are at, with upstream's controllers
// between the two.
type fixture struct {
	*WithT
	t          *testing.T
	prefix     string
	kubernetes kubernetes.Interface
	site       *sim.Server
	gate       *gate
	endpoint   string
	folder     string
	cloud      *Cloud
	asked      *asked
	events     *events
}

// world has as many instances as a test wants.
func world(instances int) func(string) sim.Config {
	return func(prefix string) sim.Config { return cloudtest.World(prefix, instances) }
}

// start runs the controllers until the test ends. Change may alter the configuration.
func start(t *testing.T, world func(prefix string) sim.Config, change ...func(*Config)) *fixture {
	t.Helper()
	f := prepare(t, world, change...)
	f.run()
	return f
}

// prepare is start without the controllers.
func prepare(t *testing.T, world func(prefix string) sim.Config, change ...func(*Config)) *fixture {
	t.Helper()
	f := &fixture{
		WithT: NewWithT(t), t: t, events: &events{}, folder: filepath.Join(t.TempDir(), "credentials"),
		prefix: strings.ToLower(fmt.Sprintf("n%d", prefixes.Add(1))),
	}
	f.SetDefaultEventuallyTimeout(timeout)
	f.SetDefaultEventuallyPollingInterval(10 * time.Millisecond)
	var err error
	f.kubernetes, err = kubernetes.NewForConfig(testenv.Config(t))
	f.Expect(err).NotTo(HaveOccurred())
	f.site, _ = simtest.Start(t, world(f.prefix), nil)
	f.gate = &gate{service: f.site}
	listener := httptest.NewServer(f.gate)
	t.Cleanup(func() { f.gate.pass(); listener.CloseClientConnections(); listener.Close() })
	f.endpoint = listener.URL
	cloudtest.Mount(t, f.folder, cloudtest.Credentials(f.endpoint, sim.DefaultToken))

	config := Config{Site: Site{ID: sim.DefaultSiteID}, Credentials: f.folder, Timeout: callTimeout, Egress: egress.Policy{Loopback: true}}
	config.Interval.Duration = interval
	for _, c := range change {
		c(&config)
	}
	f.cloud = New(config)
	f.asked = &asked{
		Cloud: f.cloud, yes: map[string]int{}, no: map[string]int{}, unknown: map[string]int{}, incomplete: map[string]int{},
	}
	return f
}

var prefixes atomic.Int32

// run what k8s.io/cloud-provider/app runs, for this test's nodes only.
func (f *fixture) run() {
	config := testenv.Config(f.t)
	ctx, stop := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactoryWithOptions(f.kubernetes, 0, informers.WithTweakListOptions(
		func(options *metav1.ListOptions) { options.LabelSelector = f.own().LabelSelector }))
	f.cloud.Initialize(clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}, ctx.Done())
	f.cloud.problems.recorder = f.events
	f.cloud.SetInformers(factory)
	informer := factory.Core().V1().Nodes()
	initializer, err := node.NewCloudNodeController(informer, f.kubernetes, f.asked, seldomLooked, 8, 4)
	f.Expect(err).NotTo(HaveOccurred())
	lifecycle, err := nodelifecycle.NewCloudNodeLifecycleController(informer, f.kubernetes, f.asked, monitorPeriod)
	f.Expect(err).NotTo(HaveOccurred())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	metrics := controllersmetrics.NewControllerManagerMetrics("test")
	var running sync.WaitGroup
	running.Go(func() { initializer.RunWithContext(ctx, metrics) })
	running.Go(func() { lifecycle.Run(ctx, metrics) })
	f.t.Cleanup(func() {
		f.gate.pass()
		stop()
		running.Wait()
		factory.Shutdown()
		_ = f.kubernetes.CoreV1().Nodes().DeleteCollection(context.Background(), metav1.DeleteOptions{}, f.own())
	})
}

// own are the nodes of this test.
func (f *fixture) own() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: testLabel + "=" + f.prefix}
}

// name of a node.
func (f *fixture) name(n int) string { return cloudtest.NodeName(f.prefix, n) }

// register a node.
func (f *fixture) register(name string, change ...func(*corev1.Node)) *corev1.Node {
	f.t.Helper()
	node := cloudtest.Node(name, change...)
	node.Labels = map[string]string{testLabel: f.prefix}
	registered, err := f.kubernetes.CoreV1().Nodes().Create(f.t.Context(), node, metav1.CreateOptions{FieldManager: "kubelet"})
	f.Expect(err).NotTo(HaveOccurred())
	return registered
}

// registerSilent registers initialised nodes of the first instances, whose kubelets don't report any more.
func (f *fixture) registerSilent(number int) {
	f.t.Helper()
	for n := range number {
		f.register(f.name(n), cloudtest.Initialized, cloudtest.NotReady, cloudtest.WithProviderID(cloudtest.ProviderID(n)))
	}
}

// node as it is now; nil if it is gone.
func (f *fixture) node(name string) *corev1.Node {
	node, err := f.kubernetes.CoreV1().Nodes().Get(f.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	f.Expect(err).NotTo(HaveOccurred())
	return node
}

// nodes that there are.
func (f *fixture) nodes() (names []string) {
	list, err := f.kubernetes.CoreV1().Nodes().List(f.t.Context(), f.own())
	f.Expect(err).NotTo(HaveOccurred())
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	return names
}

// untilAsked waits until upstream has asked so often about each of the first nodes, and has got a kind of answer.
func (f *fixture) untilAsked(kind map[string]int, times int, names ...string) {
	f.t.Helper()
	before := f.asked.count(kind)
	f.Eventually(func(g Gomega) {
		now := f.asked.count(kind)
		for _, name := range names {
			g.Expect(now[name]-before[name]).To(BeNumerically(">=", times), name)
		}
	}).Should(Succeed())
}

// asked is the cloud, and a record of its answers to upstream's controllers about nodes.
type asked struct {
	*Cloud
	mu               sync.Mutex
	yes, no, unknown map[string]int
	incomplete       map[string]int // could not be initialised
}

// InstancesV2 records.
func (a *asked) InstancesV2() (cloudprovider.InstancesV2, bool) { return a, true }

// InstanceExists records.
func (a *asked) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	exists, err := a.Cloud.InstanceExists(ctx, node)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
		a.unknown[node.Name]++
	case exists:
		a.yes[node.Name]++
	default:
		a.no[node.Name]++
	}
	return exists, err
}

// InstanceMetadata records.
func (a *asked) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	metadata, err := a.Cloud.InstanceMetadata(ctx, node)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.incomplete[node.Name]++
	}
	return metadata, err
}

func (a *asked) count(kind map[string]int) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	copied := map[string]int{}
	for name, n := range kind {
		copied[name] = n
	}
	return copied
}

// gate is between the client and the simulator.
type gate struct {
	mu      sync.Mutex
	service http.Handler
	answer  answerer
	tokens  []string // of all requests
}

// ServeHTTP lets a request pass, or answers it.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.tokens = append(g.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	service, answer := g.service, g.answer
	g.mu.Unlock()
	if answer != nil {
		answer(w, r, service)
		return
	}
	service.ServeHTTP(w, r)
}

// stop lets all requests be answered so from now on.
func (g *gate) stop(answer answerer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = answer
}

// pass lets all requests through again.
func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = nil
}

// events that were recorded.
type events struct {
	record.FakeRecorder
	mu  sync.Mutex
	all []event
}

type event struct{ object, kind, reason, message string }

// Event records.
func (e *events) Event(object runtime.Object, kind, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := ""
	switch o := object.(type) {
	case *corev1.Node:
		name = o.Name
	case *corev1.ObjectReference:
		name = o.Kind
	}
	e.all = append(e.all, event{name, kind, reason, message})
}

// of an object: the reasons, in order.
func (e *events) of(object string) (reasons []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.all {
		if event.object == object {
			reasons = append(reasons, event.reason)
		}
	}
	return reasons
}

func (e *events) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprint(e.all)
}

// refresh lists the site now.
func (f *fixture) refresh() {
	f.t.Helper()
	at, err := f.cloud.site(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(at.refresh(f.t.Context(), f.cloud.clock.Now())).To(Succeed())
}
