package topology

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// security is what members of security groups let through. One that is in a group which there isn't is in one without rules.
func (r *rows) security() {
	secured := slices.DeleteFunc(slices.Clone(r.Members), func(m Member) bool { return len(m.SecurityGroups) == 0 })
	if len(secured) == 0 && len(r.Group.SecurityGroups) == 0 {
		return
	}
	all, relays := r.portGroup("secured", secured), r.addressSets("relays", r.relayAddresses())
	for _, d := range directions() {
		port := d.port + " == @" + all.Name
		r.rule(&all.ACLs, rule{"basics-" + d.name + "/" + r.Group.UID, d.direction, basicsPriority, nbdb.ACLActionAllow,
			port + " && " + r.Group.basics(d, relays)})
		r.rule(&all.ACLs, rule{"nothing-" + d.name + "/" + r.Group.UID, d.direction, nothingPriority, nbdb.ACLActionDrop, port})
	}
	for _, s := range r.Group.SecurityGroups {
		in := slices.DeleteFunc(slices.Clone(r.Members), func(m Member) bool { return !slices.Contains(m.SecurityGroups, s.Name) })
		group := r.portGroup(securityGroup(s.Name), in)
		for _, match := range r.Group.matches(s) {
			direction := nbdb.ACLDirectionFromLport
			if strings.HasPrefix(match, "outport") {
				direction = nbdb.ACLDirectionToLport
			}
			// A rule has no name. What it says is its key, so that no rule is touched when another one changes.
			sum := digest(match)
			key := "security-" + hex.EncodeToString(sum[:8]) + "/" + r.Group.UID
			r.rule(&group.ACLs, rule{key, direction, securityPriority, nbdb.ACLActionAllowRelated, match})
		}
	}
}

func securityGroup(name string) string { return "security-group-" + name }

// basics are what a host needs to be on its network at all. Only relays answer what hosts ask a DHCP server for: any other member
// could be everybody's gateway otherwise.
func (g Group) basics(d direction, relays addressSets) string {
	basics := []string{"arp"}
	for _, n := range g.Networks {
		switch {
		case n.Gateway.Is4() && d.direction == nbdb.ACLDirectionFromLport:
			basics = append(basics, fmt.Sprintf("(ip4.dst == {255.255.255.255, %s, %s} && udp.src == 68 && udp.dst == 67)", relaysIPv4, n.Prefix))
		case n.Gateway.Is4():
			if relays["ip4"] != "" {
				basics = append(basics, fmt.Sprintf("(ip4.src == %s && udp.src == 67 && udp.dst == 68)", relays["ip4"]))
			}
		case d.direction == nbdb.ACLDirectionFromLport:
			basics = append(basics, "nd", "nd_rs", "mldv1", "mldv2", "(ip6.dst == {fe80::/10, ff02::1:2} && udp.src == 546 && udp.dst == 547)")
		default:
			basics = append(basics, "nd", "nd_ra", "mldv1", "mldv2")
			if relays["ip6"] != "" {
				basics = append(basics, fmt.Sprintf("(ip6.src == %s && udp.src == 547 && udp.dst == 546)", relays["ip6"]))
			}
		}
	}
	return either(basics)
}

// matches of the rules of a security group, each once, sorted. A rule that can't be expressed lets nothing through.
func (g Group) matches(s resourcev1.SecurityGroup) []string {
	var all []string
	for _, rule := range s.Rules {
		d := directions()[0]
		switch rule.Direction {
		case resourcev1.Egress:
		case resourcev1.Ingress:
			d = directions()[1]
		default:
			continue
		}
		for _, v := range g.versions() {
			what, ok := carried(rule, v)
			far := g.farEnd(rule, v, d.far)
			if ok && far != "" {
				all = append(all, fmt.Sprintf("%s == @%s && %s%s", d.port, g.portGroup(securityGroup(s.Name)), far, what))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// farEnd is the peer of a rule. It is empty if there is none.
func (g Group) farEnd(rule resourcev1.SecurityRule, v, end string) string {
	if len(rule.Prefixes)+len(rule.SecurityGroups) == 0 {
		return v
	}
	var who []string
	for _, text := range rule.Prefixes {
		if p, err := netip.ParsePrefix(string(text)); err == nil && plain(p.Addr()) && version(p.Addr()) == v {
			who = append(who, p.Masked().String())
		}
	}
	for _, name := range rule.SecurityGroups {
		if g.hasSecurityGroup(name) {
			who = append(who, "$"+g.portGroup(securityGroup(name))+"_"+v)
		}
	}
	if who == nil {
		return ""
	}
	return fmt.Sprintf("%s.%s == %s", v, end, oneOf(who))
}

// carried is what a rule lets through, to be added to a match, and whether that can be expressed.
func carried(rule resourcev1.SecurityRule, v string) (string, bool) {
	var protocol string
	switch rule.Protocol {
	case resourcev1.AnyProtocol, "":
		return "", len(rule.Ports) == 0
	case resourcev1.ICMPProtocol:
		return " && " + strings.Replace(v, "ip", "icmp", 1), len(rule.Ports) == 0
	case resourcev1.TCPProtocol:
		protocol = "tcp"
	case resourcev1.UDPProtocol:
		protocol = "udp"
	default:
		return "", false
	}
	if len(rule.Ports) == 0 {
		return " && " + protocol, true
	}
	var ports []string
	for _, p := range rule.Ports {
		last := max(p.First, p.Last)
		if p.Last != 0 && p.Last < p.First || p.First < 1 || last > 65535 {
			continue
		}
		ports = append(ports, fmt.Sprintf("%d <= %s.dst <= %d", p.First, protocol, last))
	}
	return " && " + either(ports), ports != nil
}

func (g Group) hasSecurityGroup(name string) bool {
	return slices.ContainsFunc(g.SecurityGroups, func(s resourcev1.SecurityGroup) bool { return s.Name == name })
}
