// Package drawing draws a group's network, as text and as SVG, with the names that OVN's own tools show.
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
	root := branch{what: t.Group.Name + "  " + networks(t.Group), next: []branch{hosts(t), ways(t)}}
	for _, s := range t.Group.SecurityGroups {
		group := branch{what: "security group " + s.Name}
		for _, rule := range s.Rules {
			group.next = append(group.next, branch{what: sentence(rule)})
		}
		root.next = append(root.next, group)
	}
	if len(t.Site.Denied) > 0 {
		root.next = append(root.next, branch{what: "denied by the site: " + join(t.Site.Denied, same)})
	}
	if len(t.Site.Shared) > 0 {
		root.next = append(root.next, branch{what: "shared by the site: " + join(t.Site.Shared, same)})
	}
	for _, uid := range slices.Sorted(maps.Keys(t.Warnings)) {
		for _, warning := range t.Warnings[uid] {
			root.next = append(root.next, branch{what: fmt.Sprintf("warning: %s: %s", uid, warning)})
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(t.Refused)) {
		root.next = append(root.next, branch{what: fmt.Sprintf("not in: %s, because %v", uid, t.Refused[uid])})
	}
	var b strings.Builder
	root.write(&b, "", "")
	_, err := io.WriteString(w, b.String())
	return err
}

// hosts are on the logical switch, and so are the DHCP relays of their DPUs.
func hosts(t *topology.Topology) branch {
	all := branch{what: topology.SwitchName(t.Group.Name) + "  logical switch, on every DPU"}
	var relays []branch
	seen := map[string]bool{}
	for _, m := range t.Members {
		words := []string{topology.PortName(m.UID, m.Name), hostIPs(m), m.HostMAC, "on " + dpu(m)}
		if in := groups(m); in != "" {
			words = append(words, in)
		}
		all.next = append(all.next, branch{what: strings.Join(words, "  ")})
		relay, ok := t.Relay(m.Chassis)
		if !ok || seen[m.Chassis] {
			continue
		}
		seen[m.Chassis] = true
		words = []string{relay.LogicalPort}
		if relay.Address.IsValid() {
			words = append(words, relay.Address.String())
		}
		words = append(words, relay.MAC, "on "+m.Chassis, "DHCP relay to "+t.Group.Relayed.String())
		relays = append(relays, branch{what: strings.Join(words, "  ")})
	}
	all.next = append(all.next, relays...)
	return all
}

// ways lead from the logical router to the fabric.
func ways(t *topology.Topology) branch {
	all := branch{what: t.Group.RouterName() + "  logical router, on every DPU; gateway " + gateways(t.Group)}
	for _, m := range t.Members {
		if len(m.Routed()) == 0 {
			continue
		}
		way := branch{what: fmt.Sprintf("%s  %s ─ %s  on %s ─ %s ─ fabric  %s",
			m.TransitName(), links(t, m), m.GatewayName(), dpu(m), m.PublicName(), strings.Join(uplinks(m), ", "))}
		for _, rule := range translations(t, m) {
			way.next = append(way.next, branch{what: rule})
		}
		all.next = append(all.next, way)
	}
	return all
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
