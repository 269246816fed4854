package webhook

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

// heldProblems are subnets and security groups that were created and leave the spec, while something in the spec holds them: the service
// never deletes them then, but for a subnet that only a rule is about. A load balancer that names no subnets is put into those that are left.
func heldProblems(before, after *infrav1.IBMPowerVSCluster) (problems field.ErrorList) {
	spec := field.NewPath("spec")
	left, ruled := subnetsOf(after), withRules(before, after)
	for _, e := range leaving(before, after) {
		made := before.Status.VPCSubnet[e.name]
		if e.id == "" && made.ControllerCreated && !slices.ContainsFunc(left, e.same) {
			in := func(b *infrav1.VPCLoadBalancerSpec) []infrav1.VPCResource { return b.Subnets }
			problems = append(problems, heldBy(spec.Child("vpcSubnets"), "subnet", e.name, made.ID, after, in)...)
			of := func(r infrav1.VPCSecurityGroupRuleRemote) bool { return r.CIDRSubnetName == e.name }
			for _, g := range ruled {
				if isAbout(g, of) {
					problems = append(problems, field.Invalid(spec.Child("vpcSubnets"), e.name, fmt.Sprintf("a rule of security group %s is about "+
						"subnet %s, whose range nothing says any more when it is deleted: remove the rule, too, or put the subnet back", g.Name, e.name)))
				}
			}
		}
	}
	for _, g := range before.Spec.VPCSecurityGroups {
		stays := slices.ContainsFunc(after.Spec.VPCSecurityGroups, func(other infrav1.VPCSecurityGroup) bool { return other.Name == g.Name })
		made := before.Status.VPCSecurityGroups[g.Name]
		if g.Name == "" || stays || !made.ControllerCreated {
			continue
		}
		path := spec.Child("vpcSecurityGroups")
		in := func(b *infrav1.VPCLoadBalancerSpec) []infrav1.VPCResource { return b.SecurityGroups }
		problems = append(problems, heldBy(path, "security group", g.Name, made.ID, after, in)...)
		of := func(r infrav1.VPCSecurityGroupRuleRemote) bool { return r.SecurityGroupName == g.Name }
		for _, other := range ruled {
			if isAbout(other, of) {
				problems = append(problems, field.Invalid(path, g.Name, fmt.Sprintf("a rule of security group %s is about security group %s, "+
					"which can't be deleted as long as it is: remove the rule first, or put the group back", other.Name, g.Name)))
			}
		}
	}
	return problems
}

// rangeProblems are subnets to create with addresses of one that was created and leaves the spec. It has them until it is deleted, which
// waits for the load balancers that are in it. One that stays, and is in all subnets, leaves it when all others are there.
func rangeProblems(before, after *infrav1.IBMPowerVSCluster) (problems field.ErrorList) {
	stay := inAllSubnets(after)
	if !slices.ContainsFunc(inAllSubnets(before), func(b entry) bool { return slices.ContainsFunc(stay, b.same) }) {
		return nil
	}
	had, has := subnetsOf(before), subnetsOf(after)
	for i, b := range had {
		if b.id != "" || !before.Status.VPCSubnet[b.name].ControllerCreated || slices.ContainsFunc(has, b.same) {
			continue
		}
		for k, a := range has {
			cidr, exists := after.Spec.VPCSubnets[k].Ipv4CidrBlock, a.made && slices.ContainsFunc(had, a.same)
			if a.id == "" && !exists && overlap(before.Spec.VPCSubnets[i].Ipv4CidrBlock, cidr) {
				problems = append(problems, field.Invalid(a.path.Child("cidr"), cidr, fmt.Sprintf("subnet %s has these addresses until it is "+
					"deleted: leave this one out until status.vpcSubnet has no %s any more, or choose others", b.name, b.name)))
			}
		}
	}
	return problems
}

// inAllSubnets are the load balancers that name no subnets, the default one among them.
func inAllSubnets(c *infrav1.IBMPowerVSCluster) (in []entry) {
	for i, e := range loadBalancersOf(c) {
		if len(c.Spec.LoadBalancers[i].Subnets) == 0 {
			in = append(in, e)
		}
	}
	if len(c.Spec.LoadBalancers) == 0 {
		in = append(in, entry{name: c.DefaultLoadBalancerName()})
	}
	return in
}

// overlap reports whether two ranges have addresses in common. One that isn't set has none.
func overlap(a, b string) bool {
	one, err := netip.ParsePrefix(a)
	if err != nil {
		return false
	}
	other, err := netip.ParsePrefix(b)
	return err == nil && one.Overlaps(other)
}

// leaving are subnets that may leave the spec: its entries, or where it had none and gets some, those of the zones.
func leaving(before, after *infrav1.IBMPowerVSCluster) []entry {
	all := subnetsOf(before)
	if len(all) > 0 || len(after.Spec.VPCSubnets) == 0 {
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(before.Status.VPCSubnet)) {
		all = append(all, entry{name: name})
	}
	return all
}

// heldBy are load balancers that are put into something which leaves the spec.
func heldBy(
	path *field.Path, kind, name, id string, after *infrav1.IBMPowerVSCluster, in func(*infrav1.VPCLoadBalancerSpec) []infrav1.VPCResource,
) (problems field.ErrorList) {
	for i := range after.Spec.LoadBalancers {
		if slices.ContainsFunc(in(&after.Spec.LoadBalancers[i]), func(r infrav1.VPCResource) bool {
			return r.Name == name || r.ID != "" && r.ID == id
		}) {
			problems = append(problems, field.Invalid(path, name, fmt.Sprintf("load balancer %s is in %s %s, which can't be deleted as long as it "+
				"is: put it back, or replace the load balancer by one with another name, too", after.LoadBalancerName(i), kind, name)))
		}
	}
	return problems
}

// withRules are the security groups whose rules are made: those of the user's own aren't changed.
func withRules(before, after *infrav1.IBMPowerVSCluster) []infrav1.VPCSecurityGroup {
	return slices.DeleteFunc(slices.Clone(after.Spec.VPCSecurityGroups), func(g infrav1.VPCSecurityGroup) bool {
		found := before.Status.VPCSecurityGroups[g.Name]
		return g.ID != "" || found.ID != "" && !found.ControllerCreated
	})
}

// isAbout reports whether a rule of a security group has a certain other side.
func isAbout(g infrav1.VPCSecurityGroup, certain func(infrav1.VPCSecurityGroupRuleRemote) bool) bool {
	return slices.ContainsFunc(g.Rules, func(rule infrav1.VPCSecurityGroupRule) bool {
		for _, side := range []*infrav1.VPCSecurityGroupRulePrototype{rule.Source, rule.Destination} {
			if side != nil && slices.ContainsFunc(side.Remotes, certain) {
				return true
			}
		}
		return false
	})
}
