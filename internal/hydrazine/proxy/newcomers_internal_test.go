package proxy

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/credentials/insecure"
)

// visitor is a connection from an address that only notes whether it has been closed.
type visitor struct {
	net.Conn
	from   string
	closed bool
}

func (v *visitor) Close() error { v.closed = true; return nil }

func (v *visitor) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(v.from), Port: 1}
}

func TestNewcomers_ofOneNetworkAreInNobodyElsesWay(t *testing.T) {
	t.Parallel()
	g, all := NewWithT(t), newNewcomers(3)
	come := func(from string) (*visitor, net.Conn) {
		v := &visitor{from: from}
		return v, all.add(v)
	}
	known, connection := come("192.0.2.1")
	all.forget(connection)
	first, _ := come("192.0.2.1")
	honest, _ := come("192.0.2.2")
	second, _ := come("192.0.2.1")
	g.Expect([]bool{known.closed, first.closed, honest.closed, second.closed}).To(HaveEach(false), "there is room")

	other, _ := come("192.0.2.3")
	g.Expect(first.closed).To(BeTrue(), "the oldest of those who have the most")
	g.Expect([]bool{known.closed, honest.closed, second.closed, other.closed}).To(HaveEach(false))

	third, connection := come("192.0.2.1")
	g.Expect(second.closed).To(BeTrue())
	g.Expect(connection.Close()).To(Succeed(), "it has gone by itself")
	fourth, _ := come("192.0.2.4")
	g.Expect(third.closed).To(BeTrue())
	g.Expect([]bool{known.closed, honest.closed, other.closed, fourth.closed}).To(HaveEach(false), "there is room again")

	last, _ := come("192.0.2.5")
	g.Expect(honest.closed).To(BeTrue(), "the oldest of all, where each has one")
	g.Expect([]bool{known.closed, other.closed, fourth.closed, last.closed}).To(HaveEach(false))
	g.Expect(all.from).To(HaveLen(3))
}

// Once it is known a client is one of the connections, which may stay.
func TestNewcomers_areThoseWhoAreNotKnown(t *testing.T) {
	t.Parallel()
	g, all := NewWithT(t), newNewcomers(1)
	l := &limited{
		TransportCredentials: insecure.NewCredentials(), tenancy: &Tenancy{Plaintext: true}, newcomers: all,
		limits: newLimits(&Config{Connections: 1}), metrics: NewMetrics(),
	}
	known := &visitor{from: "192.0.2.1"}
	_, _, err := l.ServerHandshake(all.add(known))
	g.Expect(err).NotTo(HaveOccurred())
	first, second := &visitor{from: "192.0.2.1"}, &visitor{from: "192.0.2.1"}
	all.add(first)
	all.add(second)
	g.Expect([]bool{known.closed, first.closed, second.closed}).To(Equal([]bool{false, true, false}))
}

func TestNetworkOf_isWhatOneClientHas(t *testing.T) {
	t.Parallel()
	for address, network := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
	} {
		NewWithT(t).Expect(networkOf((&visitor{from: address}).RemoteAddr()).String()).To(Equal(network))
	}
	NewWithT(t).Expect(networkOf(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}).String()).To(Equal("fe80::/64"))
	NewWithT(t).Expect(networkOf(&net.UnixAddr{Name: "x"}).IsValid()).To(BeFalse())
}
