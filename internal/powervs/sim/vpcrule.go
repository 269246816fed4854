package sim

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// securityRule allows some traffic. There may be several that are the same.
type securityRule struct {
	object
	of *securityGroup
	ruleRequest
}

// Status isn't shown.
func (r *securityRule) Status(time.Time) string { return availability.ready }

// Gone includes that of its group.
func (r *securityRule) Gone(now time.Time) bool { return r.Life.Gone(now) || r.of.Gone(now) }

// ruleRequest is a rule as clients write it.
type ruleRequest struct {
	Direction string    `json:"direction"`
	IPVersion string    `json:"ip_version"`
	Name      *string   `json:"name"`
	Protocol  string    `json:"protocol"`
	Local     *endpoint `json:"local"`
	Remote    *endpoint `json:"remote"`
	PortMin   *int      `json:"port_min"`
	PortMax   *int      `json:"port_max"`
	Type      *int      `json:"type"`
	Code      *int      `json:"code"`
}

// endpoint is one of an address, a range, and a security group.
type endpoint struct {
	Address string `json:"address"`
	CIDR    string `json:"cidr_block"`
	ID      string `json:"id"`
	// group is the one that has the ID.
	group *securityGroup
}

// defaultRules are those of the default group of a VPC: all that leaves it, and what is between its members.
func defaultRules(g *securityGroup) []ruleRequest {
	anywhere := &endpoint{CIDR: "0.0.0.0/0"}
	return []ruleRequest{
		{Direction: "outbound", Protocol: "any", IPVersion: "ipv4", Local: anywhere, Remote: anywhere},
		{Direction: "inbound", Protocol: "any", IPVersion: "ipv4", Local: anywhere, Remote: &endpoint{ID: g.id, group: g}},
	}
}

func (r *vpcRegion) listRules(call *call) (reply, error) {
	g, err := getInRegion(r.cloud.vpc.groups, r.region.Name, call.PathValue("group"))
	if err != nil {
		return reply{}, err
	}
	return ok(doc{"rules": docs(r.cloud.vpc.rules.within(g.id), (*securityRule).view)})
}

func (r *vpcRegion) createRule(call *call) (reply, error) {
	g, err := getInRegion(r.cloud.vpc.groups, r.region.Name, call.PathValue("group"))
	if err != nil {
		return reply{}, err
	}
	var request ruleRequest
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	if err := r.checkRule(g, &request, len(r.cloud.vpc.rules.within(g.id))); err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusCreated, body: r.addRule(call.now, g, request).view()}, nil
}

func (r *vpcRegion) addRule(now time.Time, g *securityGroup, request ruleRequest) *securityRule {
	if request.Name == nil {
		name := randomName()
		request.Name = &name
	}
	rule := &securityRule{object: newObject(now, *request.Name, g.id, 0), of: g, ruleRequest: request}
	rule.id = "r006-" + rule.id
	return add(r.cloud, r.cloud.vpc.rules, rule)
}

var protocols = []string{
	"any", "icmp_tcp_udp", "tcp", "udp", "icmp", "ah", "esp", "gre", "ip_in_ip", "l2tp", "rsvp", "sctp", "vrrp",
}

// checkRule checks a rule for a group that has so many already, and fills in the defaults.
func (r *vpcRegion) checkRule(g *securityGroup, rule *ruleRequest, existing int) error {
	switch limit := r.cloud.config.Quotas.Rules; {
	case exceeded(limit, existing+1):
		return refuse(http.StatusBadRequest, "security_group_rules_per_sg_exceeded", "Exceeded limit of rules per security group (%d).", limit)
	case rule.Direction != "inbound" && rule.Direction != "outbound":
		return refuse(http.StatusBadRequest, "validation_enum", "direction was not a valid option: %q", rule.Direction)
	case !slices.Contains(protocols, rule.Protocol) && !strings.HasPrefix(rule.Protocol, "number_"):
		return refuse(http.StatusBadRequest, "validation_enum", "protocol was not a valid option: %q", rule.Protocol)
	case rule.IPVersion != "" && rule.IPVersion != "ipv4":
		return refuse(http.StatusBadRequest, "validation_enum", "ip_version was not a valid option: %q", rule.IPVersion)
	}
	rule.IPVersion = "ipv4"
	if rule.Name != nil {
		if _, err := nameAmong(rule.Name, r.cloud.vpc.rules.within(g.id)); err != nil {
			return err
		}
	}
	for _, end := range []**endpoint{&rule.Local, &rule.Remote} {
		if *end == nil {
			*end = &endpoint{CIDR: "0.0.0.0/0"}
		}
		if err := r.checkEndpoint(g, *end, end == &rule.Remote); err != nil {
			return err
		}
	}
	return rule.checkPorts()
}

func (r *ruleRequest) checkPorts() error {
	isPort := func(port *int) bool { return port == nil || 1 <= *port && *port <= 65535 }
	switch {
	case (r.PortMin != nil || r.PortMax != nil) && r.Protocol != "tcp" && r.Protocol != "udp":
		return refuse(http.StatusBadRequest, "security_group_port_range_invalid_protocol",
			"A port range is only valid for a protocol of 'tcp' or 'udp'.")
	case (r.PortMin == nil) != (r.PortMax == nil):
		return refuse(http.StatusBadRequest, "security_group_port_range_both_or_neither",
			"Port range must be unset, or both a minimum and maximum port must be set for 'tcp' and 'udp'.")
	case !isPort(r.PortMin) || !isPort(r.PortMax):
		return refuse(http.StatusBadRequest, "validation_max_value", "Ports must be between 1 and 65535.")
	case r.PortMin != nil && *r.PortMax < *r.PortMin:
		return refuse(http.StatusBadRequest, "security_group_port_max_less_than_port_min", "TCP/UDP max port cannot be less than min port.")
	case (r.Type != nil || r.Code != nil) && r.Protocol != "icmp":
		return refuse(http.StatusBadRequest, "security_group_type_code_invalid_protocol",
			"An 'icmp' type/code was given, but the requested protocol was not 'icmp'.")
	case r.Code != nil && r.Type == nil:
		return missing("type")
	}
	return nil
}

// checkEndpoint checks one side of a rule. Only the remote one can be a group.
func (r *vpcRegion) checkEndpoint(g *securityGroup, e *endpoint, remote bool) error {
	set := slices.DeleteFunc([]string{e.Address, e.CIDR, e.ID}, func(s string) bool { return s == "" })
	if len(set) != 1 || e.ID != "" && !remote {
		return refuse(http.StatusBadRequest, "validation_only_one", "The value must match one of the subschemas.")
	}
	switch {
	case e.Address != "":
		if a, err := netip.ParseAddr(e.Address); err != nil || !a.Is4() {
			return refuse(http.StatusBadRequest, "validation_invalid_ipv4_address", "The value is not a valid IPv4 address: %q", e.Address)
		}
	case e.CIDR != "":
		if p, err := netip.ParsePrefix(e.CIDR); err != nil || !p.Addr().Is4() || p != p.Masked() {
			return refuse(http.StatusBadRequest, "validation_invalid_ipv4_cidr", "The value is not a valid IPv4 CIDR: %q", e.CIDR)
		}
	case e.ID == g.id:
		e.group = g
	default:
		other, err := getInRegion(r.cloud.vpc.groups, r.region.Name, e.ID)
		if err != nil {
			return err
		}
		if e.group = other; other.vpc != g.vpc {
			return refuse(http.StatusBadRequest, "security_group_remote_group_not_in_vpc",
				"The remote group is not in the same VPC as this security group.")
		}
	}
	return nil
}

func (r *vpcRegion) ruleOf(call *call) (*securityRule, error) {
	g, err := getInRegion(r.cloud.vpc.groups, r.region.Name, call.PathValue("group"))
	if err != nil {
		return nil, err
	}
	rule, found := r.cloud.vpc.rules.byID(g.id, call.PathValue("id"))
	if !found {
		return nil, notFound("security group rule", call.PathValue("id"))
	}
	return rule, nil
}

func (r *vpcRegion) getRule(call *call) (reply, error) {
	rule, err := r.ruleOf(call)
	if err != nil {
		return reply{}, err
	}
	return ok(rule.view())
}

func (r *vpcRegion) deleteRule(call *call) (reply, error) {
	rule, err := r.ruleOf(call)
	if err != nil {
		return reply{}, err
	}
	rule.Delete(call.now, 0)
	return reply{status: http.StatusNoContent}, nil
}

// view has the protocol, by which clients tell the sorts of rules apart.
func (r *securityRule) view() doc {
	d := doc{
		"id": r.id, "name": r.name, "href": href(r.of.region, "security_groups", r.of.id, "rules", r.id), "direction": r.Direction,
		"ip_version": r.IPVersion, "protocol": r.Protocol, "resource_type": "security_group_rule",
		"local": r.Local.view(), "remote": r.Remote.view(),
	}
	for name, value := range map[string]*int{"port_min": r.PortMin, "port_max": r.PortMax, "type": r.Type, "code": r.Code} {
		if value != nil {
			d[name] = *value
		}
	}
	return d
}

func (e *endpoint) view() doc {
	switch {
	case e.Address != "":
		return doc{"address": e.Address}
	case e.CIDR != "":
		return doc{"cidr_block": e.CIDR}
	default:
		return e.group.reference("security_groups")
	}
}
