package overlay_test

import (
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// upService is the whole service with all its servers: manager, agents, speakers, proxy and a router with FRR. It has a
// Kubernetes of its own, since public addresses and the site's policy belong to no namespace. Programs have the rights that they
// have in production.
func upService(t testing.TB, topology fabric.Topology) *stack {
	t.Helper()
	fabrictest.Require(t)
	toolstest.Need(t, overlay.Check())
	dir := fabrictest.Dir(t)
	s := &stack{WithT: NewWithT(t), t: t, namespace: "default", dir: filepath.Join(dir, "net")}
	s.SetDefaultEventuallyTimeout(patience)
	kubernetes, err := localstack.StartKubernetes(t.Context(), localstack.Config{Dir: dir, Tools: toolstest.Find(t, localstack.Tools()...)})
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(s.dir, "*.log"))
			for _, log := range logs {
				t.Logf("%s:\n%s", log, process.Tail(log, 30))
			}
		}
		select {
		case err := <-kubernetes.Crashes():
			t.Errorf("a program has crashed: %v", err)
		default:
		}
		kubernetes.Stop()
	})
	s.kubernetes, s.client = kubernetes, kubernetes.Client()
	s.Overlay, err = kubernetes.StartHydrazine(t.Context(), fabric.WithServices(topology))
	s.Expect(err).NotTo(HaveOccurred())
	return s
}

// create an object.
func (s *stack) create(object client.Object) {
	s.t.Helper()
	s.Expect(s.client.Create(s.t.Context(), object)).To(Succeed())
}

// change an object, and retry on conflict.
func change[T client.Object](s *stack, object T, how func(T)) {
	s.t.Helper()
	s.Expect(s.client.Get(s.t.Context(), keyOf(object), object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	how(object)
	s.Expect(s.client.Patch(s.t.Context(), object, client.MergeFrom(before))).To(Succeed())
}

// gone waits until there is no such object.
func (s *stack) gone(object client.Object) {
	s.t.Helper()
	s.Eventually(func() error { return s.client.Get(s.t.Context(), keyOf(object), object) }).Should(MatchError(ContainSubstring("not found")))
}

// peers lets the speakers speak to the fabric's router, and waits until they do.
func (s *stack) peers() *networkfabricv1.BGPConfiguration {
	s.t.Helper()
	c := &networkfabricv1.BGPConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: networkfabricv1.BGPConfigurationSpec{
			ASN: overlay.SpeakersASN, RestartTime: &metav1.Duration{Duration: 30 * time.Second},
			Neighbors: []networkfabricv1.BGPNeighbor{{
				Address: "172.18.0.1", ASN: overlay.RouterASN, HoldTime: &metav1.Duration{Duration: 9 * time.Second},
			}},
		},
	}
	s.create(c)
	s.established(fabric.Speaker1, fabric.Speaker2)
	return c
}

func (s *stack) established(speakers ...string) {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		c := &networkfabricv1.BGPConfiguration{}
		g.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Name: "default"}, c)).To(Succeed())
		for _, name := range speakers {
			g.Expect(c.Status.Speakers).To(ContainElement(And(HaveField("Name", name),
				HaveField("Sessions", ConsistOf(HaveField("State", "Established"))))))
		}
	}).Should(Succeed())
}

func (s *stack) publicIP(address string) *networkfabricv1.PublicIP {
	s.t.Helper()
	ip := &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{Name: "ip-" + address}, Spec: networkfabricv1.PublicIPSpec{IPAddress: resourcev1.IPAddress(address)},
	}
	s.create(ip)
	return ip
}

// policy of the site: what the data centre is, what is denied and what is shared.
func (s *stack) policy() *networkfabricv1.FabricPolicy {
	s.t.Helper()
	p := &networkfabricv1.FabricPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: networkfabricv1.FabricPolicyName},
		Spec: networkfabricv1.FabricPolicySpec{
			FabricPrefixes: []resourcev1.IPPrefix{"172.18.0.0/16", "172.19.0.0/16", "172.20.0.0/16", "fd00::/16"},
			DeniedPrefixes: []resourcev1.IPPrefix{"172.20.0.0/16"},
			SharedServices: []resourcev1.IPPrefix{"172.20.0.20/32"},
		},
	}
	s.create(p)
	return p
}

// publicly is a host that is reached from the internet.
func publicly(r *resourcev1.ManagedResource) { r.Spec.HostAccess = resourcev1.PublicAccess }

// paths that the router has learned to an address, by the neighbors that announced them.
func (s *stack) paths(address string) (from []string, err error) {
	all, err := s.Router.Routes(s.t.Context())
	for _, path := range all[address+"/32"] {
		if !path.Stale {
			from = append(from, path.From)
		}
	}
	return from, err
}

// streamPatience is how long answers may take in a stream: on a busy machine all is late at times, also the last ones.
const streamPatience = 10 * time.Second

// lostBetween says how a stream of packets has gone while something happens.
func (s *stack) lostBetween(from, to string, while func()) probe.Report {
	s.t.Helper()
	stream, err := s.Stream(s.t.Context(), probe.Probe{
		From: from, Protocol: probe.UDP, To: netip.AddrPortFrom(netip.MustParseAddr(to), tcpPort), Interval: 10 * time.Millisecond,
		Patience: streamPatience,
	})
	s.Expect(err).NotTo(HaveOccurred())
	defer stream.Close()
	s.Eventually(stream.Answered).Should(BeNumerically(">", 20))
	while()
	answered := stream.Answered()
	s.Eventually(stream.Answered).Should(BeNumerically(">", answered+50), "it goes on")
	report, err := stream.Stop()
	s.Expect(err).NotTo(HaveOccurred())
	s.t.Logf("%s to %s: %s", from, to, report)
	return report
}
