package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric/frr"
)

// The router announces three prefixes. The other neighbor still gets the public IPs.
func TestSession_endsWithANeighborThatAnnouncesTooMuch(t *testing.T) {
	w := newWorld(t)
	leaf := w.frr("leaf", routers, "172.18.0.2", frr.Neighbor{Address: addrs(addressOf(1))[0], ASN: speakers})
	_, err := leaf.Do(t.Context(), "configure", fmt.Sprint("router bgp ", routers), "no bgp network import-check",
		"address-family ipv4 unicast", "network 192.0.2.0/26", "network 192.0.2.64/26", "network 192.0.2.128/26")
	w.Expect(err).NotTo(HaveOccurred())
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) {
		s.Neighbors = append(s.Neighbors, neighbor("172.18.0.2"))
		s.Neighbors[1].MaxPrefixes = 2
	})
	w.publicIP("203.0.113.120", hop)
	w.speaker(1)
	w.established(1, router)
	w.Eventually(w.session(1, "172.18.0.2")).WithTimeout(patience).Should(
		notEstablished("172.18.0.2 announces more than 2 prefixes of one IP version"))
	w.Eventually(func() (string, error) { return leaf.Do(t.Context(), "show bgp neighbors "+addressOf(1)) }).WithTimeout(patience).
		Should(ContainSubstring("Cease/Maximum Number of Prefixes Reached"))
	w.Consistently(w.session(1, "172.18.0.2")).WithTimeout(8*time.Second).Should(notEstablished("maxPrefixes"), "it is left alone")
	w.Expect(w.routes()).To(HaveKeyWithValue("203.0.113.120/32", by(addressOf(1), hop)))

	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors[1].MaxPrefixes = 3 })
	w.established(1, "172.18.0.2")
	w.Eventually(func() (map[string]map[string]string, error) { return nextHops(t.Context(), leaf) }).WithTimeout(patience).
		Should(HaveKeyWithValue("203.0.113.120/32", by(addressOf(1), hop)))
}

// What a device of the fabric may do by mistake: it announces the routes of the internet to all neighbors.
func TestSession_aFullTableEndsNoSpeaker(t *testing.T) {
	const many = 500_000
	w := newWorld(t)
	flood := w.flood(many)
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) {
		s.Neighbors = append(s.Neighbors, neighbor("172.18.0.2"))
	})
	w.publicIP("203.0.113.130", hop)
	speaker := w.speaker(1)
	w.established(1, router)
	w.Eventually(flood.ended.Load).WithTimeout(2 * time.Minute).Should(BeTrue())
	w.Logf("%d of %d prefixes were sent, the session ended by %s; %.0f MB RSS", flood.sent.Load(), many, flood.notification(), rss(w, speaker.PID()))
	w.Expect(flood.notification()).To(Equal(bgp.NewNotificationErrorCode(
		bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_MAXIMUM_NUMBER_OF_PREFIXES_REACHED).String()))
	w.Eventually(w.session(1, "172.18.0.2")).WithTimeout(patience).Should(notEstablished("announces more than 1000 prefixes"))
	w.Expect(rss(w, speaker.PID())).To(BeNumerically("<", 192), "of the 256 MiB that it may have")
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.130/32", by(addressOf(1), hop)))
}

func TestSession_withTTLSecurity(t *testing.T) {
	w := newWorld(t, frr.Neighbor{Address: addrs(addressOf(1))[0], ASN: speakers, TTLSecurity: 1})
	// A router that is no direct neighbor, but says that it is: the fabric's own is between them.
	far := w.frr("internet", routers, "198.51.100.10", frr.Neighbor{Address: addrs(addressOf(1))[0], ASN: speakers, TTLSecurity: 2})
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) {
		s.Neighbors = append(s.Neighbors, neighbor("198.51.100.10"))
		s.Neighbors[1].TTLSecurity = true
	})
	w.publicIP("203.0.113.140", hop)
	w.speaker(1)
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(notEstablished("TTL security"), "only the router has it")
	w.Eventually(w.session(1, "198.51.100.10")).WithTimeout(patience).Should(notEstablished("TTL security"), "it is two hops away")

	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors[0].TTLSecurity = true })
	w.established(1, router)
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.140/32", by(addressOf(1), hop)))
	w.Expect(w.session(1, "198.51.100.10")()).To(notEstablished("TTL security"))

	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.Neighbors[1].Hops = 2 })
	w.established(1, "198.51.100.10")
	w.Eventually(func() (map[string]map[string]string, error) { return nextHops(t.Context(), far) }).WithTimeout(patience).
		Should(HaveKeyWithValue("203.0.113.140/32", by(addressOf(1), hop)))
}

// flood is a BGP speaker that says hello and then announces prefixes as fast as it can.
type flood struct {
	sent  atomic.Int64
	said  atomic.Pointer[bgp.BGPNotification]
	ended atomic.Bool
}

// flood begins on the leaf with the first connection, and takes one only.
func (w *world) flood(prefixes int) *flood {
	w.Helper()
	var listener net.Listener
	w.Expect(w.fabric.Do("leaf", func() (err error) {
		listener, err = (&net.ListenConfig{}).Listen(w.Context(), "tcp", "172.18.0.2:179")
		return err
	})).To(Succeed())
	w.Cleanup(func() { _ = listener.Close() })
	f := &flood{}
	go func() {
		defer f.ended.Store(true)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if err := f.run(conn, prefixes); err != nil {
			w.Logf("the flood ended: %s", err)
		}
	}()
	return f
}

// notification that the session was ended by, or "".
func (f *flood) notification() string {
	n := f.said.Load()
	if n == nil {
		return ""
	}
	return bgp.NewNotificationErrorCode(n.ErrorCode, n.ErrorSubcode).String()
}

// run opens a session and announces, until it has announced everything or the other end has had enough.
func (f *flood) run(conn net.Conn, prefixes int) error {
	open, err := bgp.NewBGPOpenMessage(routers, 90, netip.MustParseAddr("172.18.0.2"), []bgp.OptionParameterInterface{
		bgp.NewOptionParameterCapability([]bgp.ParameterCapabilityInterface{
			bgp.NewCapMultiProtocol(bgp.RF_IPv4_UC), bgp.NewCapFourOctetASNumber(routers),
		}),
	})
	if err := errors.Join(err, send(conn, open), send(conn, bgp.NewBGPKeepAliveMessage())); err != nil {
		return err
	}
	if m, err := receive(conn); err != nil || m.Header.Type != bgp.BGP_MSG_OPEN {
		return fmt.Errorf("no OPEN: %w", err)
	}
	heard := make(chan error, 1)
	go func() { heard <- f.listen(conn) }()
	for at := 0; at < prefixes; at += perUpdate {
		update, err := updateOf(at)
		if err == nil {
			err = send(conn, update)
		}
		if err != nil { // what was said before is better to know
			select {
			case heard := <-heard:
				return errors.Join(err, heard)
			case <-time.After(patience):
				return err
			}
		}
		f.sent.Add(perUpdate)
	}
	select {
	case err := <-heard:
		return err
	case <-time.After(patience): // longer than it takes to read all that is in flight
		return nil
	}
}

func (f *flood) listen(conn net.Conn) error {
	for {
		m, err := receive(conn)
		if err != nil {
			return err
		}
		if body, is := m.Body.(*bgp.BGPNotification); is {
			f.said.Store(body)
			return nil
		}
	}
}

// perUpdate is how many prefixes have the same attributes. In the internet's table it is about so many.
const perUpdate = 10

// updateOf announces prefixes from a number on, each with a path of five autonomous systems.
func updateOf(at int) (*bgp.BGPMessage, error) {
	hop, err := bgp.NewPathAttributeNextHop(netip.MustParseAddr("172.18.0.2"))
	var nlri []bgp.PathNLRI
	for n := at; n < at+perUpdate; n++ {
		network := binary.BigEndian.AppendUint32(nil, 0x0b000000+uint32(n)<<8)
		address, _ := netip.AddrFromSlice(network)
		prefix, failed := bgp.NewIPAddrPrefix(netip.PrefixFrom(address, 24))
		err = errors.Join(err, failed)
		nlri = append(nlri, bgp.PathNLRI{NLRI: prefix})
	}
	path := bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ,
		[]uint32{routers, 65100, 65101, 65102, 100_000 + uint32(at)})})
	return bgp.NewBGPUpdateMessage(nil, []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(0), path, hop}, nlri), err
}

func send(conn net.Conn, m *bgp.BGPMessage) error {
	data, err := m.Serialize()
	if err == nil {
		_, err = conn.Write(data)
	}
	return err
}

func receive(conn net.Conn) (*bgp.BGPMessage, error) {
	header, h := make([]byte, bgp.BGP_HEADER_LENGTH), &bgp.BGPHeader{}
	if _, err := io.ReadFull(conn, header); err != nil {
		return nil, err
	}
	if err := h.DecodeFromBytes(header); err != nil {
		return nil, err
	}
	body := make([]byte, int(h.Len)-bgp.BGP_HEADER_LENGTH)
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	return bgp.ParseBGPBody(h, body)
}
