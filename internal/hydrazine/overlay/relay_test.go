package overlay

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

func TestNotRelayed(t *testing.T) {
	t.Parallel()
	const first, second = "10.10.10.0/24 has a dhcpServer, and overlaps ", "fd10::/64 has a dhcpServer, and overlaps "
	all := func(texts ...string) (list []netip.Prefix) {
		for _, text := range texts {
			list = append(list, netip.MustParsePrefix(text))
		}
		return list
	}
	four, six := netip.MustParseAddr("172.19.0.10"), netip.MustParseAddr("fd19::10")
	for name, c := range map[string]struct {
		server resourcev1.IPAddress
		site   topology.Site
		says   string
	}{
		"nothing is said":            {"172.19.0.10", topology.Site{}, ""},
		"no server":                  {"", topology.Site{DHCPServers: []netip.Addr{}, FabricPrefixes: all("10.10.10.0/24")}, ""},
		"listed":                     {"172.19.0.10", topology.Site{DHCPServers: []netip.Addr{six, four}}, ""},
		"listed, denied to hosts":    {"172.19.0.10", topology.Site{DHCPServers: []netip.Addr{four}, Denied: all("172.19.0.0/16")}, ""},
		"listed, a DPU":              {"172.19.0.10", topology.Site{DHCPServers: []netip.Addr{four}, Underlay: []netip.Addr{four}}, "is an address of the DPUs"},
		"listed, a DPU's network":    {"172.19.0.10", topology.Site{DHCPServers: []netip.Addr{four}, DPUs: all("172.19.0.0/24")}, "is an address of the DPUs"},
		"another one is listed":      {"172.19.0.10", topology.Site{DHCPServers: []netip.Addr{six}}, "isn't among dhcpServers"},
		"none is listed":             {"172.19.0.10", topology.Site{DHCPServers: []netip.Addr{}}, "isn't among dhcpServers"},
		"shared, but not listed":     {"172.19.0.10", topology.Site{DHCPServers: []netip.Addr{}, Shared: all("172.19.0.10/32")}, "isn't among dhcpServers"},
		"denied":                     {"172.19.0.10", topology.Site{Denied: all("172.16.0.0/16", "172.19.0.0/16")}, "is in 172.19.0.0/16 of deniedPrefixes"},
		"denied and shared":          {"172.19.0.10", topology.Site{Denied: all("172.19.0.0/16"), Shared: all("172.19.0.10/32")}, ""},
		"the fabric's network":       {"172.19.0.10", topology.Site{FabricPrefixes: all("10.10.0.0/16")}, first + "10.10.0.0/16 of fabricPrefixes"},
		"a part of the fabric's":     {"172.19.0.10", topology.Site{FabricPrefixes: all("10.10.10.128/25")}, first + "10.10.10.128/25 of fabricPrefixes"},
		"management":                 {"172.19.0.10", topology.Site{Denied: all("10.10.10.0/24")}, first + "10.10.10.0/24 of deniedPrefixes"},
		"DPUs' management":           {"172.19.0.10", topology.Site{DPUs: all("10.10.10.0/24")}, first + "10.10.10.0/24 of dpuPrefixes"},
		"a storage's":                {"172.19.0.10", topology.Site{Shared: all("10.10.10.77/32")}, first + "10.10.10.77/32 of sharedServices"},
		"everything is denied":       {"172.19.0.10", topology.Site{Denied: all("0.0.0.0/0"), DHCPServers: []netip.Addr{four}}, ""},
		"another network":            {"172.19.0.10", topology.Site{FabricPrefixes: all("10.10.11.0/24", "fd10::/32")}, ""},
		"of the other version":       {"fd19::10", topology.Site{FabricPrefixes: all("10.10.0.0/16")}, ""},
		"the fabric's IPv6 network":  {"fd19::10", topology.Site{FabricPrefixes: all("fd10::/32")}, second + "fd10::/32 of fabricPrefixes"},
		"listed, of another version": {"fd19::10", topology.Site{DHCPServers: []netip.Addr{six}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			group := &resourcev1.ResourceGroup{Spec: resourcev1.ResourceGroupSpec{
				Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}, SecondNetwork: &resourcev1.IPNet{IP: "fd10::", PrefixLength: 64},
				NetworkImplementationType: resourcev1.SoftwareNetwork, DHCPServer: c.server,
			}}
			group.Name, group.UID = "blue", "blue"
			if c.says == "" {
				g.Expect(notRelayed(group, c.site)).To(BeEmpty())
			} else {
				g.Expect(notRelayed(group, c.site)).To(ContainSubstring(c.says))
			}
			made, err := Topology(group, nil, Outside{Site: c.site})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(made.Group.Relayed.IsValid()).To(Equal(c.says == "" && c.server != ""))
			g.Expect(made.Warnings["blue"]).To(HaveLen(map[bool]int{true: 1}[c.says != ""]), "the group says so")
		})
	}
}
