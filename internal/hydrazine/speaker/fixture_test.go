package speaker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/bgp"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	patience = 30 * time.Second
	hop      = "172.18.0.105"
	hop2     = "172.18.0.106"
)

// recorder stands for the protocol, and asks the API server what it says at the moment of each call. It passes the contract of
// the real one; what tests set counts instead of what follows from the configuration.
type recorder struct {
	mu       sync.Mutex
	routes   map[string]string
	history  []string // announce, withdraw, and another number of neighbors
	known    bool     // there has been a configuration
	since    time.Time
	config   bgp.Config
	believed time.Time // until when a neighbor may keep earlier routes
	settled  *time.Duration
	memory   time.Duration
	sessions []bgp.Session
	look     func(prefix string) (names []string)
	named    map[string]bool // by the call: whether the name was there each time
	me       string
}

func newRecorder() *recorder { return &recorder{routes: map[string]string{}, named: map[string]bool{}} }

func (r *recorder) note(call string, prefix netip.Prefix) {
	if r.look != nil {
		key := call + " " + prefix.String()
		before, called := r.named[key]
		r.named[key] = slices.Contains(r.look(prefix.Addr().String()), r.me) && (before || !called)
	}
	r.history = append(r.history, call+" "+prefix.String())
}

func (r *recorder) Announce(prefix netip.Prefix, nextHop netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note("announce", prefix)
	r.routes[prefix.String()] = nextHop.String()
	return nil
}

func (r *recorder) Withdraw(prefix netip.Prefix) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note("withdraw", prefix)
	delete(r.routes, prefix.String())
	return nil
}

func (r *recorder) Configure(c bgp.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.config.Neighbors) != len(c.Neighbors) {
		r.history = append(r.history, fmt.Sprintf("configure %d", len(c.Neighbors)))
	}
	r.known, r.config, r.since = true, c, time.Now()
	if until := time.Now().Add(remembered(c)); until.After(r.believed) && len(c.Neighbors) > 0 {
		r.believed = until
	}
	return nil
}

// remembered is how long the slowest neighbor keeps routes.
func remembered(c bgp.Config) (longest time.Duration) {
	for _, n := range c.Neighbors {
		longest = max(longest, n.HoldTime+c.RestartTime)
	}
	return longest
}

func (r *recorder) Sessions() []bgp.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions != nil {
		return r.sessions
	}
	var all []bgp.Session
	for _, n := range r.config.Neighbors {
		all = append(all, bgp.Session{Neighbor: n.Address, State: "Idle", Since: r.since, Message: n.Problem})
	}
	slices.SortFunc(all, func(a, b bgp.Session) int { return a.Neighbor.Compare(b.Neighbor) })
	return all
}

func (r *recorder) Settled() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.settled != nil:
		return *r.settled
	case !r.known:
		return time.Second
	}
	return max(0, time.Until(r.believed))
}

func (r *recorder) Memory() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.memory, remembered(r.config))
}

func (r *recorder) remember(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory = d
}

// table is what is announced now.
func (r *recorder) table() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.routes)
}

func (r *recorder) calls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.history)
}

func (r *recorder) settle(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled = &d
}

// fixture is a namespace for Leases and a BGPConfiguration. PublicIPs belong to the cluster, so tests come one after the other.
type fixture struct {
	*WithT
	t             *testing.T
	client        client.WithWatch
	namespace     string
	configuration string
	failures      atomic.Int32 // errors of reconcilers in the log
}

// logger counts what reconcilers fail with.
func (f *fixture) logger() logr.Logger {
	return funcr.New(func(_, text string) {
		if strings.Contains(text, "Reconciler error") {
			f.failures.Add(1)
		}
	}, funcr.Options{})
}

var fixtures atomic.Int32

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		WithT: NewWithT(t), t: t, client: testenv.Client(t), namespace: testenv.Namespace(t),
		configuration: fmt.Sprintf("test%d", fixtures.Add(1)),
	}
	f.Expect(f.client.Create(t.Context(), &networkfabricv1.BGPConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: f.configuration},
		Spec: networkfabricv1.BGPConfigurationSpec{
			ASN: 64512, RestartTime: &metav1.Duration{Duration: time.Minute},
			Neighbors: []networkfabricv1.BGPNeighbor{{
				Address: "172.18.0.1", ASN: 65000, HoldTime: &metav1.Duration{Duration: 30 * time.Second},
			}},
		},
	})).To(Succeed())
	t.Cleanup(func() {
		f.Expect(f.client.DeleteAllOf(context.Background(), &networkfabricv1.PublicIP{})).To(Succeed())
		f.Expect(f.client.DeleteAllOf(context.Background(), &networkfabricv1.BGPConfiguration{})).To(Succeed())
	})
	return f
}

// run is a speaker of that name until the test ends, or until stop is called.
func (f *fixture) run(name string, c clock.Clock, faults interceptor.Funcs) (protocol *recorder, stop func()) {
	f.t.Helper()
	protocol = newRecorder()
	protocol.me, protocol.look = name, f.namesOf
	protocol.settle(0) // neighbors get withdrawals at once
	mgr, err := ctrl.NewManager(testenv.Config(f.t), ctrl.Options{
		Scheme: testenv.Scheme(f.t), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: f.logger(),
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, options)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(c, faults), nil
		},
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(setup(mgr, Config{
		Name: name, Namespace: f.namespace, Configuration: f.configuration, RouterID: netip.MustParseAddr("172.18.0.11"),
		Addresses: []netip.Addr{netip.MustParseAddr("172.18.0.11"), netip.MustParseAddr("fd18::11")},
		Poll:      time.Second, Clock: c,
		Options: controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, time.Second),
			NewQueue:    queue.New[reconcile.Request],
		},
	}, protocol, make(signal, 1))).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		f.Expect(<-ended).To(Succeed())
	})
	f.t.Cleanup(stop)
	return protocol, stop
}

// publicIP makes one with a next hop, and with names.
func (f *fixture) publicIP(address, nextHop string, names ...string) *networkfabricv1.PublicIP {
	f.t.Helper()
	ip := &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "ip-"}, Spec: networkfabricv1.PublicIPSpec{IPAddress: resourcev1.IPAddress(address)},
	}
	f.Expect(f.client.Create(f.t.Context(), ip)).To(Succeed())
	ip.Status.NextHop, ip.Status.AnnouncedBy = resourcev1.IPAddress(nextHop), names
	f.Expect(f.client.Status().Update(f.t.Context(), ip)).To(Succeed())
	return ip
}

func (f *fixture) setNextHop(ip *networkfabricv1.PublicIP, nextHop string) {
	f.t.Helper()
	before := ip.DeepCopy()
	ip.Status.NextHop = resourcev1.IPAddress(nextHop)
	f.Expect(f.client.Status().Patch(f.t.Context(), ip, client.MergeFrom(before))).To(Succeed())
}

// namesOf the speakers of an address.
func (f *fixture) namesOf(address string) (names []string) {
	all := &networkfabricv1.PublicIPList{}
	if err := f.client.List(context.Background(), all); err != nil {
		return nil
	}
	for _, ip := range all.Items {
		if string(ip.Spec.IPAddress) == address {
			names = append(names, ip.Status.AnnouncedBy...)
		}
	}
	return names
}

func (f *fixture) names(address string) func() []string {
	return func() []string { return f.namesOf(address) }
}

var errInjected = errors.New("injected")
