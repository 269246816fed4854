package overlay_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// hasToo gives a DPU one more address on an interface, which its certificate doesn't name.
func (s *stack) hasToo(dpu, prefix, on string) {
	s.t.Helper()
	said, err := s.Command(s.t.Context(), dpu, "ip", "address", "add", prefix, "dev", on).CombinedOutput()
	s.Expect(err).NotTo(HaveOccurred(), string(said))
}

// frames counts those with the source of one host that come to another one, whatever they carry.
func (s *stack) frames(from, at string) func() int64 {
	s.t.Helper()
	source := s.seat(from).host.MAC
	return countFrames(s.t, s.Fabric, at, "eth0", unix.SOCK_RAW, func(frame []byte) bool {
		return len(frame) > 14 && string(frame[6:12]) == string(source)
	}).Load
}

// A DPU with two addresses serves one tenant: another one that names it by its second address doesn't get the port, and nothing of one
// network is heard on the other.
func TestDPU_ofTwoAddressesServesOneTenant(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.DualStack(fabric.Flat(4)))
	s.group("blue")
	s.group("red")
	blue := []*resourcev1.ManagedResource{s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.3")}
	red := []*resourcev1.ManagedResource{s.join("red", "host3", "10.10.10.3"), s.join("red", "host4", "10.10.10.4")}
	s.ready(blue...)
	s.ready(red...)
	s.serve("host2", "host4")
	s.reached("", func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") })
	s.reached("", func() (netip.Addr, error) { return s.pings("host3", "10.10.10.4") })

	intruder := s.resource("red", "host1", "10.10.10.2")
	intruder.Name, intruder.Spec.HostAccess = "intruder", resourcev1.NetworkAccess
	intruder.Spec.DPUIPs = []resourcev1.IPAddress{resourcev1.IPAddress(s.seat("host1").dpu.Addresses[1].String())}
	own, across, back := s.frames("host2", "host1"), s.frames("host3", "host1"), s.frames("host1", "host3")
	red3 := s.lostBetween("host3", "10.10.10.4", func() {
		blue1 := s.lostBetween("host1", "10.10.10.3", func() {
			s.Expect(s.client.Create(t.Context(), intruder)).To(Succeed())
			s.Eventually(func(g Gomega) {
				g.Expect(s.client.Get(t.Context(), keyOf(intruder), intruder)).To(Succeed())
				g.Expect(meta.FindStatusCondition(intruder.Status.Conditions, resourcev1.AttachedCondition)).NotTo(BeNil())
			}).Should(Succeed())
			s.silent(s.pings("host3", "10.10.10.2")) // which asks all of the network who has it
			s.silent(s.pings("host1", "10.10.10.4"))
		})
		s.Expect(blue1.Lost).To(BeZero())
	})
	s.Expect(red3.Lost).To(BeZero())
	s.Eventually(own).ShouldNot(BeZero(), "they are seen if they come")
	s.Expect(across()).To(BeZero())
	s.Expect(back()).To(BeZero())
	s.becomes(intruder, resourcev1.AcceptedCondition, metav1.ConditionFalse, "DPUTaken")
	s.ready(blue...)
	s.ready(red...)
}

// No tenant's host gets an address of a DPU, nor one that isn't a single machine's, as its fabric address: behind that DPU or another.
// The DPU is the one that answers there, while they ask and afterwards.
func TestHost_getsNoAddressThatIsADPUs(t *testing.T) {
	t.Parallel()
	topology := fabric.Flat(2)
	second := netip.MustParseAddr("172.18.0.15")
	topology.Subnets[0].DPUs[0].Addresses = append(topology.Subnets[0].DPUs[0].Addresses, second)
	s := up(t, topology)
	s.group("blue")
	s.group("red")
	blue, red := s.join("blue", "host1", "10.10.10.2"), s.join("red", "host2", "10.10.10.2")
	s.ready(blue, red)
	s.serve("dpu1")
	answers := func() (netip.Addr, error) { return s.connects(fabric.DC, second.String()) }
	s.reached("", answers)
	stream, err := s.Stream(t.Context(), probe.Probe{
		From: fabric.DC, Protocol: probe.TCP, To: netip.AddrPortFrom(second, tcpPort), Patience: streamPatience,
	})
	s.Expect(err).NotTo(HaveOccurred())
	for _, c := range []struct {
		host         *resourcev1.ManagedResource
		ip           resourcev1.IPAddress
		kind, reason string
	}{
		{blue, resourcev1.IPAddress(second.String()), resourcev1.AgentReadyCondition, "WrongUplink"},
		{red, resourcev1.IPAddress(second.String()), resourcev1.AcceptedCondition, "AddressTaken"},
		{red, "172.18.0.5", resourcev1.AcceptedCondition, "AddressTaken"},
		{red, "172.18.0.0", resourcev1.AgentReadyCondition, "WrongUplink"},
		{red, "172.18.0.255", resourcev1.AgentReadyCondition, "WrongUplink"},
	} {
		before := c.host.Spec.DPUIPs[1]
		change(s, c.host, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = c.ip })
		s.becomes(c.host, c.kind, metav1.ConditionFalse, c.reason)
		change(s, c.host, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = before })
		s.ready(c.host)
	}
	report, err := stream.Stop()
	s.Expect(err).NotTo(HaveOccurred())
	t.Log(report)
	s.Expect(report.Lost).To(BeZero(), "the DPU itself answers all the time")
	s.reached("", answers)
}

// A DPU says that a server of the data centre is itself, and then that another tenant's host is. Its own hosts are kept from the server,
// no other host is, and that is reported to the operator.
func TestDPU_thatCallsAServerItsOwnHarmsNoOtherTenant(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.Flat(2))
	s.group("blue")
	s.group("red")
	blue, red := s.join("blue", "host1", "10.10.10.2"), s.join("red", "host2", "10.10.10.2")
	s.ready(blue, red)
	s.serve(fabric.DC, "host2")
	dc, fabricIP := s.server(fabric.DC), string(red.Spec.DPUIPs[1])
	asks := func(host string) func() (netip.Addr, error) {
		return func() (netip.Addr, error) { return s.connects(host, dc) }
	}
	s.reached(string(blue.Spec.DPUIPs[1]), asks("host1"))
	s.reached(fabricIP, asks("host2"))
	report := s.lostBetween("host2", dc, func() {
		s.hasToo("dpu1", dc+"/32", "lo")
		s.becomes(blue, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "UnprovenAddress")
		s.quiet(asks("host1"))
		s.hasToo("dpu1", fabricIP+"/32", "lo")
		s.becomes(blue, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "ForeignAddress")
		s.reached(dc, func() (netip.Addr, error) { return s.connects(fabric.DC, fabricIP) })
	})
	s.Expect(report.Lost).To(BeZero())
	s.becomes(red, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "AsWanted")
}

// The manager keeps a host from all that its DPU has besides: a loopback address, and one of another network.
func TestDPU_isOutOfReachOfItsOwnHostByAllItsAddresses(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.Flat(2))
	dpu := s.Topology().DPUs()[0]
	others := map[string]string{"10.200.0.2": "lo", "10.201.0.2": "mgmt0"}
	said, err := s.Command(t.Context(), dpu.Name, "ip", "link", "add", "mgmt0", "up", "type", "veth", "peer", "name", "mgmt1").CombinedOutput()
	s.Expect(err).NotTo(HaveOccurred(), string(said))
	for address, on := range others {
		s.hasToo(dpu.Name, address+"/32", on)
		s.Expect(s.AddRoute(fabric.Router, netip.PrefixFrom(netip.MustParseAddr(address), 32), dpu.Addresses[0])).To(Succeed())
	}
	s.group("blue")
	s.group("red")
	blue, red := s.join("blue", "host1", "10.10.10.2"), s.join("red", "host2", "10.10.10.2")
	s.ready(blue, red)
	s.becomes(blue, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "UnprovenAddress")
	s.serve(dpu.Name, fabric.DC)
	s.reached(string(blue.Spec.DPUIPs[1]), func() (netip.Addr, error) { return s.connects("host1", s.server(fabric.DC)) })
	for address := range others {
		s.reached("", func() (netip.Addr, error) { return s.connects(fabric.DC, address) }) // it does answer
		s.reached(string(red.Spec.DPUIPs[1]), func() (netip.Addr, error) { return s.connects("host2", address) })
		s.quiet(func() (netip.Addr, error) { return s.connects("host1", address) }) // the condition is there before the DPU's flows are
		s.quiet(func() (netip.Addr, error) { return s.pings("host1", address) })
	}
	s.silent(s.connects("host1", dpu.Addresses[0].String()))
	s.silent(s.connects("host2", dpu.Addresses[0].String()))
}
