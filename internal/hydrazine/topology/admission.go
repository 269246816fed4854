package topology

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Whether a host conflicts with others is decided before, by package membership. What is refused here can't be
// expressed in OVN, whatever its source; an agent may have reported it.

func (g Group) check() error {
	if g.UID == "" || !isName(g.Name) {
		return errors.New("it has no UID or no proper name")
	}
	if len(g.Networks) != 1 && (len(g.Networks) != 2 || g.Networks[0].Prefix.Addr().BitLen() == g.Networks[1].Prefix.Addr().BitLen()) {
		return errors.New("it has to have one network, or two of different IP versions")
	}
	for _, n := range g.Networks {
		if err := n.check(); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, s := range g.SecurityGroups {
		if seen[s.Name] {
			return fmt.Errorf("it has two security groups %s", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

func (n Network) check() error {
	p, gateway := n.Prefix, n.Gateway
	switch {
	case !p.IsValid() || p.Masked() != p || !plain(p.Addr()):
		return fmt.Errorf("%s is not a network", p)
	case !p.Contains(gateway):
		return fmt.Errorf("the gateway %s is not in %s", gateway, p)
	case gateway == p.Addr() || gateway.Is4() && !p.Contains(gateway.Next()):
		return fmt.Errorf("%s can't be the gateway: it is %s's own address or its broadcast address", gateway, p)
	case p.Overlaps(linkLocal) || p.Overlaps(linksIPv6):
		return fmt.Errorf("%s overlaps %s or %s, which are used between its routers", p, linkLocal, linksIPv6)
	}
	return nil
}

// admit decides which members are accepted. Members come oldest first.
func (t *Topology) admit(members []Member) {
	taken := map[string]string{"MAC address " + t.Group.gatewayMAC(): "the gateway"}
	for _, n := range t.Group.Networks {
		taken["host address "+n.Gateway.String()] = "the gateway"
	}
	for _, m := range members {
		taken["MAC address "+t.Group.relayMAC(m.Chassis)] = "a DHCP relay"
	}
	for _, m := range members {
		m.HostMAC = strings.ToLower(m.HostMAC)
		err := t.Group.accepts(m)
		claims := m.claims()
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

// claims are what no two members may have.
func (m Member) claims() []string {
	claims := []string{"UID " + m.UID, "name " + m.Name, "MAC address " + m.HostMAC}
	for _, a := range m.Addresses {
		claims = append(claims, "host address "+a.HostIP.String())
		for _, outside := range []netip.Addr{a.FabricIP, a.PublicIP} {
			if outside.IsValid() {
				claims = append(claims, "outside address "+outside.String())
			}
		}
	}
	return claims
}

// accepts reports whether a member fits into the group, regardless of the other members.
func (g Group) accepts(m Member) error {
	mac, err := net.ParseMAC(m.HostMAC)
	switch {
	case m.UID == "" || !isName(m.Name):
		return errors.New("it has no UID or no proper name")
	case err != nil || len(mac) != 6 || mac.String() != m.HostMAC:
		return fmt.Errorf("%q is not a MAC address", m.HostMAC)
	case len(m.Addresses) == 0 || len(m.Addresses) > len(g.Networks):
		return fmt.Errorf("it has %d addresses in %d networks", len(m.Addresses), len(g.Networks))
	}
	for i, a := range m.Addresses {
		if network := g.Networks[i].Prefix; !network.Contains(a.HostIP) || !plain(a.HostIP) {
			return fmt.Errorf("%s is not in %s", a.HostIP, network)
		}
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

// check what a host has outside.
func (a Address) check() error {
	ip, next, public := a.FabricIP, a.NextHop, a.PublicIP
	switch {
	case !ip.IsValid() && !public.IsValid():
		return nil
	case !a.canBecome(ip):
		return fmt.Errorf("%s can't be translated into %s", a.HostIP, ip)
	case public.IsValid() && (!a.canBecome(public) || public == ip || public == next || public == a.HostIP):
		return fmt.Errorf("%s can't be translated into %s besides %s", a.HostIP, public, ip)
	case a.FabricBits < 0 || a.FabricBits > ip.BitLen():
		return fmt.Errorf("%d is no prefix length for %s", a.FabricBits, ip)
	case next.IsValid() && (!plain(next) || next.BitLen() != ip.BitLen()):
		return fmt.Errorf("%s can't be the next hop of %s", next, ip)
	case ip == a.HostIP || ip == next || a.HostIP == next:
		return fmt.Errorf("%s, %s and the next hop %s have to be three addresses", a.HostIP, ip, next)
	}
	return nil
}

func (a Address) canBecome(outside netip.Addr) bool {
	return plain(outside) && outside.BitLen() == a.HostIP.BitLen() && !linkLocal.Contains(outside) && !linksIPv6.Contains(outside)
}

// plain addresses are what they look like.
func plain(a netip.Addr) bool { return a.IsValid() && !a.Is4In6() && a.Zone() == "" }

func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
