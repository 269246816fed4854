package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(goruntime.GOMAXPROCS(0)) // each test has an OVN central, which computes, and some wait for it for two seconds only
	testenv.Main(m)
}

const patience = 30 * time.Second

// tests have loopback addresses and ports of their own.
var tests atomic.Int32

// fixture is a controller with real centrals, whose DPUs are only said to be there.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.WithWatch
	namespace string
	dir       string
	beside    []string // other namespaces
	number    int
	lease     time.Duration
	plaintext bool                  // DPUs reach the centrals so
	closed    atomic.Bool           // centrals that aren't open to the DPUs yet stay so
	onItsWay  atomic.Bool           // what is asked of centrals takes its time
	replaced  atomic.Bool           // centrals are others than those that were there first
	faults    interceptor.Funcs     // of what the controllers say to the API server
	failures  atomic.Int32          // errors of reconcilers in the log
	wrap      transport.WrapperFunc // of all that the manager says to the API server, past its cache
	stop      func()
	// agents by chassis.
	agents map[string]*agentstest.Agent
}

// runtime is that of the centrals of a fixture.
type runtime struct {
	central.Runtime
	f *fixture
}

func (r runtime) Ensure(ctx context.Context, group string) (central.Central, error) {
	if r.f.onItsWay.Load() {
		return central.Central{}, central.ErrOnItsWay
	}
	if r.f.replaced.Load() {
		group += "-2"
	}
	c, err := r.Runtime.Ensure(ctx, group)
	if r.f.closed.Load() {
		c.Listen = "nowhere"
	}
	return c, err
}

func (r runtime) Delete(ctx context.Context, group string) error {
	if r.f.onItsWay.Load() {
		return central.ErrOnItsWay
	}
	return errors.Join(r.Runtime.Delete(ctx, group), r.Runtime.Delete(ctx, group+"-2"))
}

func start(t *testing.T) *fixture {
	t.Helper()
	toolstest.Programs(t, "ovn-northd")
	f := &fixture{
		WithT: NewWithT(t), t: t, client: testenv.Client(t), namespace: testenv.Namespace(t), number: int(tests.Add(1)),
		lease: time.Hour, agents: map[string]*agentstest.Agent{},
	}
	f.SetDefaultEventuallyTimeout(patience)
	var err error
	f.dir, err = os.MkdirTemp("", "hz")
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(f.clean)
	return f
}

// attached has a controller with leases of this duration, and a host of the group blue that DPU 2 has on its network.
func attached(t *testing.T, lease time.Duration) (*fixture, *agentstest.Agent, *resourcev1.ManagedResource) {
	t.Helper()
	f := start(t)
	f.lease = lease
	f.run()
	f.group("blue")
	agent := f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	return f, agent, host
}

// clean ends the centrals. Their folder's name is all that is known of them by then.
func (f *fixture) clean() {
	if f.stop != nil {
		f.stop()
	}
	f.clearPublicIPs()
	centrals := central.NewProcesses(context.Background(), f.dir, netip.MustParseAddr("127.0.0.1"))
	groups, _ := filepath.Glob(filepath.Join(f.dir, "*", "southbound.port"))
	for _, group := range groups {
		f.Expect(centrals.Delete(context.Background(), filepath.Base(filepath.Dir(group)))).To(Succeed())
	}
	f.Expect(os.RemoveAll(f.dir)).To(Succeed())
}

// run the controllers. Called again, it restarts them without their state.
func (f *fixture) run() *fixture {
	f.t.Helper()
	if f.stop != nil {
		f.stop()
	}
	namespaces := map[string]cache.Config{f.namespace: {}}
	for _, name := range f.beside {
		namespaces[name] = cache.Config{}
	}
	config := testenv.Config(f.t)
	config.Wrap(f.wrap)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(f.t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: namespaces,
			ByObject: map[client.Object]cache.ByObject{
				&networkfabricv1.PublicIP{}: {Label: labels.SelectorFromSet(labels.Set{"fixture": f.namespace})},
			},
		},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, options)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(c, f.faults), nil
		},
		Logger: funcr.New(func(_, text string) {
			if strings.Contains(text, "Reconciler error") {
				f.failures.Add(1)
			}
		}, funcr.Options{}),
	})
	f.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	centrals := central.NewProcesses(ctx, f.dir, netip.MustParseAddr("127.0.0.1"))
	centrals.Plaintext = f.plaintext
	centrals.Ports = [2]uint16{uint16(18000 + 10*f.number), uint16(18009 + 10*f.number)}
	f.Expect(controller.Setup(ctx, mgr, controller.Config{
		Centrals: runtime{centrals, f},
		Agents:   f.pool(ctx),
		Lease:    f.lease, Poll: time.Second, SpeakersNamespace: f.namespace,
		Options: ctrlcontroller.Options{MaxConcurrentReconciles: 4, NewQueue: queue.New[reconcile.Request]},
	})).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	f.stop = func() {
		cancel()
		f.Eventually(ended, patience).Should(Receive(), func() string { // what the controllers are in the middle of
			var all strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
			return all.String()
		})
		f.stop = nil
	}
	return f
}

// pool of agents, whose addresses are on loopback in truth.
func (f *fixture) pool(ctx context.Context) *agents.Pool {
	return agents.NewPool(ctx, agents.Config{
		Port: f.port(), Heartbeat: time.Second, Credentials: insecure.NewCredentials(),
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", network(f.t)+strings.TrimPrefix(address, "172.20."))
		},
	})
}

func (f *fixture) port() uint16 { return uint16(19000 + f.number) }

// dpu is the address of one: those of a test are a network of their own. Agents are on loopback in truth.
func (f *fixture) dpu(n int) string { return fmt.Sprintf("172.20.%d.%d", f.number, n) }

func (f *fixture) agent(n int) *agentstest.Agent {
	f.t.Helper()
	a := agentstest.Start(f.t, f.loopback(n), f.port(), f.report(n))
	f.agents[a.Says().GetChassis()] = a
	return a
}

// oldAgent is one of level 1.
func (f *fixture) oldAgent(n int) *agentstest.Agent {
	f.t.Helper()
	said := f.report(n)
	agentstest.Older(said)
	return agentstest.Start(f.t, f.loopback(n), f.port(), said, agentstest.Level1())
}

func (f *fixture) report(n int) *agentstest.Said {
	return agentstest.Report(fmt.Sprintf("dpu%d", n), f.dpu(n)+"/24", f.dpu(1))
}

func (f *fixture) group(name string, change ...func(*resourcev1.ResourceGroup)) *resourcev1.ResourceGroup {
	f.t.Helper()
	g := &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec: resourcev1.ResourceGroupSpec{
			Network:                   &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24},
			NetworkImplementationType: resourcev1.SoftwareNetwork,
		},
	}
	for _, c := range change {
		c(g)
	}
	f.Expect(f.client.Create(f.t.Context(), g)).To(Succeed())
	return g
}

// host number n of a group is behind DPU n.
func (f *fixture) host(group string, n int, change ...func(*resourcev1.ManagedResource)) *resourcev1.ManagedResource {
	f.t.Helper()
	r := &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("%s-host%d", group, n)},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: group, HostIP: resourcev1.IPAddress(fmt.Sprintf("10.10.10.%d", n)),
			HostMAC: resourcev1.MACAddress(fmt.Sprintf("02:00:0a:0a:0a:%02x", n)), HostAccess: resourcev1.FabricAccess,
			DPUIPs: []resourcev1.IPAddress{resourcev1.IPAddress(f.dpu(n)), resourcev1.IPAddress(f.dpu(100 + n))},
		},
	}
	for _, c := range change {
		c(r)
	}
	f.Expect(f.client.Create(f.t.Context(), r)).To(Succeed())
	return r
}

// conditioned is what has conditions.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

// becomes waits for a condition with a status and a reason, and returns its message. An empty reason is any.
func (f *fixture) becomes(object conditioned, kind string, status metav1.ConditionStatus, reason string) string {
	f.t.Helper()
	var message string
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
		c := meta.FindStatusCondition(object.GetConditions(), kind)
		g.Expect(c).NotTo(BeNil(), kind)
		g.Expect(c.Status).To(Equal(status), "%s: %s", c.Reason, c.Message)
		if reason != "" {
			g.Expect(c.Reason).To(Equal(reason), c.Message)
		}
		message = c.Message
	}).WithTimeout(patience).Should(Succeed())
	return message
}

func (f *fixture) gone(object client.Object) {
	f.t.Helper()
	f.Eventually(func() error {
		return f.client.Get(f.t.Context(), client.ObjectKeyFromObject(object), object)
	}).WithTimeout(patience).Should(MatchError(ContainSubstring("not found")))
}

// ovn runs ovn-nbctl or ovn-sbctl on a group's central.
func (f *fixture) ovn(g Gomega, program string, group *resourcev1.ResourceGroup, args ...string) string {
	f.t.Helper()
	database := map[string]string{"ovn-nbctl": "nb", "ovn-sbctl": "sb"}[program]
	socket := fmt.Sprintf("unix:%s/ovn-%s/%s.sock", f.dir, group.UID, database)
	said, err := exec.Command(program, append([]string{"--db=" + socket, "--timeout=30"}, args...)...).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(said))
	return strings.TrimSpace(string(said))
}

// change an object's spec, even if its status is written meanwhile.
func (f *fixture) change(r *resourcev1.ManagedResource, change func(*resourcev1.ManagedResourceSpec)) {
	f.t.Helper()
	base := r.DeepCopy()
	change(&r.Spec)
	f.Expect(f.client.Patch(f.t.Context(), r, client.MergeFrom(base))).To(Succeed())
}

// watch what becomes of an object's condition: its reasons, one after the other.
func (f *fixture) watch(r *resourcev1.ManagedResource, kind string) func() []string {
	f.t.Helper()
	watcher, err := f.client.Watch(f.t.Context(), &resourcev1.ManagedResourceList{}, client.InNamespace(r.Namespace),
		client.MatchingFields{"metadata.name": r.Name})
	f.Expect(err).NotTo(HaveOccurred())
	f.t.Cleanup(watcher.Stop)
	var mutex sync.Mutex
	var reasons []string
	go func() {
		for e := range watcher.ResultChan() {
			if now, ok := e.Object.(*resourcev1.ManagedResource); ok {
				if c := meta.FindStatusCondition(now.Status.Conditions, kind); c != nil {
					mutex.Lock()
					reasons = append(reasons, c.Reason)
					mutex.Unlock()
				}
			}
		}
	}()
	return func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Compact(slices.Clone(reasons))
	}
}

// bind does what ovn-controller does on a DPU when it has the flows of a host's port.
func (f *fixture) bind(group *resourcev1.ResourceGroup, host *resourcev1.ManagedResource, a *agentstest.Agent, n int) {
	f.t.Helper()
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	chassis, port := host.Status.LogicalPortReference.DPU, host.Status.LogicalPortReference.LogicalPort
	f.Eventually(func(g Gomega) {
		f.ovn(g, "ovn-sbctl", group, "--may-exist", "chassis-add", chassis, "geneve", f.dpu(n))
		f.ovn(g, "ovn-sbctl", group, "--may-exist", "lsp-bind", port, chassis)
		f.ovn(g, "ovn-sbctl", group, "set", "Port_Binding", port, "up=true")
	}).WithTimeout(patience).Should(Succeed())
	a.Say(func(r *agentstest.Said) {
		for _, p := range r.GetPorts() {
			if p.GetAssignment().GetResourceUid() == string(host.UID) {
				p.Installed = true
			}
		}
	})
}

var errDead = errors.New("the agent is dead")

// wipe a central: all its processes killed, and its databases removed.
func (f *fixture) wipe(group *resourcev1.ResourceGroup) {
	f.t.Helper()
	dir := fmt.Sprintf("%s/ovn-%s", f.dir, group.UID)
	for _, name := range []string{"northd", "sb", "nb"} {
		data, err := os.ReadFile(filepath.Join(dir, name+".pid"))
		f.Expect(err).NotTo(HaveOccurred())
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		f.Expect(err).NotTo(HaveOccurred())
		_ = os.Remove(filepath.Join(dir, name+".db"))
		f.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
	}
}

// open reports whether the DPUs can connect to a group's central.
func (f *fixture) open(group *resourcev1.ResourceGroup) bool {
	_, address, _ := strings.Cut(group.Status.SoftwareNetworkConfiguration.Southbound, ":")
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
