package boot

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/loopback"
)

func TestEndpoint_belongsToOneClusterUntilItsMachineIsOff(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	block, err := loopback.Claim()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(block.Close)
	rack := New(Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	endpoint := netip.AddrPortFrom(block.Address(200, 1), 6443)
	first := netip.AddrPortFrom(block.Address(0, 1), 6443)
	second := netip.AddrPortFrom(block.Address(0, 2), 6443)

	g.Expect(rack.createEndpoint(endpoint, first)).To(Succeed())
	g.Expect(rack.createEndpoint(endpoint, second)).To(MatchError(ContainSubstring("another cluster")))
	g.Expect(rack.createEndpoint(second, second)).To(Succeed(), "a machine's own address needs no load balancer")
	rack.leaveEndpoint(second, second)

	g.Expect(rack.joinEndpoint(second, first)).To(MatchError(ContainSubstring("no cluster of this data centre has the virtual address")))
	g.Expect(rack.joinEndpoint(endpoint, second)).To(Succeed())
	rack.leaveEndpoint(endpoint, first)
	g.Expect(rack.joinEndpoint(endpoint, first)).To(Succeed(), "the second machine keeps the address")
	rack.leaveEndpoint(endpoint, second)
	rack.leaveEndpoint(endpoint, first)
	_, err = net.Dial("tcp", endpoint.String())
	g.Expect(err).To(HaveOccurred(), "the address is gone")
	g.Expect(rack.createEndpoint(endpoint, second)).To(Succeed())
	rack.leaveEndpoint(endpoint, second)
}
