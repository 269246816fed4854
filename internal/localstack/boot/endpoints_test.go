package boot

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/loopback"
)

func TestServe_givesAnEndpointToOneClusterUntilItsMachineIsOff(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	block, err := loopback.Claim()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(block.Close)
	rack := New(Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	endpoint := netip.AddrPortFrom(block.Address(200, 1), 6443)
	first := netip.AddrPortFrom(block.Address(0, 1), 6443)
	second := netip.AddrPortFrom(block.Address(0, 2), 6443)

	g.Expect(rack.serve(endpoint, first)).To(Succeed())
	g.Expect(rack.serve(endpoint, second)).To(MatchError(ContainSubstring("another cluster")))
	g.Expect(rack.serve(second, second)).To(Succeed(), "a machine's own address needs no load balancer")
	rack.withdraw(second, second)

	rack.withdraw(endpoint, first)
	_, err = net.Dial("tcp", endpoint.String())
	g.Expect(err).To(HaveOccurred(), "the address is gone")
	g.Expect(rack.serve(endpoint, second)).To(Succeed())
	rack.withdraw(endpoint, second)
}
