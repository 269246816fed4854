package overlay_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/sbdb"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/mtls"
)

// From the wish that a host joins another one's network until the first answer to a ping: with OVN's own commands, and with a
// ManagedResource. Both begin with a DPU whose host is isolated, so with neither br-int nor ovn-controller.
func BenchmarkJoin(b *testing.B) {
	b.Run("by hand", func(b *testing.B) {
		h := upByHand(b, fabric.Flat(2))
		h.join(0, "10.10.10.2")
		acquaint(b, h.Fabric)
		for b.Loop() {
			h.join(1, "10.10.10.3")
			firstAnswer(b, h.Fabric)
			b.StopTimer()
			h.leave(1, "10.10.10.3")
			b.StartTimer()
		}
	})
	b.Run("ManagedResource", func(b *testing.B) {
		s := up(b, fabric.Flat(2))
		s.group("blue")
		s.ready(s.join("blue", "host1", "10.10.10.2"))
		acquaint(b, s.Fabric)
		two := s.resource("blue", "host2", "10.10.10.3")
		for b.Loop() {
			r := two.DeepCopy()
			s.Expect(s.client.Create(b.Context(), r)).To(Succeed())
			firstAnswer(b, s.Fabric)
			b.StopTimer()
			s.ready(r)
			s.Expect(s.client.Delete(b.Context(), r)).To(Succeed())
			s.Eventually(func() error { return s.client.Get(b.Context(), keyOf(r), r) }).Should(MatchError(ContainSubstring("not found")))
			b.StartTimer()
		}
		for pid, command := range processtest.Mentioning(b, filepath.Join(s.RunDir("dpu1"), "agent")) {
			b.ReportMetric(residentMiB(b, pid), "MiB-agent")
			b.Log(command)
		}
	})
}

// acquaint two hosts with each other's Ethernet addresses: the kernel would ask for a lost one only after a second.
func acquaint(b *testing.B, f *fabric.Fabric) {
	b.Helper()
	g := NewWithT(b)
	hosts := f.Topology().Hosts()
	for i, ip := range []string{"10.10.10.2", "10.10.10.3"} {
		g.Expect(f.Configure(hosts[i].Name, netip.PrefixFrom(netip.MustParseAddr(ip), 24), netip.MustParseAddr("10.10.10.1"))).To(Succeed())
		output, err := f.Command(b.Context(), hosts[1-i].Name, "ip", "neigh", "replace", ip, "lladdr", hosts[i].MAC.String(), "dev", "eth0").CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", output)
	}
}

func firstAnswer(b *testing.B, f *fabric.Fabric) {
	b.Helper()
	_, err := f.Reach(b.Context(), probe.Probe{
		From: "host1", Protocol: probe.ICMP, To: netip.MustParseAddrPort("10.10.10.3:0"), Patience: patience,
	})
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
}

var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

func residentMiB(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	kilobytes, err := strconv.Atoi(resident.FindStringSubmatch(string(status))[1])
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	return float64(kilobytes) / 1024
}

const groupSize = 100

// A group of 100 hosts, with as many real DPUs; the others are agents without a DPU behind them. Each real one computes all flows
// by itself, on the cores that OVN's central has too.
func BenchmarkGroup(b *testing.B) {
	for _, real := range []int{1, 2} {
		b.Run(fmt.Sprintf("%d real DPUs", real), func(b *testing.B) { upLarge(b, real).bench(b) })
	}
}

func upLarge(b *testing.B, real int) large {
	b.Helper()
	topology := fabric.Flat(real)
	simulated := fabric.Server{Name: "sim"}
	for i := range groupSize {
		simulated.Addresses = append(simulated.Addresses, netip.AddrFrom4([4]byte{10, 20, 0, byte(i + 2)}))
	}
	topology.Subnets = append(topology.Subnets, fabric.Subnet{
		Name: "row2", Gateways: []netip.Prefix{netip.MustParsePrefix("10.20.0.1/16")}, Servers: []fabric.Server{simulated},
	})
	s := up(b, topology, "--agent-heartbeat=10s")
	g := large{central: central{s, s.group("blue")}}
	for _, dpu := range topology.DPUs() {
		g.real = append(g.real, dpu.Name)
	}
	var made errgroup.Group
	for i := range groupSize {
		r := g.member(i, simulated)
		made.Go(func() error { return s.client.Create(b.Context(), r) })
	}
	s.Expect(made.Wait()).To(Succeed())
	g.written()
	g.inFlows(g.real...)
	return g
}

func (l large) bench(b *testing.B) {
	b.Run("written", func(b *testing.B) {
		n := l.northbound()
		defer n.Close()
		l.measure(b, func() {
			l.signalManager(syscall.SIGSTOP) // or it repairs what is removed
			_, err := n.Apply(b.Context(), string(l.group.UID), nil)
			l.Expect(err).NotTo(HaveOccurred())
			l.Expect(n.SyncChassis(b.Context())).To(Succeed())
			l.signalManager(syscall.SIGCONT)
		})
	})
	b.Run("wiped", func(b *testing.B) { l.measure(b, l.wipe) })
	b.Run("one change", func(b *testing.B) {
		south, err := ovn.Dial(b.Context(), southbound(l.WithT), "unix:"+l.file("sb.sock"), nil)
		l.Expect(err).NotTo(HaveOccurred())
		defer south.Close()
		r := &resourcev1.ManagedResource{}
		l.Expect(l.client.Get(b.Context(), client.ObjectKey{Namespace: l.namespace, Name: l.name(groupSize - 1)}, r)).To(Succeed())
		for i := 0; b.Loop(); i++ {
			ip := fmt.Sprintf("10.10.10.%d", 200+i%2)
			before := r.DeepCopy()
			r.Spec.HostIP = resourcev1.IPAddress(ip)
			l.Expect(l.client.Patch(b.Context(), r, client.MergeFrom(before))).To(Succeed())
			l.bound(south, ip)
		}
	})
}

// large is a group with many members.
type large struct {
	central
	real []string // DPUs
}

func (l large) signalManager(signal syscall.Signal) {
	l.t.Helper()
	managers := processtest.Mentioning(l.t, "--centrals-dir="+filepath.Join(l.dir, "ovn"))
	l.Expect(managers).To(HaveLen(1))
	for pid := range managers {
		l.Expect(syscall.Kill(pid, signal)).To(Succeed())
	}
}

// measure how long it takes until a group whose rows something has taken away is written, and in the flows of all real DPUs.
func (l large) measure(b *testing.B, takeAway func()) {
	b.Helper()
	var written, flows time.Duration
	n := 0
	for b.Loop() {
		takeAway()
		began := time.Now()
		l.written()
		written += time.Since(began)
		l.inFlows(l.real...)
		flows += time.Since(began)
		n++
	}
	b.ReportMetric(written.Seconds()/float64(n), "s-written")
	b.ReportMetric(flows.Seconds()/float64(n), "s-flows")
}

func (l large) name(i int) string { return fmt.Sprintf("member%d", i) }

// member of the group: the first ones are behind real DPUs, the others behind simulated ones.
func (l large) member(i int, simulated fabric.Server) *resourcev1.ManagedResource {
	l.t.Helper()
	ip := fmt.Sprintf("10.10.10.%d", i+2)
	if i < len(l.real) {
		r := l.resource(l.group.Name, fmt.Sprintf("host%d", i+1), ip)
		r.Name = l.name(i)
		return r
	}
	at := simulated.Addresses[i]
	own, fabricIP := at.String(), fmt.Sprintf("10.20.1.%d", i+2)
	identity, err := l.Certify("sim"+strconv.Itoa(i), at)
	l.Expect(err).NotTo(HaveOccurred())
	files := mtls.Files{Certificate: identity.Certificate, Key: identity.Key, Authorities: identity.Authorities}
	creds, err := files.Server(l.t.Context(), mtls.Named(overlay.ManagerName))
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(l.Do(simulated.Name, func() error {
		agentstest.Start(l.t, own, 9660, agentstest.Report("sim"+strconv.Itoa(i), own+"/16", "10.20.0.1"), grpc.Creds(creds))
		return nil
	})).To(Succeed())
	return &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name(i)},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: l.group.Name, HostIP: resourcev1.IPAddress(ip), HostMAC: resourcev1.MACAddress(fmt.Sprintf("02:00:00:00:02:%02x", i)),
			HostAccess: resourcev1.FabricAccess, DPUIPs: []resourcev1.IPAddress{resourcev1.IPAddress(own), resourcev1.IPAddress(fabricIP)},
		},
	}
}

// written returns when the northbound database has the port and the gateway router of each member.
func (l large) written() {
	l.t.Helper()
	n := l.northbound()
	defer n.Close()
	ctx, cancel := l.context()
	defer cancel()
	l.Expect(n.Wait(ctx, func() (bool, error) {
		return len(rows[*nbdb.LogicalRouter](n, nbdb.LogicalRouterTable)) == groupSize+1, nil
	})).To(Succeed())
}

// bound returns when the southbound database has a port with that address.
func (l large) bound(south *ovn.Database, ip string) {
	l.t.Helper()
	ctx, cancel := l.context()
	defer cancel()
	l.Expect(south.Wait(ctx, func() (bool, error) {
		return slices.ContainsFunc(rows[*sbdb.PortBinding](south, sbdb.PortBindingTable), func(p *sbdb.PortBinding) bool {
			return len(p.MAC) == 1 && strings.HasSuffix(p.MAC[0], " "+ip)
		}), nil
	})).To(Succeed())
}
