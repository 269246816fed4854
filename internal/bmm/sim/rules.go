package sim

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// checkRules returns the rules of a group as the service keeps them.
func checkRules(rules []api.NetworkSecurityGroupRule) ([]api.NetworkSecurityGroupRule, error) {
	rules = slices.Clone(rules)
	names := map[string]bool{}
	for i := range rules {
		rule := &rules[i]
		if rule.Name != "" && names[rule.Name] {
			return nil, badField("rules", "name `%s` is used by more than one rule", rule.Name)
		}
		names[rule.Name] = true
		if err := completeRule(rule); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// completeRule checks a rule. A single port becomes a range.
func completeRule(rule *api.NetworkSecurityGroupRule) error {
	for _, prefix := range []struct{ field, value string }{
		{"sourcePrefix", rule.SourcePrefix}, {"destinationPrefix", rule.DestinationPrefix},
	} {
		if _, err := netip.ParsePrefix(prefix.value); err != nil {
			return badField("rules", "%s must be a range in CIDR notation", prefix.field)
		}
	}
	for _, ports := range []struct {
		field string
		value *string
	}{{"sourcePortRange", &rule.SourcePortRange}, {"destinationPortRange", &rule.DestinationPortRange}} {
		if *ports.value == "" {
			continue
		}
		switch rule.Protocol {
		case api.NetworkSecurityGroupRuleProtocolTCP, api.NetworkSecurityGroupRuleProtocolUDP:
		default:
			return badField("rules", "ports cannot be specified with protocol `%s`", rule.Protocol)
		}
		first, last, ok := portRange(*ports.value)
		if !ok {
			return badField("rules", "%s must be a port or FIRST-LAST", ports.field)
		}
		*ports.value = fmt.Sprintf("%d-%d", first, last)
	}
	return nil
}

func portRange(text string) (first, last uint64, ok bool) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 16)
	if err != nil {
		return 0, 0, false
	}
	last, err = strconv.ParseUint(to, 10, 16)
	return first, last, err == nil && first <= last
}
