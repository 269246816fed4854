// Package drawing shows a group's network to people, as text and as SVG, with the names that OVN's own tools show.
package drawing

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// Text writes a network as a tree.
func Text(w io.Writer, t *topology.Topology) error {
	hosts := branch{what: topology.SwitchName(t.Group.Name) + "  logical switch, on every DPU"}
	ways := branch{what: t.Group.RouterName() + "  logical router, on every DPU; gateway " + t.Group.Gateway.String()}
	for _, m := range t.Members {
		hosts.next = append(hosts.next, branch{what: fmt.Sprintf("%s  %s  %s  on %s",
			topology.PortName(m.UID, m.Name), m.HostIP, m.HostMAC, dpu(m))})
		if m.Routed() {
			way := branch{what: fmt.Sprintf("%s  %s ─ %s  on %s ─ %s ─ fabric  %s",
				m.TransitName(), t.Link(m), m.GatewayName(), dpu(m), m.PublicName(), uplink(m))}
			for _, rule := range translations(m) {
				way.next = append(way.next, branch{what: rule})
			}
			ways.next = append(ways.next, way)
		}
	}
	root := branch{what: t.Group.Name + "  " + t.Group.Network.String(), next: []branch{hosts, ways}}
	for _, uid := range slices.Sorted(maps.Keys(t.Refused)) {
		root.next = append(root.next, branch{what: fmt.Sprintf("not in: %s, because %v", uid, t.Refused[uid])})
	}
	var b strings.Builder
	root.write(&b, "", "")
	_, err := io.WriteString(w, b.String())
	return err
}

// branch of a tree.
type branch struct {
	what string
	next []branch
}

func (t branch) write(b *strings.Builder, first, rest string) {
	fmt.Fprintf(b, "%s%s\n", first, t.what)
	for i, next := range t.next {
		if i < len(t.next)-1 {
			next.write(b, rest+"├─ ", rest+"│  ")
		} else {
			next.write(b, rest+"└─ ", rest+"   ")
		}
	}
}

func dpu(m topology.Member) string {
	if m.Chassis == "" {
		return "a DPU not known yet"
	}
	return m.Chassis
}

// uplink is the fabric's side of a gateway router.
func uplink(m topology.Member) string {
	address := fmt.Sprintf("%s/%d", m.FabricIP, m.FabricBits)
	if m.NextHop.IsValid() {
		address += " via " + m.NextHop.String()
	}
	return address
}

// translations are what the gateway router does to addresses.
func translations(m topology.Member) []string {
	rules := []string{fmt.Sprintf("SNAT %s → %s", m.HostIP, m.FabricIP)}
	if m.Reachable() {
		rules = append(rules, fmt.Sprintf("DNAT %s → %s", m.FabricIP, m.HostIP))
	}
	return rules
}
