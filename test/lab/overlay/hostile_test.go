package overlay_test

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	proxyclient "github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/soaktest"
)

const (
	// quietPhase comes before each hostilePhase and after it, so that other work on the machine falls on both.
	quietPhase, hostilePhase = 40 * time.Second, 4 * time.Minute
	// slower is how many times as long joins may take beside hostile clients, in a run that is long enough to tell.
	slower, longEnough = 1.2, 20 * time.Minute
	dhcpLease          = 20 * time.Second
)

// mostGrowth is how many MB a program's memory may grow by beside hostile clients.
var mostGrowth = map[string]float64{"manager": 100, "proxy": 250, "agent": 30}

// TestSoak_hostileClients has hostile clients, hosts and DPUs of one tenant beside another one that has the same network, for as long
// as BEDPLATE_HOSTILE says, such as 1h, with the seed in BEDPLATE_SEED, or any. `make soak-hostile` is an hour. Quiet phases come on
// top. The other tenant's hosts join and leave all the time, and speak with each other.
//
// All programs share the machine's cores with the attackers. So the attackers' rate is limited to about a twentieth of two cores: the
// programs' own limits are tested, not the machine's capacity.
func TestSoak_hostileClients(t *testing.T) { //nolint:paralleltest // it measures
	last, seed := soaktest.Options(t, 0)
	s, sniffed := upSiege(t, seed)
	programs := s.programs()
	var joined alternating
	var times []float64
	quiet, hostile := quietPhase, hostilePhase
	if last < 3*hostile {
		hostile = last / 3
		quiet = hostile / 2
	}
	stream, err := s.Stream(t.Context(), probe.Probe{
		From: "host1", Protocol: probe.UDP, To: netip.MustParseAddrPort("10.10.10.3:8080"), Interval: 20 * time.Millisecond,
	})
	s.Expect(err).NotTo(HaveOccurred())
	acme := s.dial("acme")
	s.joins(s.lasting(quiet/4), acme) // the first ones take longer
	before := s.resident(programs)
	joined.alone = append(joined.alone, s.joins(s.lasting(quiet), acme))
	for began := time.Duration(0); began < last; began += hostile {
		s.tell(programs, before)
		s.during(s.lasting(hostile), func(ctx context.Context) { joined.beside = append(joined.beside, s.joins(ctx, acme)) })
		s.tell(programs, before)
		joined.alone = append(joined.alone, s.joins(s.lasting(quiet), acme))
		sniffed.expect(s)
		s.bounded(programs, before)
		times = joined.times()
		t.Logf("joins take %.2f times as long as in the quiet phases before and after: %.2f", times[len(times)/2], times)
	}
	report, err := stream.Stop()
	s.Expect(err).NotTo(HaveOccurred())
	t.Logf("seed %d; pings beside: %s; marked or spoofed packets: %d", seed, report, s.villain.sent.Load())
	soaktest.Compare(t, slices.Concat(joined.alone...), slices.Concat(joined.beside...))
	s.renewed("host3", last)
	s.Expect(report.LongestGap).To(BeNumerically("<=", time.Second), "seed %d", seed)
	if last >= longEnough {
		s.Expect(times[len(times)/2]).To(BeNumerically("<=", slower), "seed %d", seed)
	}
	s.leavesNothing(programs)
}

// alternating is how long joins took in each quiet phase, and in each hostile one between two of these.
type alternating struct{ alone, beside [][]time.Duration }

// times that joins took as long in each hostile phase as in the quiet ones before and after it, by their medians, sorted.
func (a alternating) times() (times []float64) {
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return all[len(all)/2].Seconds()
	}
	for i, beside := range a.beside {
		times = append(times, 2*median(beside)/(median(a.alone[i])+median(a.alone[i+1])))
	}
	slices.Sort(times)
	return times
}

// upSiege is a lab with two tenants that have the same network, and one of them hostile: hosts 1 to 4 are of acme, behind two DPUs, of
// which host4 comes and goes; 5 and 6 are of evil, behind another one.
func upSiege(t *testing.T, seed uint64) (*siege, sniffed) {
	s := &siege{stack: upService(t, withLiars(fabric.TwoPorts(3))), seed: seed}
	groups := map[string]*resourcev1.ResourceGroup{}
	for _, tenant := range []string{"acme", "evil"} {
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}})
		s.namespace = tenant
		groups[tenant] = s.group("blue")
		change(s.stack, groups[tenant], func(g *resourcev1.ResourceGroup) { g.Spec.DHCPServer = resourcev1.IPAddress(s.server(fabric.DHCP)) })
	}
	lies := s.group("lies")
	for _, group := range []*resourcev1.ResourceGroup{groups["acme"], groups["evil"], lies} {
		s.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	}
	var reservations []overlay.Reservation
	for host, a := range map[string][2]string{"host3": {"acme", "10.10.10.3"}, "host5": {"evil", "10.10.10.50"}} {
		reservations = append(reservations, overlay.Reservation{
			Circuit: groups[a[0]].Status.SoftwareNetworkConfiguration.DHCPCircuitID, MAC: s.seat(host).host.MAC.String(),
			Address: netip.MustParseAddr(a[1]), Network: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1"),
		})
	}
	s.Expect(s.StartDHCP(t.Context(), dhcpLease, reservations)).To(Succeed())
	s.namespace = "evil"
	evil := []*resourcev1.ManagedResource{s.join("blue", "host5", "10.10.10.50"), s.join("blue", "host6", "10.10.10.2")}
	s.namespace = "acme"
	acme := []*resourcev1.ManagedResource{s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.5")}
	three := s.resource("blue", "host3", "10.10.10.3")
	s.create(three)
	s.ready(append(slices.Concat(acme, evil), three)...)
	s.Expect(s.Lease(t.Context(), "host3")).To(Succeed())
	s.serve("host3")
	s.reached("", func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") })
	s.reached("", func() (netip.Addr, error) { return s.pings("host5", "10.10.10.1") })
	s.acquaint("host1", "host4", "10.10.10.2", "10.10.10.4")
	found := s.sniff([]string{"host1", "host2", "host3", "host4"}, []string{"host5", "host6"})
	s.arm(groups, lies)
	return s, found
}

// arm the attackers. See the test for their pace.
func (s *siege) arm(groups map[string]*resourcev1.ResourceGroup, lies *resourcev1.ResourceGroup) {
	s.villain = s.newVillain("host5", "10.10.10.50", "host6", "host1")
	s.attackers = []attacker{
		{"packets", 1, 100 * time.Millisecond, s.villain.packets},
		{"DHCP", 1, 100 * time.Millisecond, s.villain.requests},
		{"agents", 12, 4 * time.Second, s.againstAgents("evil")},
		{"manager", 12, 4 * time.Second, s.againstManager(groups["evil"], groups["acme"])},
	}
	for n := range 8 {
		s.attackers = append(s.attackers, attacker{"proxy", 1, 4 * time.Second, s.againstProxy(fmt.Sprintf("evil%d", n%4))})
	}
	for n := range liars.Addresses {
		s.newLiar(n, lies)
		s.attackers = append(s.attackers, attacker{"reports", 1, 500 * time.Millisecond, s.lie(n)})
	}
}

// acquaint two hosts with each other's Ethernet addresses: the kernel would ask for a lost one only after a second.
func (s *siege) acquaint(one, other, ip, otherIP string) {
	s.Expect(s.Configure(other, netip.PrefixFrom(netip.MustParseAddr(otherIP), 24), netip.MustParseAddr("10.10.10.1"))).To(Succeed())
	for _, end := range [][3]string{{one, otherIP, other}, {other, ip, one}} {
		said, err := s.Command(s.t.Context(), end[0], "ip", "neigh", "replace", end[1], "lladdr", s.seat(end[2]).host.MAC.String(), "dev", "eth0").CombinedOutput()
		s.Expect(err).NotTo(HaveOccurred(), string(said))
	}
}

func (s *siege) lasting(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	s.t.Cleanup(cancel)
	return ctx
}

// joins of host4, by the proxy, and how long each takes until the first answer to a ping.
func (s *siege) joins(until context.Context, c *proxyclient.Client) (took []time.Duration) {
	ctx, at := s.t.Context(), s.seat("host4")
	spec := &proxyv1.ManagedResourceSpec{
		ResourceGroup: "blue", HostIp: "10.10.10.4", HostMac: at.host.MAC.String(), Identifier: at.port,
		DpuIps:     []string{at.dpu.Addresses[0].String(), at.host.FabricIP.String()},
		HostAccess: proxyv1.HostAccess_HOST_ACCESS_FABRIC_ACCESS,
	}
	for until.Err() == nil {
		began := time.Now()
		_, err := c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host4", Spec: spec})
		s.Expect(err).NotTo(HaveOccurred())
		_, err = s.Reach(ctx, probe.Probe{From: "host1", Protocol: probe.ICMP, To: netip.MustParseAddrPort("10.10.10.4:0"), Patience: patience})
		s.Expect(err).NotTo(HaveOccurred())
		took = append(took, time.Since(began))
		waiting, cancel := context.WithTimeout(ctx, patience)
		_, err = c.WaitManagedResource(waiting, "", "host4")
		cancel()
		s.Expect(err).NotTo(HaveOccurred())
		_, err = c.ManagedResources.Delete(ctx, &proxyv1.DeleteRequest{Name: "host4"})
		s.Expect(err).NotTo(HaveOccurred())
		s.gone(&resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "host4"}})
		soaktest.Rest(until, 500*time.Millisecond)
	}
	return took
}

// programs whose memory is measured, by their names.
func (s *siege) programs() map[string]int {
	programs := map[string]int{"this test": os.Getpid()}
	find := func(name, argument string) {
		for pid := range processtest.Mentioning(s.t, argument) {
			programs[name] = pid
		}
		s.Expect(programs).To(HaveKey(name))
	}
	find("manager", "--centrals-dir="+filepath.Join(s.dir, "ovn"))
	find("proxy", filepath.Join(filepath.Dir(s.dir), "hydrazine-proxy.kubeconfig"))
	for _, dpu := range s.Topology().DPUs() {
		find("agent of "+dpu.Name, "--state-dir="+filepath.Join(s.RunDir(dpu.Name), "agent"))
		programs["ovs-vswitchd of "+dpu.Name] = s.pidIn(filepath.Join(s.RunDir(dpu.Name), "ovs-vswitchd.pid"))
		programs["ovn-controller of "+dpu.Name] = s.pidIn(filepath.Join(s.RunDir(dpu.Name), "ovn-controller.pid"))
	}
	return programs
}

// resident memory of programs, in MB, whose peaks count from now on.
func (s *siege) resident(programs map[string]int) map[string]float64 {
	before := map[string]float64{}
	for name, pid := range programs {
		before[name], _ = processtest.Memory(s.t, pid)
		s.Expect(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o600)).To(Succeed())
	}
	return before
}

// tell prints the figures, in a table.
func (s *siege) tell(programs map[string]int, before map[string]float64) {
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		now, peak := processtest.Memory(s.t, programs[name])
		fmt.Fprintf(&table, "\n%-25s %4.0f MB before, %4.0f at the most, %4.0f now, %3d open files, %s of CPU", name, before[name], peak, now,
			s.files(programs[name]), cpu(s.t, programs[name]))
	}
	s.t.Log(table.String())
}

// cpu that a process has used.
func cpu(t testing.TB, pid int) time.Duration {
	g := NewWithT(t)
	process, err := procfs.NewProc(pid)
	g.Expect(err).NotTo(HaveOccurred())
	stat, err := process.Stat()
	g.Expect(err).NotTo(HaveOccurred())
	return time.Duration(stat.CPUTime() * float64(time.Second)).Round(time.Second)
}

func (s *siege) bounded(programs map[string]int, before map[string]float64) {
	for name, pid := range programs {
		if most, ours := mostGrowth[strings.Fields(name)[0]]; ours {
			_, peak := processtest.Memory(s.t, pid)
			s.Expect(peak-before[name]).To(BeNumerically("<", most), "%s, seed %d", name, s.seed)
		}
	}
}

func (s *siege) files(pid int) int {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	s.Expect(err).NotTo(HaveOccurred())
	return len(all)
}

// renewed is a host whose DHCP lease was renewed all the time.
func (s *siege) renewed(host string, last time.Duration) {
	events, err := os.ReadFile(s.Leases(host))
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(string(events)).NotTo(ContainSubstring("EXPIRE"))
	s.Expect(strings.Count(string(events), "RENEW")).To(BeNumerically(">=", int(last/dhcpLease)))
}

// leavesNothing when all hosts and groups are deleted: no bridge on a DPU, no central, no open connection.
func (s *siege) leavesNothing(programs map[string]int) {
	ours := []string{"manager", "proxy"}
	for _, tenant := range []string{"acme", "evil"} {
		in := client.InNamespace(tenant)
		s.Expect(s.client.DeleteAllOf(s.t.Context(), &resourcev1.ManagedResource{}, in)).To(Succeed())
		s.Expect(s.client.DeleteAllOf(s.t.Context(), &resourcev1.ResourceGroup{}, in)).To(Succeed())
		s.Eventually(func(g Gomega) {
			hosts, groups := &resourcev1.ManagedResourceList{}, &resourcev1.ResourceGroupList{}
			g.Expect(s.client.List(s.t.Context(), hosts, in)).To(Succeed())
			g.Expect(s.client.List(s.t.Context(), groups, in)).To(Succeed())
			g.Expect(len(hosts.Items) + len(groups.Items)).To(BeZero())
		}).Should(Succeed())
	}
	for _, dpu := range s.Topology().DPUs() {
		ours = append(ours, "agent of "+dpu.Name)
		s.Eventually(func() (string, error) {
			bridges, err := exec.CommandContext(s.t.Context(), "ovs-vsctl", "--timeout=10", "--db=unix:"+s.Database(dpu.Name), "list-br").Output()
			return string(bridges), err
		}).ShouldNot(ContainSubstring("br-int"))
	}
	s.Eventually(func() map[int]string { return processtest.Mentioning(s.t, filepath.Join(s.dir, "ovn")+"/") }).Should(BeEmpty(), "centrals")
	for _, name := range ours {
		s.Eventually(func() int { return s.files(programs[name]) }).Should(BeNumerically("<", 60), name)
	}
}
