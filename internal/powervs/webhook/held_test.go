package webhook_test

import (
	"slices"
	"testing"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

// holding is a cluster with a load balancer in a subnet and in a security group that it names, and a rule about a third one.
func holding() *infrav1.IBMPowerVSCluster {
	c := least()
	c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "a"}, {Name: "b"}}
	about := infrav1.VPCSecurityGroupRule{
		Action: infrav1.SecurityGroupAllow, Direction: infrav1.SecurityGroupInbound, Source: &infrav1.VPCSecurityGroupRulePrototype{
			Protocol: infrav1.SecurityGroupProtocolAll,
			Remotes:  []infrav1.VPCSecurityGroupRuleRemote{{RemoteType: infrav1.SecurityGroupRemoteGroup, SecurityGroupName: "db"}},
		},
	}
	c.Spec.VPCSecurityGroups = []infrav1.VPCSecurityGroup{{Name: "web", Rules: []infrav1.VPCSecurityGroupRule{about}}, {Name: "db"}, {Name: "none"}}
	c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{
		Name: "front", Subnets: []infrav1.VPCResource{{Name: "a"}}, SecurityGroups: []infrav1.VPCResource{{Name: "web"}},
	}}
	ours := infrav1.VPCSecurityGroupStatus{ID: "g", ControllerCreated: true}
	c.Status.VPCSubnet = map[string]infrav1.ResourceReference{"a": {ID: "subnet-a", ControllerCreated: true}, "b": {ID: "b", ControllerCreated: true}}
	c.Status.VPCSecurityGroups = map[string]infrav1.VPCSecurityGroupStatus{"web": {ID: "group-web", ControllerCreated: true}, "db": ours, "none": ours}
	c.Status.LoadBalancers = map[string]infrav1.VPCLoadBalancerStatus{"front": {ID: "f"}}
	return c
}

func TestCluster_letsNothingGoThatIsStillHeld(t *testing.T) {
	t.Parallel()
	withoutA := func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = c.Spec.VPCSubnets[1:] }
	withoutWeb := func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSecurityGroups = c.Spec.VPCSecurityGroups[1:] }
	checkChanges(t, holding, []change[*infrav1.IBMPowerVSCluster]{
		{"a subnet with a load balancer", withoutA, "load balancer front is in subnet a, which can't be deleted as long as it is: put it back, " +
			"or replace the load balancer by one with another name, too"},
		{"another subnet", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = c.Spec.VPCSubnets[:1] }, ""},
		{"with its load balancer", func(c *infrav1.IBMPowerVSCluster) {
			withoutA(c)
			c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "other"}}
		}, ""},
		{"a subnet with a load balancer that has its ID", func(c *infrav1.IBMPowerVSCluster) {
			withoutA(c)
			c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "other", Subnets: []infrav1.VPCResource{{ID: "subnet-a"}}}}
		}, "load balancer other is in subnet a"},
		{"a group with a load balancer that has its ID", func(c *infrav1.IBMPowerVSCluster) {
			withoutWeb(c)
			c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "other", SecurityGroups: []infrav1.VPCResource{{ID: "group-web"}}}}
		}, "load balancer other is in security group web"},
		{"a group with a load balancer", withoutWeb, "load balancer front is in security group web"},
		{"a group that a rule is about", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSecurityGroups = []infrav1.VPCSecurityGroup{c.Spec.VPCSecurityGroups[0], {Name: "none"}}
		}, "a rule of security group web is about security group db"},
		{"with the rule", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSecurityGroups = []infrav1.VPCSecurityGroup{{Name: "web"}, {Name: "none"}}
		}, ""},
		{"a group that nothing holds", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSecurityGroups = c.Spec.VPCSecurityGroups[:2] }, ""},
	})
	checkChanges(t, func() *infrav1.IBMPowerVSCluster {
		c := holding()
		c.Status.VPCSubnet["a"] = infrav1.ResourceReference{ID: "a"}
		return c
	}, []change[*infrav1.IBMPowerVSCluster]{{"a subnet of the user's own", withoutA, ""}})
	checkChanges(t, func() *infrav1.IBMPowerVSCluster {
		c := holding()
		c.Spec.VPCSecurityGroups[0].Rules[0].Source.Remotes[0] = infrav1.VPCSecurityGroupRuleRemote{
			RemoteType: infrav1.SecurityGroupRemoteCIDR, CIDRSubnetName: "b",
		}
		return c
	}, []change[*infrav1.IBMPowerVSCluster]{
		{"a subnet that a rule is about", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = c.Spec.VPCSubnets[:1] },
			"a rule of security group web is about subnet b, whose range nothing says any more when it is deleted: remove the rule, too"},
		{"with the rule", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSubnets, c.Spec.VPCSecurityGroups[0].Rules = c.Spec.VPCSubnets[:1], nil
		}, ""},
	})
	for _, own := range []infrav1.VPCSecurityGroup{{ID: "own"}, {Name: "own"}} { // its rules are ignored
		checkChanges(t, func() *infrav1.IBMPowerVSCluster {
			c := holding()
			about := c.Spec.VPCSecurityGroups[0].Rules
			about[0].Source.Remotes = append(about[0].Source.Remotes, infrav1.VPCSecurityGroupRuleRemote{
				RemoteType: infrav1.SecurityGroupRemoteCIDR, CIDRSubnetName: "b",
			})
			own.Rules, c.Spec.VPCSecurityGroups[0].Rules = about, nil
			c.Spec.VPCSecurityGroups = append(c.Spec.VPCSecurityGroups, own)
			c.Status.VPCSecurityGroups["own"] = infrav1.VPCSecurityGroupStatus{ID: "own"}
			return c
		}, []change[*infrav1.IBMPowerVSCluster]{
			{"a subnet that a rule of the user's own group is about", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = c.Spec.VPCSubnets[:1] }, ""},
			{"a group that a rule of the user's own group is about", func(c *infrav1.IBMPowerVSCluster) {
				c.Spec.VPCSecurityGroups = slices.Delete(c.Spec.VPCSecurityGroups, 1, 2)
			}, ""},
		})
	}
	checkChanges(t, func() *infrav1.IBMPowerVSCluster {
		c := holding()
		c.Spec.VPCSubnets = nil
		return c
	}, []change[*infrav1.IBMPowerVSCluster]{
		{"subnets of zones, for others", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "b"}} },
			"load balancer front is in subnet a"},
		{"subnets of zones, by their names", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "a"}} }, ""},
		{"something else", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSecurityGroups = c.Spec.VPCSecurityGroups[:2] }, ""},
	})
}

func TestCluster_putsNoSubnetIntoTheRangeOfOneThatLeaves(t *testing.T) {
	t.Parallel()
	ranges := func() *infrav1.IBMPowerVSCluster {
		c := least()
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "a", Ipv4CidrBlock: "10.240.1.0/24"}, {Name: "b", Ipv4CidrBlock: "10.240.2.0/24"}, {Name: "any"}}
		ours := infrav1.ResourceReference{ID: "subnet", ControllerCreated: true}
		c.Status.VPCSubnet = map[string]infrav1.ResourceReference{"a": ours, "b": ours, "any": ours}
		return c
	}
	instead := func(s infrav1.Subnet) func(*infrav1.IBMPowerVSCluster) {
		return func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets[1] = s }
	}
	const message = "subnet b has these addresses until it is deleted: leave this one out until status.vpcSubnet has no b any more, or choose others"
	checkChanges(t, ranges, []change[*infrav1.IBMPowerVSCluster]{
		{"another name", instead(infrav1.Subnet{Name: "new", Ipv4CidrBlock: "10.240.2.0/24"}), "spec.vpcSubnets[1].cidr: Invalid value: \"10.240.2.0/24\": " + message},
		{"a part", instead(infrav1.Subnet{Name: "new", Ipv4CidrBlock: "10.240.2.128/25"}), message},
		{"with bits of a host", instead(infrav1.Subnet{Name: "new", Ipv4CidrBlock: "10.240.2.7/24"}), message},
		{"at another place", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "new", Ipv4CidrBlock: "10.240.0.0/16"}, c.Spec.VPCSubnets[0]}
		}, message},
		{"other addresses", instead(infrav1.Subnet{Name: "new", Ipv4CidrBlock: "10.240.3.0/24"}), ""},
		{"any addresses", instead(infrav1.Subnet{Name: "new"}), ""},
		{"one of the user's own", instead(infrav1.Subnet{ID: "0717-x", Ipv4CidrBlock: "10.240.2.0/24"}), ""},
		{"only removed", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = c.Spec.VPCSubnets[:1] }, ""},
		{"exchanged", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSubnets[0], c.Spec.VPCSubnets[1] = c.Spec.VPCSubnets[1], c.Spec.VPCSubnets[0]
		}, ""},
	})
	for name, status := range map[string]map[string]infrav1.ResourceReference{
		"not made":            nil,
		"of the user's own":   {"b": {ID: "subnet"}},
		"another that is new": {"a": {ID: "subnet", ControllerCreated: true}},
	} {
		checkChanges(t, func() *infrav1.IBMPowerVSCluster {
			c := ranges()
			c.Status.VPCSubnet = status
			return c
		}, []change[*infrav1.IBMPowerVSCluster]{{name, instead(infrav1.Subnet{Name: "new", Ipv4CidrBlock: "10.240.2.0/24"}), ""}})
	}
	late := func(c *infrav1.IBMPowerVSCluster, cidr string) {
		c.Spec.VPCSubnets = append(c.Spec.VPCSubnets[:1], infrav1.Subnet{Name: "late", Ipv4CidrBlock: cidr})
	}
	checkChanges(t, func() *infrav1.IBMPowerVSCluster {
		c := ranges()
		c.Spec.VPCSubnets = append(c.Spec.VPCSubnets, infrav1.Subnet{Name: "late", Ipv4CidrBlock: "10.240.2.0/25"})
		return c
	}, []change[*infrav1.IBMPowerVSCluster]{
		{"for one that waits", func(c *infrav1.IBMPowerVSCluster) { late(c, "10.240.2.0/25") }, "spec.vpcSubnets[1].cidr: Invalid value: \"10.240.2.0/25\": " + message},
		{"for one that waits, with other addresses", func(c *infrav1.IBMPowerVSCluster) { late(c, "10.240.3.0/24") }, ""},
		{"with one that waits", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = c.Spec.VPCSubnets[:1] }, ""},
	})
	checkChanges(t, func() *infrav1.IBMPowerVSCluster {
		c := ranges()
		c.Spec.VPCSubnets = append(c.Spec.VPCSubnets, infrav1.Subnet{Name: "late", Ipv4CidrBlock: "10.240.1.0/25"})
		return c
	}, []change[*infrav1.IBMPowerVSCluster]{
		{"for one that wasn't made", func(c *infrav1.IBMPowerVSCluster) { late(c, "10.240.2.0/25") }, message},
	})
}

// Nothing but a load balancer that stays, and is in all subnets, keeps the one that leaves.
func TestCluster_putsASubnetIntoTheRangeOfOneThatNothingKeeps(t *testing.T) {
	t.Parallel()
	const message = "subnet b has these addresses until it is deleted"
	all := infrav1.VPCLoadBalancerSpec{Name: "all"}
	in := func(name string) infrav1.VPCLoadBalancerSpec {
		return infrav1.VPCLoadBalancerSpec{Name: "front", Subnets: []infrav1.VPCResource{{Name: name}}}
	}
	type balancers []infrav1.VPCLoadBalancerSpec
	for name, row := range map[string]struct {
		had, has balancers
		message  string
	}{
		"the default one":                {nil, nil, message},
		"the default one, by its name":   {nil, balancers{{Name: "demo-loadbalancer"}}, message},
		"one in all":                     {balancers{all}, balancers{all}, message},
		"one in all among others":        {balancers{in("a"), {Public: &no}}, balancers{in("a"), {Public: &no}}, message},
		"the user's own":                 {balancers{{ID: "r006-x"}}, balancers{{ID: "r006-x"}}, message},
		"one in all, replaced":           {balancers{all}, balancers{{Name: "other"}}, ""},
		"the default one, replaced":      {nil, balancers{all}, ""},
		"one in another subnet":          {balancers{in("a")}, balancers{in("a")}, ""},
		"one in it, replaced":            {balancers{in("b")}, balancers{all}, ""},
		"one in another, and one in all": {balancers{in("a")}, balancers{in("a"), {Public: &no}}, ""},
	} {
		checkLists(t, func() *infrav1.IBMPowerVSCluster {
			c := least()
			c.Name = "demo"
			c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "a"}, {Name: "b", Ipv4CidrBlock: "10.240.2.0/24"}}
			c.Spec.LoadBalancers = row.had
			c.Status.VPCSubnet = map[string]infrav1.ResourceReference{"b": {ID: "subnet", ControllerCreated: true}}
			return c
		}, []change[*infrav1.IBMPowerVSCluster]{{name, func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSubnets[1], c.Spec.LoadBalancers = infrav1.Subnet{Name: "new", Ipv4CidrBlock: "10.240.2.0/24"}, row.has
		}, row.message}})
	}
}
