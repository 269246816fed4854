package overlay_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/mtls"
)

const (
	siteGroups  = 100
	siteMembers = 20 // of each group
	// rest is how long the manager is watched while nothing changes: each group is reconciled twice.
	rest = time.Minute
	// calm is how long nothing may have happened before the manager is at rest.
	calm = 5 * time.Second

	metricsAddress, profilerAddress = "127.0.0.1:9471", "127.0.0.1:9472"
)

// A site of 100 groups with 20 hosts each: the cost of a restarted manager, as after an upgrade, that finds everything as it is to
// be. Manager, API server and centrals are real; agents and the DPUs' ovn-controllers are simulated, over gRPC and OVSDB.
//
// BEDPLATE_PROFILES names a folder for the manager's profiles.
func BenchmarkSite(b *testing.B) {
	s := upSite(b)
	b.ResetTimer()
	for b.Loop() {
		s.restart()
	}
	b.StopTimer()
	s.report("s-restart", s.sums["restart"]/float64(b.N))
	s.report("writes-restart", s.sums["writes"]/float64(b.N))
	s.report("agent-calls-restart", s.sums["agent"]/float64(b.N))
	s.report("OVN-changes-restart", s.sums["changes"]/float64(b.N))
	s.idle()
	s.policy()
}

// site is what BenchmarkSite measures.
type site struct {
	*stack
	b      *testing.B
	token  string // for the manager's metrics
	groups []*resourcev1.ResourceGroup
	agents []*agentstest.Agent
	dpus   []*chassis
	sums   map[string]float64
}

func (s *site) report(unit string, n float64) { s.b.ReportMetric(n, unit) }

func upSite(b *testing.B) *site {
	b.Helper()
	s := &site{b: b, sums: map[string]float64{}, stack: up(b, fabric.Flat(0), "--poll-interval=30s", "--agent-heartbeat=10s",
		"--metrics-addr="+metricsAddress, "--profiler-address="+profilerAddress)}
	s.allowMetrics()
	// All agents are where the manager is: no table of neighbours has room for so many.
	output, err := s.Command(b.Context(), fabric.Control, "ip", "route", "add", "local", "10.20.0.0/16", "dev", "lo").CombinedOutput()
	s.Expect(err).NotTo(HaveOccurred(), "%s", output)
	began := time.Now()
	for i := range siteGroups {
		s.groups = append(s.groups, s.group(fmt.Sprintf("group%d", i)))
	}
	var made errgroup.Group
	made.SetLimit(20)
	for i := range siteGroups {
		creds := s.credentials(i)
		for n := range siteMembers {
			r := s.member(i, n)
			s.Expect(s.Do(fabric.Control, func() error {
				said := agentstest.Report(dpuName(i, n), string(r.Spec.DPUIPs[0])+"/16", "10.20.255.1")
				said.Ports[0].Installed = true
				s.agents = append(s.agents, agentstest.Start(b, string(r.Spec.DPUIPs[0]), 9660, said, creds))
				return nil
			})).To(Succeed())
			made.Go(func() error { return s.client.Create(b.Context(), r) })
		}
	}
	s.Expect(made.Wait()).To(Succeed())
	b.Logf("all objects are made after %s", time.Since(began).Round(time.Second))
	for _, g := range s.groups {
		s.becomes(g, resourcev1.CentralReadyCondition, metav1.ConditionTrue, "")
		s.dpus = append(s.dpus, s.drive(g))
	}
	s.Eventually(s.notReady, 20*time.Minute, 2*time.Second).Should(BeEmpty())
	s.untilCalm()
	b.Logf("all is ready after %s", time.Since(began).Round(time.Second))
	return s
}

func dpuName(group, n int) string { return fmt.Sprintf("sim%d-%d", group, n) }

func (s *site) member(group, n int) *resourcev1.ManagedResource {
	return &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: dpuName(group, n)},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: s.groups[group].Name, HostIP: resourcev1.IPAddress(fmt.Sprintf("10.10.10.%d", n+2)),
			HostMAC: resourcev1.MACAddress(fmt.Sprintf("02:00:00:00:%02x:%02x", group, n)), HostAccess: resourcev1.FabricAccess,
			DPUIPs: []resourcev1.IPAddress{
				resourcev1.IPAddress(dpuAddress(group, n).String()), resourcev1.IPAddress(fmt.Sprintf("10.20.%d.%d", group+100, n+2)),
			},
		},
	}
}

func dpuAddress(group, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 20, byte(group), byte(n + 2)})
}

// notReady are the objects that aren't, with the reason.
func (s *site) notReady() (names []string) {
	groups, resources := &resourcev1.ResourceGroupList{}, &resourcev1.ManagedResourceList{}
	s.Expect(s.client.List(s.b.Context(), groups, client.InNamespace(s.namespace))).To(Succeed())
	s.Expect(s.client.List(s.b.Context(), resources, client.InNamespace(s.namespace))).To(Succeed())
	note := func(object conditioned, kinds ...string) {
		for _, kind := range kinds {
			if c := meta.FindStatusCondition(object.GetConditions(), kind); c == nil || c.Status != metav1.ConditionTrue {
				names = append(names, object.GetName()+" "+kind)
				return
			}
		}
	}
	for i := range groups.Items {
		note(&groups.Items[i], resourcev1.ReadyCondition, resourcev1.PropagatedCondition)
	}
	for i := range resources.Items {
		note(&resources.Items[i], resourcev1.ReadyCondition)
	}
	return names
}

// state is what must not change while the manager restarts.
type state struct {
	versions map[types.UID]string // of objects
	changes  map[types.UID]string // of the centrals' databases
}

func (s *site) state() state {
	now := state{map[types.UID]string{}, map[types.UID]string{}}
	for _, list := range []client.ObjectList{&resourcev1.ResourceGroupList{}, &resourcev1.ManagedResourceList{}} {
		s.Expect(s.client.List(s.b.Context(), list, client.InNamespace(s.namespace))).To(Succeed())
		s.Expect(meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			now.versions[object.GetUID()] = object.GetResourceVersion()
			return nil
		})).To(Succeed())
	}
	for _, g := range s.groups {
		now.changes[g.UID] = s.lengths(g)
	}
	return now
}

// lengths of the logs of a central's databases: each change makes one longer.
func (s *site) lengths(g *resourcev1.ResourceGroup) string {
	var all string
	for _, name := range []string{"nb.db", "sb.db"} {
		info, err := os.Stat(filepath.Join(s.dir, "ovn", "ovn-"+string(g.UID), name))
		s.Expect(err).NotTo(HaveOccurred())
		all += fmt.Sprintf("%s %d ", name, info.Size())
	}
	return all
}

func differences[K comparable](a, b map[K]string) (n int) {
	for key := range b {
		if a[key] != b[key] {
			n++
		}
	}
	return n
}

// restart the manager, and wait until it has reconciled everything and is idle.
func (s *site) restart() {
	before := s.state()
	s.b.StopTimer()
	s.Kill(fabric.Control)
	calls := s.calls()
	s.b.StartTimer()
	began := time.Now()
	s.Expect(s.StartManager(s.b.Context())).To(Succeed())
	profiled := s.profile("restart.cpu", "profile?seconds=15")
	last := s.untilCalm()
	<-profiled
	after, m := s.state(), s.scrape(s)
	s.sums["restart"] += last.Sub(began).Seconds()
	s.sums["writes"] += writes(m) + float64(differences(before.versions, after.versions))
	s.sums["agent"] += float64(s.calls() - calls)
	s.sums["changes"] += float64(differences(before.changes, after.changes))
	used := s.usage()
	s.b.Logf("restart: at rest after %.1f s, with %.1f s of CPU; RSS %.0f MiB, at most %.0f MiB; %d goroutines; load %.1f", last.Sub(began).Seconds(),
		used.cpu, used.rss, used.peak, int(m.total("go_goroutines")), load(s))
	s.b.Logf("restart: reconciles %v; transactions %v; requests %v; calls of agents %d; objects written %d, databases changed %d",
		m.by("controller_runtime_reconcile_total", "controller"), m.by("bedplate_hydrazine_ovn_transactions_total", "database"),
		m.by("rest_client_requests_total", "method"), s.calls()-calls, differences(before.versions, after.versions),
		differences(before.changes, after.changes))
	s.report("MiB-RSS-peak", used.peak)
}

// calls of agents that change something.
func (s *site) calls() (n int) {
	for _, a := range s.agents {
		n += a.Calls("Attach") + a.Calls("Isolate")
	}
	return n
}

// writes to the API server, except those that authorize the reader of the metrics.
func writes(m metrics) float64 {
	by := m.by("rest_client_requests_total", "method")
	return by["PATCH"] + by["PUT"] + by["DELETE"]
}

// untilCalm returns when the manager has reconciled every object, has heard of every agent, and has done nothing for some time;
// and since when.
func (s *site) untilCalm() (since time.Time) {
	var reconciles float64
	since = time.Now()
	s.Eventually(func(g Gomega) {
		m := s.scrape(g)
		by := m.by("controller_runtime_reconcile_total", "controller")
		done := by["resourcegroup"] + by["managedresource"] + m.total("workqueue_depth")
		if done > reconciles+calmReconciles {
			since = time.Now()
		}
		reconciles = done
		g.Expect(by["resourcegroup"]).To(BeNumerically(">=", siteGroups))
		g.Expect(by["managedresource"]).To(BeNumerically(">=", siteGroups*siteMembers))
		g.Expect(m.by("bedplate_hydrazine_agents", "state")["heard"]).To(BeEquivalentTo(siteGroups * siteMembers))
		g.Expect(time.Since(since)).To(BeNumerically(">", calm))
	}, 20*time.Minute, 250*time.Millisecond).Should(Succeed())
	return since
}

// calmReconciles is more than the manager does without an event between two measurements.
const calmReconciles = 10

// idle measures what the manager costs while nothing changes.
func (s *site) idle() {
	profiled := s.profile("rest.cpu", "profile?seconds=50")
	before, used, m := s.state(), s.usage(), s.scrape(s)
	time.Sleep(rest)
	after, now, then := s.state(), s.usage(), s.scrape(s)
	<-profiled
	<-s.profile("rest.heap", "heap?gc=1")
	<-s.profile("rest.goroutines", "goroutine")
	s.report("%-core-rest", 100*(now.cpu-used.cpu)/rest.Seconds())
	s.report("MiB-RSS-rest", now.rss)
	s.report("writes-rest", writes(then)-writes(m)+float64(differences(before.versions, after.versions)))
	s.b.Logf("rest: load %.1f; heap %.0f MiB, stacks %.0f MiB, %.0f goroutines; reconciles %v to %v; databases changed %d", load(s),
		then.total("go_memstats_heap_inuse_bytes")/(1<<20), then.total("go_memstats_stack_inuse_bytes")/(1<<20), then.total("go_goroutines"),
		m.by("controller_runtime_reconcile_total", "controller"), then.by("controller_runtime_reconcile_total", "controller"),
		differences(before.changes, after.changes))
}

// policy changes what holds for all groups, and measures until all have it: in their northbound databases, then on all DPUs.
func (s *site) policy() {
	before, used := s.scrape(s), s.usage()
	began := time.Now()
	policy := &networkfabricv1.FabricPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: networkfabricv1.FabricPolicyName},
		Spec:       networkfabricv1.FabricPolicySpec{DeniedPrefixes: []resourcev1.IPPrefix{"192.0.2.0/24"}},
	}
	profiled := s.profile("policy.cpu", "profile?seconds=5")
	s.Expect(s.client.Create(s.b.Context(), policy)).To(Succeed())
	s.b.Cleanup(func() { _ = s.client.Delete(context.Background(), policy) })
	ctx, cancel := context.WithTimeout(s.b.Context(), 5*time.Minute)
	defer cancel()
	for _, d := range s.dpus {
		d.has(ctx, "192.0.2.0/24")
	}
	written := time.Since(began)
	for _, d := range s.dpus {
		s.Expect(d.north.SyncChassis(ctx)).To(Succeed())
	}
	s.report("s-policy-written", written.Seconds())
	s.report("s-policy-everywhere", time.Since(began).Seconds())
	s.untilCalm()
	<-profiled
	after, now := s.scrape(s), s.usage()
	s.b.Logf("policy: written after %s; CPU %.1f s; reconciles %v to %v; writes %.0f; RSS at most %.0f MiB; load %.1f", written, now.cpu-used.cpu,
		before.by("controller_runtime_reconcile_total", "controller"), after.by("controller_runtime_reconcile_total", "controller"),
		writes(after)-writes(before), now.peak, load(s))
}

// credentials of the agents of a group.
func (s *site) credentials(group int) grpc.ServerOption {
	var addresses []netip.Addr
	for n := range siteMembers {
		addresses = append(addresses, dpuAddress(group, n))
	}
	identity, err := s.Certify(fmt.Sprintf("sim%d", group), addresses...)
	s.Expect(err).NotTo(HaveOccurred())
	files := mtls.Files{Certificate: identity.Certificate, Key: identity.Key, Authorities: identity.Authorities}
	creds, err := files.Server(s.b.Context(), mtls.Named(overlay.ManagerName))
	s.Expect(err).NotTo(HaveOccurred())
	return grpc.Creds(creds)
}
