package topology

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Whether a host fits in beside the others is decided before, by package membership. What is refused here is what can't be
// told in OVN, wherever it comes from; an agent may have said it.

func (g Group) check() error {
	switch {
	case g.UID == "" || !isName(g.Name):
		return errors.New("it has no UID or no proper name")
	case !g.Network.IsValid() || g.Network.Masked() != g.Network || !plain(g.Network.Addr()):
		return fmt.Errorf("%s is not a network", g.Network)
	case !g.Network.Contains(g.Gateway):
		return fmt.Errorf("the gateway %s is not in %s", g.Gateway, g.Network)
	case g.Gateway == g.Network.Addr() || g.Gateway.Is4() && !g.Network.Contains(g.Gateway.Next()):
		return fmt.Errorf("%s can't be the gateway: it is %s's own address or its broadcast address", g.Gateway, g.Network)
	case g.Network.Overlaps(linksIPv4) || g.Network.Overlaps(linksIPv6):
		return fmt.Errorf("%s overlaps %s or %s, which are used between its routers", g.Network, linksIPv4, linksIPv6)
	}
	return nil
}

// admit decides who is in. Members come oldest first.
func (t *Topology) admit(members []Member) {
	taken := map[string]string{}
	for _, claim := range []string{"MAC address " + t.Group.gatewayMAC(), "host address " + t.Group.Gateway.String()} {
		taken[claim] = "the gateway"
	}
	for _, m := range members {
		m.HostMAC = strings.ToLower(m.HostMAC)
		claims := []string{"UID " + m.UID, "name " + m.Name, "MAC address " + m.HostMAC, "host address " + m.HostIP.String()}
		if m.FabricIP.IsValid() {
			claims = append(claims, "fabric address "+m.FabricIP.String())
		}
		err := t.Group.accepts(m)
		for _, claim := range claims {
			if other := taken[claim]; other != "" && err == nil {
				err = fmt.Errorf("%s belongs to %s", claim, other)
			}
		}
		if err != nil {
			t.Refused[m.UID] = err
			continue
		}
		for _, claim := range claims {
			taken[claim] = m.Name
		}
		t.Members = append(t.Members, m)
	}
}

// accepts says whether a member fits into the group, whoever else is in.
func (g Group) accepts(m Member) error {
	mac, err := net.ParseMAC(m.HostMAC)
	switch {
	case m.UID == "" || !isName(m.Name):
		return errors.New("it has no UID or no proper name")
	case err != nil || len(mac) != 6 || mac.String() != m.HostMAC:
		return fmt.Errorf("%q is not a MAC address", m.HostMAC)
	case !g.Network.Contains(m.HostIP) || !plain(m.HostIP):
		return fmt.Errorf("%s is not in %s", m.HostIP, g.Network)
	case m.FabricIP.IsValid():
		return m.acceptFabric()
	}
	return nil
}

func (m Member) acceptFabric() error {
	ip, next := m.FabricIP, m.NextHop
	switch {
	case !plain(ip) || ip.BitLen() != m.HostIP.BitLen() || linksIPv4.Contains(ip) || linksIPv6.Contains(ip):
		return fmt.Errorf("%s can't be translated into %s", m.HostIP, ip)
	case m.FabricBits < 0 || m.FabricBits > ip.BitLen():
		return fmt.Errorf("%d is no prefix length for %s", m.FabricBits, ip)
	case next.IsValid() && (!plain(next) || next.BitLen() != ip.BitLen()):
		return fmt.Errorf("%s can't be the next hop of %s", next, ip)
	case ip == m.HostIP || ip == next || m.HostIP == next:
		return fmt.Errorf("%s, %s and the next hop %s have to be three addresses", m.HostIP, ip, next)
	}
	return nil
}

// plain addresses are what they look like.
func plain(a netip.Addr) bool { return a.IsValid() && !a.Is4In6() && a.Zone() == "" }

func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
