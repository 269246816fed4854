package overlay_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// upDual is a service over a dual-stack fabric, with two hosts of both IP versions.
func upDual(t *testing.T) (s *stack, one, two *resourcev1.ManagedResource) {
	t.Helper()
	s = upService(t, fabric.DualStack(fabric.Flat(2)))
	s.create(&resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "blue"},
		Spec: resourcev1.ResourceGroupSpec{
			Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}, SecondNetwork: &resourcev1.IPNet{IP: "fd10::", PrefixLength: 64},
			NetworkImplementationType: resourcev1.SoftwareNetwork,
		},
	})
	both := func(host, ip, second string) *resourcev1.ManagedResource {
		at := s.seat(host)
		third := fabric.IPv6(at.dpu.Addresses[1], at.host.FabricIP)
		r := s.join("blue", host, ip, func(r *resourcev1.ManagedResource) {
			r.Spec.SecondHostIP, r.Spec.DPUIPs = resourcev1.IPAddress(second), append(r.Spec.DPUIPs, resourcev1.IPAddress(third.String()))
		})
		s.Expect(s.Configure(host, netip.PrefixFrom(netip.MustParseAddr(second), 64), netip.MustParseAddr("fd10::1"))).To(Succeed())
		return r
	}
	one, two = both("host1", "10.10.10.2", "fd10::2"), both("host2", "10.10.10.3", "fd10::3")
	s.ready(one, two)
	s.serve("host1", "host2", fabric.DC, fabric.BMC, fabric.Storage)
	return s, one, two
}

// Both IP versions lead to the other host and to the data centre and back; no host reaches any DPU by any of its addresses.
func TestDualStack_byManagerAndAgents(t *testing.T) {
	t.Parallel()
	s, one, two := upDual(t)
	s.reached("10.10.10.2", func() (netip.Addr, error) { return s.connects("host1", "10.10.10.3") })
	s.reached("fd10::2", func() (netip.Addr, error) { return s.connects("host1", "fd10::3") })
	for v, dc := range s.addresses(fabric.DC) {
		s.reached(string(one.Spec.DPUIPs[1+v]), func() (netip.Addr, error) { return s.connects("host1", dc) })
		s.reached(dc, func() (netip.Addr, error) { return s.connects(fabric.DC, string(two.Spec.DPUIPs[1+v])) })
	}
	for _, dpu := range s.Topology().DPUs() {
		_, err := s.Serve(dpu.Name, tcpPort)
		s.Expect(err).NotTo(HaveOccurred())
		arrived := count(t, s.Fabric, dpu, "p0", func(packet []byte) bool {
			source, to := udp(packet)
			return to == genevePort && !isDPU(s.Fabric, source)
		})
		for v, address := range dpu.Addresses {
			s.reached("", func() (netip.Addr, error) { return s.connects(fabric.DC, address.String()) }) // it does answer
			for _, host := range []string{"host1", "host2"} {
				s.quiet(func() (netip.Addr, error) { return s.pings(host, address.String()) })
				s.quiet(func() (netip.Addr, error) { return s.connects(host, address.String()) })
				s.quiet(func() (netip.Addr, error) { return s.geneve(host, address) })
			}
			s.Expect(arrived.Load()).To(BeZero(), "%s of version %d", dpu.Name, v)
		}
		s.Eventually(func() int64 {
			_, _ = s.geneve(fabric.DC, dpu.Addresses[0])
			return arrived.Load()
		}).ShouldNot(BeZero(), "they are seen if they come")
	}
}

// geneve sends what a DPU might take for a tunnel's.
func (s *stack) geneve(from string, to netip.Addr) (netip.Addr, error) {
	return s.probe(probe.Probe{From: from, Protocol: probe.UDP, To: netip.AddrPortFrom(to, genevePort)})
}

// addresses of a server.
func (s *stack) addresses(name string) (all []string) {
	for _, subnet := range s.Topology().Subnets {
		for _, server := range subnet.Servers {
			if server.Name == name {
				for _, a := range server.Addresses {
					all = append(all, a.String())
				}
			}
		}
	}
	return all
}

// quiet waits until there is no answer: after a change Open vSwitch remembers for a moment what it did before.
func (s *stack) quiet(do func() (netip.Addr, error)) {
	s.t.Helper()
	s.Eventually(func() error { _, err := do(); return err }).WithTimeout(revalidated).Should(MatchError(probe.ErrNoAnswer))
}

// A rule is removed and added again, and the site's policy changes; packets show that, and the group says when all DPUs have
// it.
func TestSecurityGroups_changeByManagerAndAgents(t *testing.T) {
	t.Parallel()
	s := upService(t, fabric.Flat(2))
	group := s.group("blue")
	open := []resourcev1.SecurityGroup{{Name: "default", Rules: []resourcev1.SecurityRule{
		{Direction: resourcev1.Egress}, {Direction: resourcev1.Ingress, Protocol: resourcev1.TCPProtocol, Ports: []resourcev1.PortRange{{First: tcpPort}}},
	}}}
	change(s, group, func(g *resourcev1.ResourceGroup) { g.Spec.SecurityGroups = open })
	one, two := s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.3")
	s.ready(one, two)
	s.serve("host1", "host2", fabric.BMC, fabric.Storage)
	crossing := func() (netip.Addr, error) { return s.connects("host1", "10.10.10.3") }
	s.reached("10.10.10.2", crossing)
	s.quiet(func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") })

	before := s.propagated(group, 0)
	change(s, group, func(g *resourcev1.ResourceGroup) { g.Spec.SecurityGroups[0].Rules = g.Spec.SecurityGroups[0].Rules[:1] })
	after := s.propagated(group, before)
	s.quiet(crossing)
	change(s, group, func(g *resourcev1.ResourceGroup) { g.Spec.SecurityGroups = open })
	s.propagated(group, after)
	s.reached("10.10.10.2", crossing)

	bmc, storage := s.server(fabric.BMC), s.server(fabric.Storage)
	s.reached("", func() (netip.Addr, error) { return s.connects("host1", bmc) })
	policy := s.policy()
	s.quiet(func() (netip.Addr, error) { return s.connects("host1", bmc) })
	s.reached(string(one.Spec.DPUIPs[1]), func() (netip.Addr, error) { return s.connects("host1", storage) })
	change(s, policy, func(p *networkfabricv1.FabricPolicy) { p.Spec.SharedServices = nil })
	s.quiet(func() (netip.Addr, error) { return s.connects("host1", storage) })
}

// propagated waits until both DPUs have a change that is younger than another one, and returns its number.
func (s *stack) propagated(group *resourcev1.ResourceGroup, than int64) (number int64) {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(s.t.Context(), keyOf(group), group)).To(Succeed())
		g.Expect(group.Status.Propagation).NotTo(BeNil())
		g.Expect(*group.Status.Propagation).To(And(HaveField("DPUs", int32(2)), HaveField("Current", int32(2)), HaveField("Change", BeNumerically(">", than))))
	}).Should(Succeed())
	s.becomes(group, resourcev1.PropagatedCondition, metav1.ConditionTrue, "")
	return group.Status.Propagation.Change
}

// Manager, agents and speakers are replaced one after the other, as in an upgrade, while packets go between hosts and come from
// the internet.
func TestUpgrade_losesNoPacket(t *testing.T) {
	t.Parallel()
	a := upAbroad(t, public1, public2)
	a.ready(a.one, a.two)
	address := a.publicOf(a.two)
	a.reached("", func() (netip.Addr, error) { return a.connects(fabric.Internet, address) })
	a.reached("", func() (netip.Addr, error) { return a.connects("host1", "10.10.10.3") })
	replace := map[string]func(){
		"manager": func() {
			a.Kill(fabric.Control)
			a.Expect(a.StartManager(t.Context())).To(Succeed())
			a.works()
		},
		"agent": func() {
			a.Kill("dpu2")
			a.becomes(a.two, resourcev1.AttachedCondition, metav1.ConditionUnknown, "AgentUnreachable")
			a.Expect(a.StartAgent(t.Context(), "dpu2")).To(Succeed())
			a.ready(a.two)
		},
		"speaker": func() {
			a.Kill(fabric.Speaker2)
			a.Expect(a.StartSpeaker(t.Context(), fabric.Speaker2)).To(Succeed())
			a.established(fabric.Speaker1, fabric.Speaker2)
		},
	}
	for _, who := range []string{"manager", "agent", "speaker"} {
		within := probe.Report{}
		outside := a.lostBetween(fabric.Internet, address, func() { within = a.lostBetween("host1", "10.10.10.3", replace[who]) })
		a.Expect(outside.Lost+within.Lost).To(BeZero(), who)
	}
}

// works waits until the manager has seen a change.
func (a *abroad) works() {
	a.t.Helper()
	change(a.stack, a.group, func(g *resourcev1.ResourceGroup) { g.Spec.TenantIdentifier = "another" })
	a.Eventually(func(g Gomega) {
		g.Expect(a.client.Get(a.t.Context(), keyOf(a.group), a.group)).To(Succeed())
		g.Expect(a.group.Status.Conditions).To(ContainElement(And(HaveField("Type", resourcev1.ReadyCondition),
			HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", a.group.Generation))))
	}).Should(Succeed())
}
