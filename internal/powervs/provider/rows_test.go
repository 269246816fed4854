package provider_test

import (
	"slices"
	"strings"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// row is a cluster with what is made for it.
type row struct {
	change func(*infrav1.IBMPowerVSCluster, powervstest.Own)
	keys   []string
	// later is what the spec of a ready cluster is changed to, and changed what there is then.
	later   func(*infrav1.IBMPowerVSCluster)
	changed []string
}

const apiRule, webRule = "securityGroupRule/tcp 6443 from 0.0.0.0/0", "securityGroupRule/tcp 443 from 0.0.0.0/0"

// Keys of what is made for a cluster.
var (
	connectionKeys = []string{"transitGatewayConnection/bedplate-OWNER-vpc", "transitGatewayConnection/bedplate-OWNER-powervs"}
	subnetKeys     = []string{"subnet/demo-vpcsubnet-us-south-1", "subnet/demo-vpcsubnet-us-south-2", "subnet/demo-vpcsubnet-us-south-3"}
	defaultKeys    = slices.Concat(connectionKeys, subnetKeys, []string{
		"instance/demo-serviceInstance", "dhcpServer/demo", "vpc/demo-vpc", apiRule, "loadBalancer/demo-loadbalancer",
		"transitGateway/demo-transitgateway",
	})
)

func byName(name string) *infrav1.IBMPowerVSResourceReference {
	return &infrav1.IBMPowerVSResourceReference{Name: name}
}

// port of a rule for clients anywhere.
func port(number int64, remotes ...infrav1.VPCSecurityGroupRuleRemote) infrav1.VPCSecurityGroupRule {
	return infrav1.VPCSecurityGroupRule{
		Action: infrav1.SecurityGroupAllow, Direction: infrav1.SecurityGroupInbound, Source: &infrav1.VPCSecurityGroupRulePrototype{
			Protocol: infrav1.SecurityGroupProtocolTCP, Remotes: remotes,
			PortRange: &infrav1.VPCSecurityGroupPortRange{MinimumPort: number, MaximumPort: number},
		},
	}
}

var anyone = infrav1.VPCSecurityGroupRuleRemote{RemoteType: infrav1.SecurityGroupRemoteAny}

// rows are the shapes of clusters.
var rows = map[string]row{
	"all is created": {
		change: func(*infrav1.IBMPowerVSCluster, powervstest.Own) {}, keys: defaultKeys,
		later: func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSecurityGroups = []infrav1.VPCSecurityGroup{{Name: "web", Rules: []infrav1.VPCSecurityGroupRule{port(443, anyone)}}}
		},
		changed: slices.Concat(defaultKeys, []string{"securityGroup/web", webRule}),
	},
	"the load balancer moves": {
		change: func(*infrav1.IBMPowerVSCluster, powervstest.Own) {}, keys: defaultKeys,
		later: func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "ranged", Zone: "us-south-1", Ipv4CidrBlock: "10.240.0.128/25"}, {Name: "free"}}
		},
		changed: append(slices.DeleteFunc(slices.Clone(defaultKeys), func(key string) bool { return strings.HasPrefix(key, "subnet/") }),
			"subnet/ranged", "subnet/free"),
	},
	"by ID": {
		change: func(c *infrav1.IBMPowerVSCluster, own powervstest.Own) {
			s := &c.Spec
			s.ServiceInstance = &infrav1.IBMPowerVSResourceReference{ID: own.Workspace}
			s.Network = &infrav1.IBMPowerVSResourceReference{ID: own.Network}
			s.VPC.ID, s.TransitGateway = own.VPC, &infrav1.TransitGateway{ID: own.Gateway}
			s.VPCSubnets = []infrav1.Subnet{{ID: own.Subnet}}
			s.VPCSecurityGroups = []infrav1.VPCSecurityGroup{{ID: own.Group}}
			s.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{ID: own.Balancer}}
		},
		keys: slices.Concat(connectionKeys, []string{apiRule}),
	},
	"by name, and there": {
		change: func(c *infrav1.IBMPowerVSCluster, _ powervstest.Own) { ownNames(c) },
		keys:   slices.Concat(connectionKeys, []string{apiRule}),
		later: func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSubnets = append(c.Spec.VPCSubnets, infrav1.Subnet{Name: "more"})
		},
		changed: slices.Concat(connectionKeys, []string{apiRule, "subnet/more"}),
	},
	"by name, and missing": {
		change: func(c *infrav1.IBMPowerVSCluster, _ powervstest.Own) {
			s := &c.Spec
			s.ServiceInstance, s.Network, s.VPC.Name = byName("space"), byName("net"), "private"
			s.DHCPServer, s.TransitGateway = &infrav1.DHCPServer{Name: "dhcp"}, &infrav1.TransitGateway{Name: "gate"}
			s.VPCSubnets = []infrav1.Subnet{
				{Name: "left", Zone: powervstest.Region + "-1", Ipv4CidrBlock: "10.240.1.0/24"},
				{Name: "right", Zone: powervstest.Region + "-1", Ipv4CidrBlock: "10.240.2.0/24"},
			}
			s.VPCSecurityGroups = []infrav1.VPCSecurityGroup{
				{Name: "web", Rules: []infrav1.VPCSecurityGroupRule{port(443, anyone, group("db"))}},
				{Name: "db", Rules: []infrav1.VPCSecurityGroupRule{port(5432, group("web"), subnet("left"))}},
			}
			s.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "front", SecurityGroups: []infrav1.VPCResource{{Name: "web"}}}}
		},
		keys: slices.Concat(connectionKeys, []string{
			"instance/space", "dhcpServer/dhcp", "vpc/private", "transitGateway/gate", "subnet/left", "subnet/right", "loadBalancer/front",
			"securityGroup/web", "securityGroup/db", apiRule, webRule, "securityGroupRule/tcp 443 from a group",
			"securityGroupRule/tcp 5432 from a group", "securityGroupRule/tcp 5432 from 10.240.1.0/24",
		}),
	},
	"Ignition": {
		change: func(c *infrav1.IBMPowerVSCluster, _ powervstest.Own) {
			ownNames(c)
			ignition(c, "boot", "demo-boot")
		},
		keys: slices.Concat(connectionKeys, []string{
			apiRule, "instance/boot", "bucket/demo-boot", "resourceKey/bedplate-OWNER",
		}),
	},
	"Ignition in a bucket of one's own": {
		change: func(c *infrav1.IBMPowerVSCluster, _ powervstest.Own) {
			ownNames(c)
			ignition(c, "own-cos", powervstest.OwnBucket)
		},
		keys: slices.Concat(connectionKeys, []string{apiRule, "resourceKey/bedplate-OWNER"}),
	},
	"nothing is created": {
		change: func(c *infrav1.IBMPowerVSCluster, _ powervstest.Own) {
			c.Annotations = nil
			c.Spec = infrav1.IBMPowerVSClusterSpec{
				Authentication: c.Spec.Authentication, ServiceInstance: &infrav1.IBMPowerVSResourceReference{ID: powervstest.WorkspaceID}, Network: byName("nodes"),
				ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.168.0.10", Port: 6443},
			}
		},
	},
}

// ownNames names all that is the user's own.
func ownNames(c *infrav1.IBMPowerVSCluster) {
	s := &c.Spec
	s.ServiceInstance, s.Network, s.VPC.Name = byName("own-workspace"), byName("DHCPSERVERown_Private"), "own-vpc"
	s.TransitGateway, s.VPCSubnets = &infrav1.TransitGateway{Name: "own-gateway"}, []infrav1.Subnet{{Name: "own-subnet"}}
	s.VPCSecurityGroups = []infrav1.VPCSecurityGroup{{Name: "own-group", Rules: []infrav1.VPCSecurityGroupRule{port(443, anyone)}}}
	s.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "own-balancer"}}
}

func ignition(c *infrav1.IBMPowerVSCluster, instance, bucket string) {
	c.Spec.Ignition = &infrav1.Ignition{}
	c.Spec.CosInstance = &infrav1.CosInstance{Name: instance, BucketName: bucket, BucketRegion: powervstest.Region}
}

func group(name string) infrav1.VPCSecurityGroupRuleRemote {
	return infrav1.VPCSecurityGroupRuleRemote{RemoteType: infrav1.SecurityGroupRemoteGroup, SecurityGroupName: name}
}

func subnet(name string) infrav1.VPCSecurityGroupRuleRemote {
	return infrav1.VPCSecurityGroupRuleRemote{RemoteType: infrav1.SecurityGroupRemoteCIDR, CIDRSubnetName: name}
}
