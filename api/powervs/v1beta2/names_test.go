package v1beta2_test

import (
	"testing"

	. "github.com/onsi/gomega"

	. "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

func TestNames_areThoseOfTheSpecOrMadeOfTheClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	names := func(c *IBMPowerVSCluster) []string {
		return []string{c.WorkspaceName(), c.DHCPServerName(), c.NetworkName(), c.VPCName(), c.SubnetName(0), c.SubnetName(1),
			c.SubnetNameIn("us-south-1"), c.TransitGatewayName(), c.DefaultLoadBalancerName(), c.LoadBalancerName(0), c.LoadBalancerName(1)}
	}
	bare := &IBMPowerVSCluster{Spec: IBMPowerVSClusterSpec{VPCSubnets: make([]Subnet, 2), LoadBalancers: make([]VPCLoadBalancerSpec, 2)}}
	bare.Name = "demo"
	g.Expect(names(bare)).To(Equal([]string{"demo-serviceInstance", "demo", "DHCPSERVERdemo_Private", "demo-vpc", "demo-vpcsubnet-0", "demo-vpcsubnet-1",
		"demo-vpcsubnet-us-south-1", "demo-transitgateway", "demo-loadbalancer", "demo-loadbalancer-0", "demo-loadbalancer-1"}))
	given := validCluster()
	given.Name = "demo"
	g.Expect(names(given)).To(Equal([]string{"workspace", "nodes", "nodes", "vpc", "a", "b",
		"demo-vpcsubnet-us-south-1", "Gateway_1", "demo-loadbalancer", "outside", "inside"}))
	given.Spec.Network = nil
	g.Expect(given.NetworkName()).To(Equal("DHCPSERVERnodes_Private"))
}

func TestCreatesInfra_isWhatTheAnnotationSays(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"true": true, "True": true, "1": true, "false": false, "": false, "yes": false} {
		c := &IBMPowerVSCluster{}
		c.Annotations = map[string]string{CreateInfraAnnotation: value}
		NewWithT(t).Expect(c.CreatesInfra()).To(Equal(want), value)
	}
	NewWithT(t).Expect((&IBMPowerVSCluster{}).CreatesInfra()).To(BeFalse())
}

func TestWorkspaceID_isReadInBothPlaces(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect((&IBMPowerVSClusterSpec{ServiceInstanceID: "w"}).WorkspaceID()).To(Equal("w"))
	g.Expect((&IBMPowerVSMachineSpec{ServiceInstance: byID("w")}).WorkspaceID()).To(Equal("w"))
	g.Expect((&IBMPowerVSImageSpec{ServiceInstance: byName("w")}).WorkspaceID()).To(BeEmpty())
}
