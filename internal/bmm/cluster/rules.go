package cluster

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
)

const (
	// priorityStep leaves room between the priorities of rules, which are in the order of the spec: the lowest applies
	// first.
	priorityStep = 100
	// lastPriority is the BMM API's maximum.
	lastPriority = 60000
	everywhere   = "0.0.0.0/0"
)

// rules are those of the spec in the BMM API's form, followed by those that deny everything else.
func rules(specs []infrav1.SecurityRule) []bmm.NetworkSecurityGroupRule {
	var all []bmm.NetworkSecurityGroupRule
	for i, spec := range specs {
		all = append(all, bmm.NetworkSecurityGroupRule{
			Name:                 spec.Name,
			Direction:            directions[spec.Direction],
			Protocol:             protocols[spec.Protocol],
			Action:               actions[spec.Action],
			Priority:             (i + 1) * priorityStep,
			SourcePrefix:         cmp.Or(spec.SourceCIDR, everywhere),
			DestinationPrefix:    cmp.Or(spec.DestinationCIDR, everywhere),
			SourcePortRange:      portRange(spec.SourcePortRange),
			DestinationPortRange: portRange(spec.PortRange),
		})
	}
	for _, direction := range []bmm.RuleDirection{bmm.RuleIngress, bmm.RuleEgress} {
		all = append(all, bmm.NetworkSecurityGroupRule{
			Name:      "bedplate-deny-" + strings.ToLower(string(direction)),
			Direction: direction, Protocol: bmm.RuleAny, Action: bmm.RuleDeny,
			Priority: lastPriority, SourcePrefix: everywhere, DestinationPrefix: everywhere,
		})
	}
	return all
}

var (
	directions = map[infrav1.RuleDirection]bmm.RuleDirection{infrav1.Ingress: bmm.RuleIngress, infrav1.Egress: bmm.RuleEgress}
	actions    = map[infrav1.RuleAction]bmm.RuleAction{infrav1.Allow: bmm.RulePermit, infrav1.Deny: bmm.RuleDeny}
	protocols  = map[infrav1.RuleProtocol]bmm.RuleProtocol{
		infrav1.ProtocolTCP: bmm.RuleTCP, infrav1.ProtocolUDP: bmm.RuleUDP,
		infrav1.ProtocolICMP: bmm.RuleICMP, infrav1.ProtocolAll: bmm.RuleAny,
	}
)

// portRange is FIRST-LAST, as the BMM API wants it of a single port too.
func portRange(ports infrav1.PortRange) string {
	if ports == "" || strings.Contains(string(ports), "-") {
		return string(ports)
	}
	return fmt.Sprintf("%s-%s", ports, ports)
}

// ruleChanges says by name what to add, to remove and to change.
func ruleChanges(wanted, found []bmm.NetworkSecurityGroupRule) []graph.Change {
	byName := func(rules []bmm.NetworkSecurityGroupRule) map[string]string {
		texts := map[string]string{}
		for _, r := range rules {
			texts[r.Name] = ruleText(r)
		}
		return texts
	}
	return textChanges("rule ", byName(wanted), byName(found))
}

// ruleText has everything that makes a rule what it is.
func ruleText(r bmm.NetworkSecurityGroupRule) string {
	ports := func(prefix, ports string) string {
		if p, err := netip.ParsePrefix(prefix); err == nil {
			prefix = p.Masked().String()
		}
		if ports == "" {
			return prefix
		}
		return prefix + ":" + portRange(infrav1.PortRange(ports))
	}
	return strings.ToLower(fmt.Sprintf("%d %s %s %s %s to %s", r.Priority, r.Action, r.Direction, r.Protocol,
		ports(r.SourcePrefix, r.SourcePortRange), ports(r.DestinationPrefix, r.DestinationPortRange)))
}
