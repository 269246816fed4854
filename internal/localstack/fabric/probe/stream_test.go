package probe_test

import (
	"encoding/binary"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// deaf answers messages as long as answers says so: how often each.
func deaf(t testing.TB, answers func(sequence uint64) int) *net.UDPConn {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { socket.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			length, from, err := socket.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			for range answers(binary.BigEndian.Uint64(buffer[8:])) {
				_, _ = socket.WriteToUDPAddrPort(buffer[:length], from)
			}
		}
	}()
	return socket
}

func address(socket *net.UDPConn) netip.AddrPort { return socket.LocalAddr().(*net.UDPAddr).AddrPort() }

func TestStream_countsWhatIsNotAnsweredAndWhatIsAnsweredTwice(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	socket := deaf(t, func(sequence uint64) int {
		switch {
		case sequence == 3:
			return 2
		case sequence >= 5 && sequence < 12:
			return 0
		}
		return 1
	})
	stream, err := probe.Start(t.Context(), probe.Probe{Protocol: probe.UDP, To: address(socket)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(stream.Answered).WithTimeout(30 * time.Second).Should(BeNumerically(">=", 20))

	report, err := stream.Stop()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Sent).To(BeNumerically(">=", 27))
	g.Expect(report.Lost).To(Equal(7))
	g.Expect(report.Duplicates).To(Equal(1))
	g.Expect(report.LongestGap).To(BeNumerically(">", 0))
}

// Open vSwitch drops what it would send through a tunnel before it knows the other end's MAC address.
func TestReach_goesOnWhenTheFirstMessageIsLost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	socket := deaf(t, func(sequence uint64) int { return int(min(sequence, 1)) })
	_, err := probe.Reach(t.Context(), probe.Probe{Protocol: probe.UDP, To: address(socket), Patience: 30 * time.Second})
	g.Expect(err).NotTo(HaveOccurred())
}

func TestStream_endsWhenItIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	socket := deaf(t, func(uint64) int { return 1 })
	stream, err := probe.Start(t.Context(), probe.Probe{Protocol: probe.UDP, To: address(socket)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(stream.Answered).WithTimeout(30 * time.Second).Should(BeNumerically(">", 3))

	g.Expect(socket.Close()).To(Succeed())
	sent := stream.Sent()
	g.Eventually(stream.Sent).WithTimeout(30 * time.Second).Should(BeNumerically(">", sent))
	report, err := stream.Stop()
	g.Expect(err).To(MatchError(syscall.ECONNREFUSED))
	g.Expect(report.Sent).To(BeNumerically(">", 3))
}

func TestStart_refusesMalformedProbes(t *testing.T) {
	t.Parallel()
	to := netip.MustParseAddrPort("127.0.0.1:1")
	for name, malformed := range map[string]probe.Probe{
		"protocol": {Protocol: "sctp", To: to},
		"address":  {Protocol: probe.UDP},
		"small":    {Protocol: probe.UDP, To: to, Size: 35},
		"large":    {Protocol: probe.UDP, To: to, Size: 65001},
	} {
		_, err := probe.Start(t.Context(), malformed)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("malformed probe")), name)
	}
}
