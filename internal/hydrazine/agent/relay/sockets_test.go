package relay

import (
	"net"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// asIs passes everything on as it is.
type asIs struct{}

func (asIs) request(frame []byte, _ time.Time) ([]byte, error)   { return frame, nil }
func (asIs) answer(message []byte, _ netip.Addr) ([]byte, error) { return message, nil }

// narrow is an interface that doesn't take everything.
type narrow struct {
	net.PacketConn
	wrote chan string
}

func (n narrow) WriteTo(frame []byte, _ net.Addr) (int, error) {
	if len(frame) > 10 {
		return 0, unix.EMSGSIZE
	}
	n.wrote <- string(frame)
	return len(frame), nil
}

func TestRun_goesOnAfterAnAnswerThatCantBeWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	loopback := netip.MustParseAddrPort("127.0.0.1:0")
	hosts, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
	g.Expect(err).NotTo(HaveOccurred())
	server, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
	g.Expect(err).NotTo(HaveOccurred())
	defer server.Close()
	own, err := net.DialUDP("udp", nil, server.LocalAddr().(*net.UDPAddr))
	g.Expect(err).NotTo(HaveOccurred())
	wrote := make(chan string, 1)
	r := &Relay{asIs{}, netip.MustParseAddr("127.0.0.1"), narrow{hosts, wrote}, own}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context(), func(error) {}) }()
	for _, answer := range []string{"more than it takes", "little"} {
		_, err := server.WriteTo([]byte(answer), own.LocalAddr())
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Eventually(wrote, "1m").Should(Receive(Equal("little")))
	g.Expect(ended).NotTo(Receive())
	g.Expect(hosts.Close()).To(Succeed())
	g.Eventually(ended, "1m").Should(Receive(MatchError(ContainSubstring("hear hosts"))))
}
