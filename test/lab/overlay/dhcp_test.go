package overlay_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
)

// Hosts of two groups with the same network ask one DHCP server, each behind a DPU of its own. It distinguishes them by
// the circuit-id of the groups; hosts get their addresses, use them, and renew them.
func TestDHCP_leasesAndRenewsInTwoGroupsWithTheSameNetwork(t *testing.T) {
	t.Parallel()
	s := upService(t, fabric.Routed(3))
	var reservations []overlay.Reservation
	for group, hosts := range map[string]map[string]string{
		"blue": {"host1": "10.10.10.2", "host2": "10.10.10.3"}, "red": {"host3": "10.10.10.4"},
	} {
		g := s.group(group)
		change(s, g, func(g *resourcev1.ResourceGroup) { g.Spec.DHCPServer = resourcev1.IPAddress(s.server(fabric.DHCP)) })
		for host, ip := range hosts {
			s.create(s.resource(group, host, ip))
		}
		s.becomes(g, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
		for host, ip := range hosts {
			reservations = append(reservations, overlay.Reservation{
				Circuit: g.Status.SoftwareNetworkConfiguration.DHCPCircuitID, MAC: s.seat(host).host.MAC.String(),
				Address: netip.MustParseAddr(ip), Network: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1"),
			})
		}
	}
	s.Expect(s.StartDHCP(t.Context(), 6*time.Second, reservations)).To(Succeed())
	for _, host := range []string{"host1", "host2", "host3"} {
		r := s.resource("", host, "")
		s.becomes(r, resourcev1.DHCPReadyCondition, metav1.ConditionTrue, "")
		s.ready(r)
		s.Expect(s.Lease(t.Context(), host)).To(Succeed())
	}
	s.reached("", func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") })
	s.reached("", func() (netip.Addr, error) { return s.pings("host3", "10.10.10.1") })
	s.silent(s.pings("host1", "10.10.10.4"))
	for host, ip := range map[string]string{"host1": "10.10.10.2", "host3": "10.10.10.4"} {
		s.Eventually(func() (int, error) {
			events, err := os.ReadFile(s.Leases(host))
			return strings.Count(string(events), "RENEW "+ip), err
		}).Should(BeNumerically(">=", 2), host)
	}
	// In the other group no host is known by this address, so the server says nothing.
	host3 := s.resource("", "host3", "")
	change(s, host3, func(r *resourcev1.ManagedResource) { r.Spec.ResourceGroup = "blue" })
	s.Eventually(func() (string, error) {
		events, err := os.ReadFile(s.Leases("host3"))
		return string(events), err
	}).Should(ContainSubstring("EXPIRE"))
}
