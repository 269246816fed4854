package overlay_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

// The design's traffic analysis: within the network, from the host to the data centre, from the data centre to the host. Two
// groups have the same network, each over two DPUs.
func TestTraffic_ofTwoGroupsOverTwoDPUsEach(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.Routed(4))
	s.group("blue")
	s.group("red")
	blue2, blue3 := s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.3")
	red2, red4 := s.join("red", "host3", "10.10.10.2"), s.join("red", "host4", "10.10.10.4")
	s.ready(blue2, blue3, red2, red4)
	s.serve("host1", "host2", "host3", "host4", fabric.DC)
	dc := s.server(fabric.DC)

	for _, pair := range [][2]string{{"host1", "10.10.10.3"}, {"host2", "10.10.10.2"}, {"host3", "10.10.10.4"}, {"host4", "10.10.10.2"}} {
		s.reached("", func() (netip.Addr, error) { return s.pings(pair[0], pair[1]) })
	}
	s.silent(s.pings("host1", "10.10.10.4"))
	s.silent(s.pings("host3", "10.10.10.3"))
	for _, host := range []*resourcev1.ManagedResource{blue2, blue3, red2, red4} {
		fabricIP := string(host.Spec.DPUIPs[1])
		s.reached("", func() (netip.Addr, error) { return s.pings(host.Name, "10.10.10.1") })
		s.reached(fabricIP, func() (netip.Addr, error) { return s.connects(host.Name, dc) })
		s.reached(dc, func() (netip.Addr, error) { return s.connects(fabric.DC, fabricIP) })
	}
	// By their fabric IPs hosts reach each other as all machines in the data centre do, in the same group and in
	// another.
	s.reached(string(blue2.Spec.DPUIPs[1]), func() (netip.Addr, error) { return s.connects("host1", string(blue3.Spec.DPUIPs[1])) })
	s.reached(string(blue2.Spec.DPUIPs[1]), func() (netip.Addr, error) { return s.connects("host1", string(red2.Spec.DPUIPs[1])) })
}

// The same for two groups whose hosts are behind one DPU each.
func TestTraffic_ofTwoGroupsOnOneDPUEach(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.TwoPorts(2))
	s.group("blue")
	s.group("red")
	blue2, blue3 := s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.3")
	red2, red4 := s.join("red", "host3", "10.10.10.2"), s.join("red", "host4", "10.10.10.4")
	s.ready(blue2, blue3, red2, red4)
	s.serve("host1", "host2", "host3", "host4", fabric.DC)
	dc := s.server(fabric.DC)
	for _, pair := range [][2]string{{"host1", "10.10.10.3"}, {"host2", "10.10.10.2"}, {"host3", "10.10.10.4"}, {"host4", "10.10.10.2"}} {
		s.reached("", func() (netip.Addr, error) { return s.connects(pair[0], pair[1]) })
	}
	s.silent(s.pings("host1", "10.10.10.4"))
	s.silent(s.pings("host3", "10.10.10.3"))
	for _, host := range []*resourcev1.ManagedResource{blue2, blue3, red2, red4} {
		fabricIP := string(host.Spec.DPUIPs[1])
		s.reached(fabricIP, func() (netip.Addr, error) { return s.connects(host.Name, dc) })
		s.reached(dc, func() (netip.Addr, error) { return s.connects(fabric.DC, fabricIP) })
	}

	s.Expect(s.client.Delete(t.Context(), blue3)).To(Succeed())
	s.Eventually(func() error { return s.client.Get(t.Context(), keyOf(blue3), blue3) }).Should(MatchError(ContainSubstring("not found")))
	s.silent(s.connects("host1", "10.10.10.3"))
	s.silent(s.connects("host2", "10.10.10.2"))
	s.reached("", func() (netip.Addr, error) { return s.connects(fabric.DC, string(blue2.Spec.DPUIPs[1])) })
}

// A host that leaves a group for another has the other's network and no longer its own.
func TestHost_movesToAnotherGroup(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.Flat(3))
	s.group("blue")
	s.group("red")
	one, two, three := s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.3"), s.join("red", "host3", "10.10.10.4")
	s.ready(one, two, three)
	s.reached("", func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") })
	change(s, two, func(h *resourcev1.ManagedResource) { h.Spec.ResourceGroup = "red" })
	s.reached("", func() (netip.Addr, error) { return s.pings("host3", "10.10.10.3") })
	s.quiet(func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") })
	s.ready(two)
}

// What a host may be reached by follows from its hostAccess.
func TestAccess_isWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.Flat(2))
	s.group("blue")
	out := s.join("blue", "host1", "10.10.10.2", func(r *resourcev1.ManagedResource) { r.Spec.HostAccess = resourcev1.NetworkAccess })
	alone := s.join("blue", "host2", "10.10.10.3", func(r *resourcev1.ManagedResource) {
		r.Spec.HostAccess, r.Spec.DPUIPs = resourcev1.NetworkAccess, r.Spec.DPUIPs[:1]
	})
	s.ready(out, alone)
	s.serve("host1", "host2", fabric.DC)
	s.reached("", func() (netip.Addr, error) { return s.connects("host1", "10.10.10.3") })
	s.reached(string(out.Spec.DPUIPs[1]), func() (netip.Addr, error) { return s.connects("host1", s.server(fabric.DC)) })
	s.silent(s.connects(fabric.DC, string(out.Spec.DPUIPs[1])))
	// The gateway router itself answers pings to its address, so they say nothing of the host.
	s.reached("", func() (netip.Addr, error) { return s.pings(fabric.DC, string(out.Spec.DPUIPs[1])) })
	s.silent(s.connects("host2", s.server(fabric.DC)))
}

func (s *stack) server(name string) string { return serverOf(s.Topology(), name) }

// serverOf returns the address of a server.
func serverOf(topology fabric.Topology, name string) string {
	for _, subnet := range topology.Subnets {
		for _, server := range subnet.Servers {
			if server.Name == name {
				return server.Addresses[0].String()
			}
		}
	}
	return ""
}

func TestDelete_isolates(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.Flat(2))
	group := s.group("blue")
	one, two := s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.3")
	s.ready(one, two)
	s.serve("host1", "host2")
	s.reached("", func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") })
	s.Expect(s.client.Delete(t.Context(), two)).To(Succeed())
	s.Eventually(func() error { return s.client.Get(t.Context(), keyOf(two), two) }).Should(MatchError(ContainSubstring("not found")))
	s.silent(s.pings("host1", "10.10.10.3"))
	s.silent(s.connects(fabric.DC, string(two.Spec.DPUIPs[1])))
	s.reached("", func() (netip.Addr, error) { return s.connects(fabric.DC, string(one.Spec.DPUIPs[1])) })
	s.Expect(s.client.Delete(t.Context(), group)).To(Succeed())
	s.becomes(one, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolated")
	s.silent(s.connects(fabric.DC, string(one.Spec.DPUIPs[1])))
}
