package mtls

import (
	"errors"
	"net"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/credentials"
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

// keeper is a gate that lets in as many as there are places.
type keeper struct {
	places  int
	refused int
}

func (k *keeper) Admit(_ net.Conn, info credentials.AuthInfo) (credentials.AuthInfo, func(), error) {
	if k.places == 0 {
		return nil, nil, errors.New("there is no place")
	}
	k.places--
	return info, func() { k.places++ }, nil
}

func (k *keeper) Refused(error) { k.refused++ }

func TestPending_ofOneAddressAreInNobodyElsesWay(t *testing.T) {
	t.Parallel()
	g, all := NewWithT(t), NewPending(3)
	come := func(from string) *visitor {
		v := &visitor{from: from}
		all.hold(v)
		return v
	}
	first, honest, second := come("192.0.2.1"), come("192.0.2.2"), come("192.0.2.1")
	g.Expect([]bool{first.closed, honest.closed, second.closed}).To(HaveEach(false), "there is room")
	other := come("192.0.2.3")
	g.Expect([]bool{first.closed, honest.closed, second.closed, other.closed}).To(Equal([]bool{true, false, false, false}))
}

// Once it is admitted a connection may stay, has a place of another kind, and gives that back.
func TestPending_areThoseWhoAreNotAdmitted(t *testing.T) {
	t.Parallel()
	g, all, k := NewWithT(t), NewPending(1), &keeper{places: 1}
	shake := all.Credentials(insecure.NewCredentials(), k).ServerHandshake
	known := &visitor{from: "192.0.2.1"}
	admitted, _, err := shake(all.hold(known))
	g.Expect(err).NotTo(HaveOccurred())
	first, second := &visitor{from: "192.0.2.1"}, &visitor{from: "192.0.2.1"}
	all.hold(first)
	held := all.hold(second)
	g.Expect([]bool{known.closed, first.closed, second.closed}).To(Equal([]bool{false, true, false}))

	_, _, err = shake(held)
	g.Expect(err).To(MatchError("there is no place"))
	g.Expect(second.closed).To(BeTrue())
	g.Expect(all.set.Weight()).To(BeZero())
	g.Expect(admitted.Close()).To(Succeed())
	g.Expect(admitted.Close()).To(Succeed())
	g.Expect(k.places).To(Equal(1), "given back once")

	late := all.hold(&visitor{from: "192.0.2.1"})
	g.Expect(late.Close()).To(Succeed(), "as one that was evicted while it shook hands")
	_, _, err = shake(late)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k.places).To(Equal(1))
}

func TestNetworkOf_isWhatOneClientHas(t *testing.T) {
	t.Parallel()
	for address, network := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
	} {
		NewWithT(t).Expect(NetworkOf((&visitor{from: address}).RemoteAddr()).String()).To(Equal(network))
	}
	NewWithT(t).Expect(NetworkOf(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}).String()).To(Equal("fe80::/64"))
	NewWithT(t).Expect(NetworkOf(&net.UnixAddr{Name: "x"}).IsValid()).To(BeFalse())
}
