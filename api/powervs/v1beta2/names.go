package v1beta2

import (
	"fmt"
	"strconv"
)

// CreatesInfra says whether what the spec doesn't name is created: the annotation is "true". Other values than those of booleans
// are refused when the object is written, and count as false.
func (c *IBMPowerVSCluster) CreatesInfra() bool {
	creates, err := strconv.ParseBool(c.Annotations[CreateInfraAnnotation])
	return err == nil && creates
}

// WorkspaceID is the ID that the spec gives for the workspace, also in its deprecated place.
func (s *IBMPowerVSClusterSpec) WorkspaceID() string {
	return workspaceID(s.ServiceInstance, s.ServiceInstanceID)
}

// WorkspaceID is the ID that the spec gives for the workspace, also in its deprecated place.
func (s *IBMPowerVSMachineSpec) WorkspaceID() string {
	return workspaceID(s.ServiceInstance, s.ServiceInstanceID)
}

// WorkspaceID is the ID that the spec gives for the workspace, also in its deprecated place.
func (s *IBMPowerVSImageSpec) WorkspaceID() string {
	return workspaceID(s.ServiceInstance, s.ServiceInstanceID)
}

func workspaceID(reference *IBMPowerVSResourceReference, deprecated string) string {
	if reference != nil && reference.ID != "" {
		return reference.ID
	}
	return deprecated
}

// The names of what a cluster gets, from the spec or else from the cluster's name. What is named by an ID has none of them.

// WorkspaceName is the name of the PowerVS workspace.
func (c *IBMPowerVSCluster) WorkspaceName() string {
	if c.Spec.ServiceInstance != nil && c.Spec.ServiceInstance.Name != "" {
		return c.Spec.ServiceInstance.Name
	}
	return c.Name + "-serviceInstance"
}

// DHCPServerName is the name that the DHCP server is created with.
func (c *IBMPowerVSCluster) DHCPServerName() string {
	if c.Spec.DHCPServer != nil && c.Spec.DHCPServer.Name != "" {
		return c.Spec.DHCPServer.Name
	}
	return c.Name
}

// NetworkName is the name of the network in the workspace. The service derives it from that of the DHCP server.
func (c *IBMPowerVSCluster) NetworkName() string {
	if c.Spec.Network != nil && c.Spec.Network.Name != "" {
		return c.Spec.Network.Name
	}
	return "DHCPSERVER" + c.DHCPServerName() + "_Private"
}

// VPCName is the name of the VPC.
func (c *IBMPowerVSCluster) VPCName() string {
	if c.Spec.VPC != nil && c.Spec.VPC.Name != "" {
		return c.Spec.VPC.Name
	}
	return c.Name + "-vpc"
}

// SubnetName is the name of the VPC's subnet in a place of spec.vpcSubnets.
func (c *IBMPowerVSCluster) SubnetName(place int) string {
	if name := c.Spec.VPCSubnets[place].Name; name != "" {
		return name
	}
	return fmt.Sprintf("%s-vpcsubnet-%d", c.Name, place)
}

// SubnetNameIn is the name of the VPC's subnet in a zone, where the spec has no subnets.
func (c *IBMPowerVSCluster) SubnetNameIn(zone string) string { return c.Name + "-vpcsubnet-" + zone }

// TransitGatewayName is the name of the transit gateway.
func (c *IBMPowerVSCluster) TransitGatewayName() string {
	if c.Spec.TransitGateway != nil && c.Spec.TransitGateway.Name != "" {
		return c.Spec.TransitGateway.Name
	}
	return c.Name + "-transitgateway"
}

// DefaultLoadBalancerName is the name of the load balancer where the spec has none.
func (c *IBMPowerVSCluster) DefaultLoadBalancerName() string { return c.Name + "-loadbalancer" }

// LoadBalancerName is the name of the load balancer in a place of spec.loadBalancers.
func (c *IBMPowerVSCluster) LoadBalancerName(place int) string {
	if name := c.Spec.LoadBalancers[place].Name; name != "" {
		return name
	}
	return fmt.Sprintf("%s-%d", c.DefaultLoadBalancerName(), place)
}

// PoolName is the name of the pool that a listener leads to: one of backendPools, or one of its own.
func (l AdditionalListenerSpec) PoolName() string {
	if l.DefaultPoolName != "" {
		return l.DefaultPoolName
	}
	return fmt.Sprintf("pool-%d", l.Port)
}
