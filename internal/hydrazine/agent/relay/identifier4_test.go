package relay

import (
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
)

// clientIdentifiers are as clients send them.
func clientIdentifiers() map[string][]byte {
	return map[string][]byte{
		"none":               nil,
		"its MAC address":    append([]byte{1}, hostMAC[:]...),
		"another's":          append([]byte{1}, otherMAC[:]...),
		"an UUID (firmware)": append([]byte{0}, make([]byte, 16)...),
		"a DUID (RFC 4361)":  {255, 10, 10, 10, 2, 0, 2, 0, 0, 0xab, 0x11, 1, 2, 3, 4, 5, 6, 7, 8},
		"a name":             append([]byte{0}, "host1.example.com"...),
		"empty":              {},
	}
}

// A host is one client to the server, and gets its own identifier in the answer.
func TestIdentifier4_isTheMACAddress(t *testing.T) {
	t.Parallel()
	for name, sent := range clientIdentifiers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			change := func(m *dhcpv4.DHCPv4) {
				if sent != nil {
					m.UpdateOption(dhcpv4.OptClientIdentifier(sent))
				}
			}
			r := &v4{settings4, newHosts(present)}
			for _, echo := range []bool{true, false} { // before RFC 6842 servers didn't
				frame, err := exchange(g, r, ask(dhcpv4.MessageTypeDiscover, change), dhcpv4.MessageTypeOffer, func(m *dhcpv4.DHCPv4) {
					if echo {
						m.UpdateOption(dhcpv4.OptClientIdentifier(append([]byte{1}, hostMAC[:]...)))
					}
				})
				g.Expect(err).NotTo(HaveOccurred())
				d, err := parse(frame)
				g.Expect(err).NotTo(HaveOccurred())
				m, err := dhcpv4.FromBytes(d.payload)
				g.Expect(err).NotTo(HaveOccurred())
				if len(sent) == 0 {
					g.Expect(m.Options.Get(dhcpv4.OptionClientIdentifier)).To(BeEmpty())
				} else {
					g.Expect(m.Options.Get(dhcpv4.OptionClientIdentifier)).To(Equal(sent))
				}
			}
		})
	}
}

// One MAC address asks as hundreds of clients: it is one.
func TestIdentifier4_ofOneHostIsOne(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, seen := &v4{settings4, newHosts(present)}, map[string]bool{}
	for i := range 300 { // in a minute
		discover := ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, []byte{255, byte(i >> 8), byte(i)}))
		out, err := r.request(broadcast(discover).frame(), noon.Add(time.Duration(i)*200*time.Millisecond))
		g.Expect(err).NotTo(HaveOccurred())
		m, err := dhcpv4.FromBytes(out)
		g.Expect(err).NotTo(HaveOccurred())
		seen[string(m.Options.Get(dhcpv4.OptionClientIdentifier))+m.ClientHWAddr.String()] = true
	}
	g.Expect(seen).To(HaveLen(1))
	g.Expect(r.hosts.all).To(HaveLen(1))
}
