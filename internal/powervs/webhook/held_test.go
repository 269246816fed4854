package webhook_test

import (
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
		c.Spec.VPCSubnets = nil
		return c
	}, []change[*infrav1.IBMPowerVSCluster]{
		{"subnets of zones, for others", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "b"}} },
			"load balancer front is in subnet a"},
		{"subnets of zones, by their names", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "a"}} }, ""},
		{"something else", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSecurityGroups = c.Spec.VPCSecurityGroups[:2] }, ""},
	})
}
