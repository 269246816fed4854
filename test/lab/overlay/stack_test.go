// Package overlay_test sends packets through Hydrazine: manager, agents, OVN, Open vSwitch and the fabric are real.
package overlay_test

import (
	"net/netip"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(runtime.GOMAXPROCS(0)) // labs compute
	testenv.Main(m)
}

const (
	patience = 60 * time.Second
	tcpPort  = 8080
)

// stack is Hydrazine on a fabric, with a namespace of its own in the API server that all tests share.
type stack struct {
	*WithT
	*overlay.Overlay
	t         testing.TB
	client    client.Client
	namespace string
	dir       string
	// kubernetes is its own, if it has one.
	kubernetes *localstack.Stack
}

func up(t testing.TB, topology fabric.Topology, flags ...string) *stack {
	t.Helper()
	fabrictest.Require(t)
	bin := toolstest.Find(t, "hydrazine-agent", "hydrazine-manager")
	s := &stack{
		WithT: NewWithT(t), t: t, client: testenv.Client(t), namespace: testenv.Namespace(t), dir: fabrictest.Dir(t),
	}
	s.SetDefaultEventuallyTimeout(patience)
	f := fabrictest.Up(t, topology)
	server, err := url.Parse(testenv.Config(t).Host)
	s.Expect(err).NotTo(HaveOccurred())
	address := server.Host
	if address == "" {
		address = testenv.Config(t).Host
	}
	s.Overlay, err = overlay.Start(t.Context(), f, overlay.Config{
		Dir: s.dir, Agent: bin.Path("hydrazine-agent"), Manager: bin.Path("hydrazine-manager"),
		APIServer: netip.MustParseAddrPort(address), Kubeconfig: testenv.Kubeconfig(t),
		Flags: append([]string{
			"--namespace=" + s.namespace, "--leader-elect=false", "--webhook-port=0", "--metrics-addr=0",
			"--poll-interval=1s", "--agent-heartbeat=1s",
		}, flags...),
	})
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the manager's log:\n%s", tail(filepath.Join(s.dir, "hydrazine-manager.log")))
		}
		s.Expect(s.Stop()).To(Succeed())
	})
	return s
}

func tail(path string) string {
	said, _ := exec.Command("tail", "-n", "40", path).CombinedOutput()
	return string(said)
}

func (s *stack) group(name string) *resourcev1.ResourceGroup {
	s.t.Helper()
	g := &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: resourcev1.ResourceGroupSpec{
			Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}, NetworkImplementationType: resourcev1.SoftwareNetwork,
		},
	}
	s.Expect(s.client.Create(s.t.Context(), g)).To(Succeed())
	return g
}

// seat is where a host of the topology is.
type seat struct {
	host fabric.Host
	dpu  fabric.DPU
	port string
}

func (s *stack) seat(name string) seat {
	for _, dpu := range s.Topology().DPUs() {
		for i, host := range dpu.Hosts {
			if host.Name == name {
				return seat{host, dpu, fabric.Port(i)}
			}
		}
	}
	s.t.Fatalf("there is no %s", name)
	return seat{}
}

// resource is a host of the topology in a group.
func (s *stack) resource(group, name, ip string) *resourcev1.ManagedResource {
	s.t.Helper()
	at := s.seat(name)
	return &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: group, HostIP: resourcev1.IPAddress(ip), HostMAC: resourcev1.MACAddress(at.host.MAC.String()),
			HostAccess: resourcev1.FabricAccess, Identifier: at.port,
			DPUIPs: []resourcev1.IPAddress{resourcev1.IPAddress(at.dpu.Addresses[0].String()), resourcev1.IPAddress(at.host.FabricIP.String())},
		},
	}
}

// join puts a host into a group and gives it its address, as DHCP would.
func (s *stack) join(group, name, ip string, change ...func(*resourcev1.ManagedResource)) *resourcev1.ManagedResource {
	s.t.Helper()
	r := s.resource(group, name, ip)
	for _, c := range change {
		c(r)
	}
	s.Expect(s.client.Create(s.t.Context(), r)).To(Succeed())
	s.Expect(s.Configure(name, netip.PrefixFrom(netip.MustParseAddr(ip), 24), netip.MustParseAddr("10.10.10.1"))).To(Succeed())
	return r
}

type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

func (s *stack) becomes(object conditioned, kind string, status metav1.ConditionStatus, reason string) {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
		c := meta.FindStatusCondition(object.GetConditions(), kind)
		g.Expect(c).NotTo(BeNil(), kind)
		g.Expect(c.Status).To(Equal(status), "%s: %s", c.Reason, c.Message)
		if reason != "" {
			g.Expect(c.Reason).To(Equal(reason), c.Message)
		}
	}).Should(Succeed())
}

func (s *stack) ready(all ...*resourcev1.ManagedResource) {
	s.t.Helper()
	for _, r := range all {
		s.becomes(r, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	}
}

// pings says how one node reaches another's address.
func (s *stack) pings(from, to string) (netip.Addr, error) {
	return s.probe(probe.Probe{From: from, Protocol: probe.ICMP, To: netip.AddrPortFrom(netip.MustParseAddr(to), 0)})
}

// connects says from which address a node reaches another's TCP server.
func (s *stack) connects(from, to string) (netip.Addr, error) {
	return s.probe(probe.Probe{From: from, Protocol: probe.TCP, To: netip.AddrPortFrom(netip.MustParseAddr(to), tcpPort)})
}

func (s *stack) probe(p probe.Probe) (netip.Addr, error) {
	answer, err := s.Reach(s.t.Context(), p)
	return answer.Source, err
}

// revalidated is how long Open vSwitch may still forward what it did before a change, on a busy machine.
const revalidated = 30 * time.Second

// silent expects a probe without an answer. An error of another kind is a failure.
func (s *stack) silent(_ netip.Addr, err error) {
	s.t.Helper()
	s.Expect(err).To(MatchError(probe.ErrNoAnswer))
}

// serve TCP on nodes.
func (s *stack) serve(nodes ...string) {
	s.t.Helper()
	for _, node := range nodes {
		_, err := s.Serve(node, tcpPort)
		s.Expect(err).NotTo(HaveOccurred())
	}
}

// reached waits for an answer, and expects its source.
func (s *stack) reached(source string, do func() (netip.Addr, error)) {
	s.t.Helper()
	var seen netip.Addr
	s.Eventually(func() (err error) { seen, err = do(); return err }).Should(Succeed())
	if source != "" {
		s.Expect(seen).To(Equal(netip.MustParseAddr(source)))
	}
}

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }
