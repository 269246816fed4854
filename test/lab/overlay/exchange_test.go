package overlay_test

import (
	"net/netip"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// The hosts of two tenants hand their fabric addresses on in a circle, all at once. Each address leads to its new host in the end,
// and to no other one; the data centre, which knows the old places, learns of it.
func TestAddresses_areHandedOnInACircle(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.Flat(4))
	s.group("blue")
	s.group("red")
	hosts := []*resourcev1.ManagedResource{
		s.join("blue", "host1", "10.10.10.2"), s.join("red", "host2", "10.10.10.2"),
		s.join("blue", "host3", "10.10.10.3"), s.join("red", "host4", "10.10.10.3"),
	}
	s.ready(hosts...)
	s.serve(fabric.DC)
	dc := s.server(fabric.DC)
	port := func(i int) uint16 { return uint16(tcpPort + 1 + i) }
	answers := func(address string, i int) func() (netip.Addr, error) {
		return func() (netip.Addr, error) {
			return s.probe(probe.Probe{From: fabric.DC, Protocol: probe.TCP, To: netip.AddrPortFrom(netip.MustParseAddr(address), port(i))})
		}
	}
	var addresses []string
	for i, h := range hosts {
		_, err := s.Serve(h.Name, port(i))
		s.Expect(err).NotTo(HaveOccurred())
		addresses = append(addresses, string(h.Spec.DPUIPs[1]))
		s.reached(addresses[i], func() (netip.Addr, error) { return s.connects(h.Name, dc) })
		s.reached(dc, answers(addresses[i], i))
	}

	began := time.Now()
	for i, h := range hosts {
		change(s, h, func(r *resourcev1.ManagedResource) {
			r.Spec.DPUIPs[1] = resourcev1.IPAddress(addresses[(i+1)%len(addresses)])
		})
	}
	for i, h := range hosts {
		next := addresses[(i+1)%len(addresses)]
		s.Eventually(func() string { seen, _ := s.connects(h.Name, dc); return seen.String() }).WithTimeout(2 * patience).Should(Equal(next))
		s.reached(dc, answers(next, i))
	}
	t.Logf("all have their new addresses after %s", time.Since(began).Round(time.Millisecond))
	for i := range hosts {
		s.Eventually(func() error { _, err := answers(addresses[i], i)(); return err }).
			Should(MatchError(syscall.ECONNREFUSED), "another host has the address now, and doesn't serve this port")
	}
	s.ready(hosts...)
}
