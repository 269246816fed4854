package sim

import (
	"net/http"
	"slices"
	"time"
)

// securityGroup is a set of rules for what is attached to it.
type securityGroup struct {
	regional
	vpc *vpc
}

// Status isn't shown: a group is there at once.
func (g *securityGroup) Status(time.Time) string { return availability.ready }

// Gone includes that of its VPC.
func (g *securityGroup) Gone(now time.Time) bool { return g.Life.Gone(now) || g.vpc.Gone(now) }

type groupRequest struct {
	Name          *string       `json:"name"`
	VPC           *idReference  `json:"vpc"`
	ResourceGroup *idReference  `json:"resource_group"`
	Rules         []ruleRequest `json:"rules"`
}

func (r *vpcRegion) listGroups(call *call) (reply, error) {
	return list(call, "security_groups", inRegion(r.cloud.vpc.groups, r.region.Name), map[string]func(*securityGroup) string{
		"resource_group.id": func(g *securityGroup) string { return g.group.ID },
		"vpc.id":            func(g *securityGroup) string { return g.vpc.id },
		"vpc.crn":           func(g *securityGroup) string { return g.vpc.crn },
		"vpc.name":          func(g *securityGroup) string { return g.vpc.name },
	}, r.groupView)
}

func (r *vpcRegion) getGroup(call *call) (reply, error) {
	g, err := getInRegion(r.cloud.vpc.groups, r.region.Name, call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(r.groupView(g))
}

// createGroup makes a group with its rules, or nothing.
func (r *vpcRegion) createGroup(call *call) (reply, error) {
	var request groupRequest
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	v, err := r.vpcOf(request.VPC, call.now)
	if err != nil {
		return reply{}, err
	}
	siblings := r.cloud.vpc.groups.within(v.id)
	name, err := nameAmong(request.Name, siblings)
	if err != nil {
		return reply{}, err
	}
	group, err := r.cloud.groupOf(request.ResourceGroup)
	if err != nil {
		return reply{}, err
	}
	if limit := r.cloud.config.Quotas.SecurityGroups; exceeded(limit, len(siblings)+1) {
		return reply{}, overQuota("security_group_limit_exceeded", "security groups in the VPC", limit)
	}
	g := r.newGroup(call.now, name, v, group)
	for i := range request.Rules {
		if err := r.checkRule(g, &request.Rules[i], i); err != nil {
			return reply{}, err
		}
	}
	add(r.cloud, r.cloud.vpc.groups, g)
	for _, rule := range request.Rules {
		r.addRule(call.now, g, rule)
	}
	return reply{status: http.StatusCreated, body: r.groupView(g)}, nil
}

func (r *vpcRegion) newGroup(now time.Time, name string, v *vpc, group ResourceGroup) *securityGroup {
	return &securityGroup{regional: r.newRegional(now, name, v.id, "security-group", group, 0), vpc: v}
}

func (r *vpcRegion) deleteGroup(call *call) (reply, error) {
	g, err := getInRegion(r.cloud.vpc.groups, r.region.Name, call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	switch {
	case g.vpc.defaultGroup == g:
		return reply{}, refuse(http.StatusConflict, "security_group_vpc_default", "Cannot delete the default security group for a VPC.")
	case len(r.targets(g)) > 0:
		return reply{}, refuse(http.StatusConflict, "security_group_in_use", "Cannot delete the security group while targets are attached.")
	case r.cloud.vpc.rules.Any(func(rule *securityRule) bool { return rule.Remote.group == g && rule.of != g }):
		return reply{}, refuse(http.StatusConflict, "security_group_remoting_rules",
			"Cannot delete the security group while remoting rules are attached.")
	}
	g.Delete(call.now, 0)
	return reply{status: http.StatusNoContent}, nil
}

// targets are what a group is attached to.
func (r *vpcRegion) targets(g *securityGroup) []*balancer {
	var all []*balancer
	for _, b := range r.cloud.vpc.balancers.Items {
		if slices.Contains(b.groups, g) {
			all = append(all, b)
		}
	}
	return all
}

func (r *vpcRegion) groupView(g *securityGroup) doc {
	d := g.doc("security_groups")
	d["vpc"] = g.vpc.asReference()
	d["rules"] = docs(r.cloud.vpc.rules.within(g.id), (*securityRule).view)
	d["targets"] = docs(r.targets(g), func(b *balancer) doc {
		target := b.reference("load_balancers")
		target["resource_type"] = "load_balancer"
		return target
	})
	return d
}
