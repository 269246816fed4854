package v1beta1_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	. "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

func validCluster() *NvidiaBMMCluster {
	return &NvidiaBMMCluster{Spec: NvidiaBMMClusterSpec{
		SiteRef:        SiteReference{Name: "site-1"},
		TenantID:       id,
		Authentication: Authentication{SecretRef: SecretReference{Name: "bmm"}},
		Subnets:        []SubnetSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}},
	}}
}

func validFNNCluster() *NvidiaBMMCluster {
	c := validCluster()
	c.Spec.VPC.NetworkVirtualizationType = FabricNativeNetworking
	c.Spec.Subnets, c.Spec.VPCPrefixes = nil, []VPCPrefixSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}}
	return c
}

func TestCluster_isCheckedWhenItIsCreated(t *testing.T) {
	t.Parallel()
	checkCreate(t, validCluster, []refusal[*NvidiaBMMCluster]{
		{"a valid one", func(*NvidiaBMMCluster) {}, ""},
		{"a name of one letter", func(c *NvidiaBMMCluster) { c.Name = "a" }, "metadata: Invalid value: the VPC gets the name of this object, and the BMM API requires at least two characters"},
		{"of two", func(c *NvidiaBMMCluster) { c.Name = "ab" }, ""},
		{"for a VPC with a name of its own", func(c *NvidiaBMMCluster) { c.Name, c.Spec.VPC.Name = "b", "net" }, ""},
		{"for a VPC of the user's own", func(c *NvidiaBMMCluster) { c.Name, c.Spec.VPC.ID = "c", id }, ""},
		{"for a group without a name", func(c *NvidiaBMMCluster) {
			c.Name, c.Spec.VPC.Name = "d", "net"
			c.Spec.VPC.NetworkSecurityGroup = &NetworkSecurityGroupSpec{Rules: []SecurityRule{{Name: "a", Direction: Egress, Protocol: ProtocolAll, Action: Allow}}}
		}, "the network security group gets the name of this object, and the BMM API requires at least two characters"},
		{"no site", func(c *NvidiaBMMCluster) { c.Spec.SiteRef = SiteReference{} }, "spec.siteRef: Required value"},
		{"a site by name and by ID", func(c *NvidiaBMMCluster) { c.Spec.SiteRef.ID = id }, "spec.siteRef: Invalid value: exactly one of name and id must be set"},
		{"a site ID in capitals", func(c *NvidiaBMMCluster) { c.Spec.SiteRef = SiteReference{ID: strings.ToUpper(id)} }, "spec.siteRef.id"},
		{"a site ID that is no UUID", func(c *NvidiaBMMCluster) { c.Spec.SiteRef = SiteReference{ID: noID} }, "spec.siteRef.id"},
		{"no tenant", func(c *NvidiaBMMCluster) { c.Spec.TenantID = "" }, "spec.tenantID: Required value"},
		{"a tenant that is no UUID", func(c *NvidiaBMMCluster) { c.Spec.TenantID = noID }, "spec.tenantID"},
		{"no credentials", func(c *NvidiaBMMCluster) { c.Spec.Authentication = Authentication{} }, "spec.authentication: Required value"},
		{"credentials without a name", func(c *NvidiaBMMCluster) { c.Spec.Authentication.SecretRef = SecretReference{Namespace: "default"} },
			"spec.authentication.secretRef.name: Required value"},
		{"an endpoint with a negative port", func(c *NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint = &APIEndpoint{Host: "10.0.0.1", Port: -1} }, "spec.controlPlaneEndpoint.port"},
		{"an endpoint with a port too large", func(c *NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint = &APIEndpoint{Host: "10.0.0.1", Port: 65536} }, "spec.controlPlaneEndpoint.port"},
		{"an endpoint without a port", func(c *NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint = &APIEndpoint{Host: "10.0.0.1"} }, "spec.controlPlaneEndpoint.port: Required value"},
	})
}

func TestCluster_itsSubnetsAreChecked(t *testing.T) {
	t.Parallel()
	subnet := func(change func(*SubnetSpec)) func(*NvidiaBMMCluster) {
		return func(c *NvidiaBMMCluster) { change(&c.Spec.Subnets[0]) }
	}
	checkCreate(t, validCluster, []refusal[*NvidiaBMMCluster]{
		{"none", func(c *NvidiaBMMCluster) { c.Spec.Subnets = nil },
			"spec.subnets: Invalid value: with vpc.networkVirtualizationType ETHERNET_VIRTUALIZER at least one subnet is needed"},
		{"prefixes beside them", func(c *NvidiaBMMCluster) { c.Spec.VPCPrefixes = validFNNCluster().Spec.VPCPrefixes },
			"spec.vpcPrefixes: Invalid value: vpcPrefixes go with vpc.networkVirtualizationType FNN only: write subnets instead"},
		{"two of one name", func(c *NvidiaBMMCluster) { c.Spec.Subnets = append(c.Spec.Subnets, c.Spec.Subnets[0]) }, "spec.subnets[1]: Duplicate value"},
		{"too many", func(c *NvidiaBMMCluster) {
			for i := range 32 {
				c.Spec.Subnets = append(c.Spec.Subnets, SubnetSpec{Name: fmt.Sprint("s", i), PrefixLength: ptr.To[int32](24)})
			}
		}, "spec.subnets: Too many: 33: must have at most 32 items"},
		{"without a size", subnet(func(s *SubnetSpec) { s.PrefixLength = nil }), "spec.subnets[0]: Invalid value: exactly one of cidr and prefixLength must be set"},
		{"with two sizes", subnet(func(s *SubnetSpec) { s.CIDR = "10.0.0.0/24" }), "exactly one of cidr and prefixLength must be set"},
		{"too small", subnet(func(s *SubnetSpec) { s.PrefixLength = ptr.To[int32](31) }), "less than or equal to 30"},
		{"too large", subnet(func(s *SubnetSpec) { s.PrefixLength = ptr.To[int32](7) }), "greater than or equal to 8"},
		{"a name with capitals", subnet(func(s *SubnetSpec) { s.Name = "Nodes" }), "spec.subnets[0].name"},
		{"by range", subnet(func(s *SubnetSpec) { *s = SubnetSpec{Name: "nodes", CIDR: "10.0.1.0/24"} }), ""},
		{"a range that is none", subnet(func(s *SubnetSpec) { *s = SubnetSpec{Name: "nodes", CIDR: "10.0.1.0"} }), "spec.subnets[0].cidr: Invalid value: … cidr must be an IPv4 range"},
		{"a range too small", subnet(func(s *SubnetSpec) { *s = SubnetSpec{Name: "nodes", CIDR: "10.0.1.0/31"} }), "cidr must be an IPv4 range"},
		{"an IPv6 range", subnet(func(s *SubnetSpec) { *s = SubnetSpec{Name: "nodes", CIDR: "fd00::/24"} }), "cidr must be an IPv4 range"},
		{"with a role and labels", subnet(func(s *SubnetSpec) { s.Role, s.Labels = WorkerRole, map[string]LabelValue{"tier": "one"} }), ""},
		{"with an unknown role", subnet(func(s *SubnetSpec) { s.Role = "storage" }), `spec.subnets[0].role: Unsupported value: "storage"`},
	})
}

func TestCluster_itsVPCPrefixesAreChecked(t *testing.T) {
	t.Parallel()
	prefix := func(change func(*VPCPrefixSpec)) func(*NvidiaBMMCluster) {
		return func(c *NvidiaBMMCluster) { change(&c.Spec.VPCPrefixes[0]) }
	}
	checkCreate(t, validFNNCluster, []refusal[*NvidiaBMMCluster]{
		{"a valid one", func(*NvidiaBMMCluster) {}, ""},
		{"none", func(c *NvidiaBMMCluster) { c.Spec.VPCPrefixes = nil },
			"spec.vpcPrefixes: Invalid value: with vpc.networkVirtualizationType FNN at least one VPC prefix is needed"},
		{"subnets beside them", func(c *NvidiaBMMCluster) { c.Spec.Subnets = validCluster().Spec.Subnets },
			"spec.subnets: Invalid value: subnets go with vpc.networkVirtualizationType ETHERNET_VIRTUALIZER only: write vpcPrefixes instead"},
		{"two of one name", func(c *NvidiaBMMCluster) { c.Spec.VPCPrefixes = append(c.Spec.VPCPrefixes, c.Spec.VPCPrefixes[0]) }, "spec.vpcPrefixes[1]: Duplicate value"},
		{"without a size", prefix(func(p *VPCPrefixSpec) { p.PrefixLength = nil }), "spec.vpcPrefixes[0]: Invalid value: exactly one of cidr and prefixLength must be set"},
		{"with two sizes", prefix(func(p *VPCPrefixSpec) { p.CIDR = "10.0.0.0/24" }), "exactly one of cidr and prefixLength must be set"},
		{"the smallest", prefix(func(p *VPCPrefixSpec) { p.PrefixLength = ptr.To[int32](31) }), ""},
		{"too small", prefix(func(p *VPCPrefixSpec) { p.PrefixLength = ptr.To[int32](32) }), "less than or equal to 31"},
		{"too large", prefix(func(p *VPCPrefixSpec) { p.PrefixLength = ptr.To[int32](7) }), "greater than or equal to 8"},
		{"a name with capitals", prefix(func(p *VPCPrefixSpec) { p.Name = "Nodes" }), "spec.vpcPrefixes[0].name"},
		{"by range", prefix(func(p *VPCPrefixSpec) { *p = VPCPrefixSpec{Name: "nodes", CIDR: "10.0.1.0/31"} }), ""},
		{"a range too small", prefix(func(p *VPCPrefixSpec) { *p = VPCPrefixSpec{Name: "nodes", CIDR: "10.0.1.0/32"} }), "spec.vpcPrefixes[0].cidr: Invalid value: … cidr must be an IPv4 range"},
		{"with an unknown role", prefix(func(p *VPCPrefixSpec) { p.Role = "storage" }), `spec.vpcPrefixes[0].role: Unsupported value: "storage"`},
	})
}

func TestCluster_itsVPCIsChecked(t *testing.T) {
	t.Parallel()
	own := "spec.vpc: Invalid value: a VPC of your own is used as it is: with id, remove name,"
	vpc := func(change func(*VPCSpec)) func(*NvidiaBMMCluster) {
		return func(c *NvidiaBMMCluster) { change(&c.Spec.VPC) }
	}
	checkCreate(t, validCluster, []refusal[*NvidiaBMMCluster]{
		{"everything", vpc(func(v *VPCSpec) {
			*v = VPCSpec{Name: "demo", Description: "a demo", Labels: ResourceLabels{"team": "a"}, VNI: ptr.To[int32](100), NVLinkLogicalPartitionID: id}
		}), ""},
		{"an unknown type", vpc(func(v *VPCSpec) { v.NetworkVirtualizationType = "VXLAN" }), `spec.vpc.networkVirtualizationType: Unsupported value: "VXLAN"`},
		{"a name of one letter", vpc(func(v *VPCSpec) { v.Name = "a" }), "spec.vpc.name: Invalid value: \"a\": spec.vpc.name in body should be at least 2 chars long"},
		{"a name with a blank behind it", vpc(func(v *VPCSpec) { v.Name = "demo " }), "spec.vpc.name"},
		{"a name too long", vpc(func(v *VPCSpec) { v.Name = strings.Repeat("a", 257) }), "spec.vpc.name: Too long"},
		{"a description too long", vpc(func(v *VPCSpec) { v.Description = strings.Repeat("a", 1025) }), "spec.vpc.description: Too long"},
		{"a negative VNI", vpc(func(v *VPCSpec) { v.VNI = ptr.To[int32](-1) }), "spec.vpc.vni"},
		{"a VNI too large", vpc(func(v *VPCSpec) { v.VNI = ptr.To[int32](65536) }), "spec.vpc.vni"},
		{"a routing profile with Ethernet", vpc(func(v *VPCSpec) { v.RoutingProfile = "internal" }),
			"spec.vpc.routingProfile: Invalid value: routingProfile goes with networkVirtualizationType FNN only: remove it"},
		{"an NVLink partition that is no UUID", vpc(func(v *VPCSpec) { v.NVLinkLogicalPartitionID = noID }), "spec.vpc.nvLinkLogicalPartitionId"},

		{"our own", vpc(func(v *VPCSpec) { v.ID = id }), ""},
		{"our own that is no UUID", vpc(func(v *VPCSpec) { v.ID = noID }), "spec.vpc.id"},
		{"our own with a security group", vpc(func(v *VPCSpec) { v.ID, v.NetworkSecurityGroup = id, &NetworkSecurityGroupSpec{ID: id} }), ""},
		{"our own with a name", vpc(func(v *VPCSpec) { v.ID, v.Name = id, "demo" }), own},
		{"our own with a description", vpc(func(v *VPCSpec) { v.ID, v.Description = id, "a demo" }), own},
		{"our own with labels", vpc(func(v *VPCSpec) { v.ID, v.Labels = id, ResourceLabels{"a": "b"} }), own},
		{"our own with a VNI", vpc(func(v *VPCSpec) { v.ID, v.VNI = id, ptr.To[int32](1) }), own},
		{"our own with an NVLink partition", vpc(func(v *VPCSpec) { v.ID, v.NVLinkLogicalPartitionID = id, id }), own},

		{"a label of Bedplate's", vpc(func(v *VPCSpec) { v.Labels = ResourceLabels{"bedplate-owner": "me"} }), "spec.vpc.labels: Invalid value: labels that begin with bedplate- are reserved"},
		{"a label without a name", vpc(func(v *VPCSpec) { v.Labels = ResourceLabels{" ": "me"} }), "names of labels have 1 to 255 characters"},
		{"a label with a long name", vpc(func(v *VPCSpec) { v.Labels = ResourceLabels{strings.Repeat("a", 256): "me"} }), "names of labels have 1 to 255 characters"},
		{"a label with a long value", vpc(func(v *VPCSpec) { v.Labels = ResourceLabels{"a": LabelValue(strings.Repeat("a", 256))} }), "spec.vpc.labels.a: Too long"},
		{"too many labels", vpc(func(v *VPCSpec) {
			v.Labels = ResourceLabels{}
			for i := range 8 {
				v.Labels[fmt.Sprint("label-", i)] = "x"
			}
		}), "spec.vpc.labels: Too many: 8: must have at most 7 items"},
	})
	checkCreate(t, validFNNCluster, []refusal[*NvidiaBMMCluster]{
		{"a routing profile with FNN", vpc(func(v *VPCSpec) { v.RoutingProfile = "privileged-internal" }), ""},
		{"a routing profile with blanks", vpc(func(v *VPCSpec) { v.RoutingProfile = "my profile" }), "spec.vpc.routingProfile"},
		{"our own with FNN", vpc(func(v *VPCSpec) { v.ID = id }), ""},
		{"our own with a routing profile", vpc(func(v *VPCSpec) { v.ID, v.RoutingProfile = id, "internal" }), own},
	})
}

func validRule() SecurityRule {
	return SecurityRule{Name: "api", Direction: Ingress, Protocol: ProtocolTCP, PortRange: "6443", Action: Allow}
}

func TestCluster_itsSecurityGroupIsChecked(t *testing.T) {
	t.Parallel()
	own := "spec.vpc.networkSecurityGroup: Invalid value: a group of your own is used as it is: with id, remove name, labels, rules and statefulEgress"
	ports := "spec.vpc.networkSecurityGroup.rules[0]: Invalid value: ports go with the protocols tcp and udp only: remove portRange and sourcePortRange"
	badPort := "Invalid value: … must be a port between 1 and 65535, such as 443, or a range of ports, such as 30000-32767"
	withGroup := func() *NvidiaBMMCluster {
		c := validCluster()
		c.Spec.VPC.NetworkSecurityGroup = &NetworkSecurityGroupSpec{Rules: []SecurityRule{validRule()}}
		return c
	}
	group := func(change func(*NetworkSecurityGroupSpec)) func(*NvidiaBMMCluster) {
		return func(c *NvidiaBMMCluster) { change(c.Spec.VPC.NetworkSecurityGroup) }
	}
	rule := func(change func(*SecurityRule)) func(*NvidiaBMMCluster) {
		return func(c *NvidiaBMMCluster) { change(&c.Spec.VPC.NetworkSecurityGroup.Rules[0]) }
	}
	checkCreate(t, withGroup, []refusal[*NvidiaBMMCluster]{
		{"a valid one", func(*NvidiaBMMCluster) {}, ""},
		{"everything", group(func(n *NetworkSecurityGroupSpec) {
			n.Name, n.StatefulEgress, n.Labels = "demo", ptr.To(true), ResourceLabels{"a": "b"}
		}), ""},
		{"our own", group(func(n *NetworkSecurityGroupSpec) { *n = NetworkSecurityGroupSpec{ID: id} }), ""},
		{"our own that is no UUID", group(func(n *NetworkSecurityGroupSpec) { *n = NetworkSecurityGroupSpec{ID: noID} }), "networkSecurityGroup.id"},
		{"our own with rules", group(func(n *NetworkSecurityGroupSpec) { n.ID = id }), own},
		{"our own with a name", group(func(n *NetworkSecurityGroupSpec) { *n = NetworkSecurityGroupSpec{ID: id, Name: "demo"} }), own},
		{"our own with labels", group(func(n *NetworkSecurityGroupSpec) {
			*n = NetworkSecurityGroupSpec{ID: id, Labels: ResourceLabels{"a": "b"}}
		}), own},
		{"our own with stateful egress", group(func(n *NetworkSecurityGroupSpec) {
			*n = NetworkSecurityGroupSpec{ID: id, StatefulEgress: ptr.To(true)}
		}), own},
		{"nothing", group(func(n *NetworkSecurityGroupSpec) { *n = NetworkSecurityGroupSpec{} }),
			"spec.vpc.networkSecurityGroup: Invalid value: without rules nothing would pass, not even what a cluster needs to come up: add rules"},
		{"a label of Bedplate's", group(func(n *NetworkSecurityGroupSpec) { n.Labels = ResourceLabels{"bedplate-owner": "me"} }), "labels that begin with bedplate- are reserved"},
		{"a name with a blank before it", group(func(n *NetworkSecurityGroupSpec) { n.Name = " demo" }), "networkSecurityGroup.name"},
		{"a name of one letter", group(func(n *NetworkSecurityGroupSpec) { n.Name = "a" }), "networkSecurityGroup.name"},
		{"two rules of one name", group(func(n *NetworkSecurityGroupSpec) { n.Rules = append(n.Rules, n.Rules[0]) }),
			"spec.vpc.networkSecurityGroup.rules: Invalid value: two rules have the same name: give each its own"},
		{"too many rules", group(func(n *NetworkSecurityGroupSpec) {
			for i := range 190 {
				r := validRule()
				r.Name = fmt.Sprint("rule-", i)
				n.Rules = append(n.Rules, r)
			}
		}), "must have at most 190 items"},

		{"a rule with everything", rule(func(r *SecurityRule) {
			r.PortRange, r.SourcePortRange, r.SourceCIDR, r.DestinationCIDR = "30000-32767", "1-65535", "10.0.0.0/8", "0.0.0.0/0"
		}), ""},
		{"a rule without a name", rule(func(r *SecurityRule) { r.Name = "" }), "rules[0].name: Required value"},
		{"a rule with a name in capitals", rule(func(r *SecurityRule) { r.Name = "API" }), "rules[0].name"},
		{"a rule without a direction", rule(func(r *SecurityRule) { r.Direction = "" }), "rules[0].direction: Required value"},
		{"a rule with an unknown direction", rule(func(r *SecurityRule) { r.Direction = "in" }), `Unsupported value: "in": supported values: "ingress", "egress"`},
		{"a rule without a protocol", rule(func(r *SecurityRule) { r.Protocol = "" }), "rules[0].protocol: Required value"},
		{"a rule with an unknown protocol", rule(func(r *SecurityRule) { r.Protocol = "sctp" }), `Unsupported value: "sctp": supported values: "tcp", "udp", "icmp", "all"`},
		{"a rule without an action", rule(func(r *SecurityRule) { r.Action = "" }), "rules[0].action: Required value"},
		{"a rule with an unknown action", rule(func(r *SecurityRule) { r.Action = "drop" }), `Unsupported value: "drop": supported values: "allow", "deny"`},
		{"ICMP", rule(func(r *SecurityRule) { r.Protocol, r.PortRange = ProtocolICMP, "" }), ""},
		{"ports with UDP", rule(func(r *SecurityRule) { r.Protocol = ProtocolUDP }), ""},
		{"ports with ICMP", rule(func(r *SecurityRule) { r.Protocol = ProtocolICMP }), ports},
		{"ports with all protocols", rule(func(r *SecurityRule) { r.Protocol = ProtocolAll }), ports},
		{"source ports with ICMP", rule(func(r *SecurityRule) { r.Protocol, r.PortRange, r.SourcePortRange = ProtocolICMP, "", "53" }), ports},
		{"port 0", rule(func(r *SecurityRule) { r.PortRange = "0" }), "rules[0].portRange: " + badPort},
		{"port 65536", rule(func(r *SecurityRule) { r.PortRange = "65536" }), badPort},
		{"ports in the wrong order", rule(func(r *SecurityRule) { r.PortRange = "443-80" }), badPort},
		{"a port by name", rule(func(r *SecurityRule) { r.PortRange = "https" }), badPort},
		{"three ports", rule(func(r *SecurityRule) { r.SourcePortRange = "1-2-3" }), "rules[0].sourcePortRange: " + badPort},
		{"an address as source", rule(func(r *SecurityRule) { r.SourceCIDR = "10.0.0.1" }), "rules[0].sourceCIDR: Invalid value: … sourceCIDR must be an IPv4 range"},
		{"an IPv6 range as source", rule(func(r *SecurityRule) { r.SourceCIDR = "fd00::/8" }), "sourceCIDR must be an IPv4 range"},
		{"an IPv6 range as destination", rule(func(r *SecurityRule) { r.DestinationCIDR = "::/0" }), "rules[0].destinationCIDR: Invalid value: … destinationCIDR must be an IPv4 range"},
	})
}

func TestCluster_itsIPBlockIsChecked(t *testing.T) {
	t.Parallel()
	one := "spec.ipBlock: Invalid value: exactly one of name, id and create must be set"
	prefix := "spec.ipBlock.create.prefix: Invalid value: … prefix must be an IPv4 range with a prefix length between 8 and 31, and no bits set behind it"
	block := func(b IPBlockReference) func(*NvidiaBMMCluster) {
		return func(c *NvidiaBMMCluster) { c.Spec.IPBlock = &b }
	}
	create := func(prefix string) func(*NvidiaBMMCluster) {
		return block(IPBlockReference{Create: &IPBlockCreateSpec{Prefix: prefix}})
	}
	checkCreate(t, validCluster, []refusal[*NvidiaBMMCluster]{
		{"by name", block(IPBlockReference{Name: "b"}), ""},
		{"by ID", block(IPBlockReference{ID: id}), ""},
		{"by an ID that is no UUID", block(IPBlockReference{ID: noID}), "spec.ipBlock.id"},
		{"to make", create("10.0.0.0/16"), ""},
		{"to make, public", block(IPBlockReference{Create: &IPBlockCreateSpec{Prefix: "10.0.0.0/16", RoutingType: RoutingPublic}}), ""},
		{"by name and by ID", block(IPBlockReference{Name: "b", ID: id}), one},
		{"by name and to make", block(IPBlockReference{Name: "b", Create: &IPBlockCreateSpec{Prefix: "10.0.0.0/16"}}), one},
		{"by nothing", block(IPBlockReference{}), one},
		{"to make without a range", create(""), "spec.ipBlock.create.prefix: Required value"},
		{"to make from an address", create("10.0.0.0"), prefix},
		{"to make from IPv6", create("fd00::/16"), prefix},
		{"to make from a range with an address in it", create("10.0.0.1/16"), prefix},
		{"to make too small", create("10.0.0.0/32"), prefix},
		{"to make too large", create("0.0.0.0/7"), prefix},
		{"to make with an unknown routing", block(IPBlockReference{Create: &IPBlockCreateSpec{Prefix: "10.0.0.0/16", RoutingType: "Private"}}), `Unsupported value: "Private"`},
	})
}

func TestCluster_itsPeeringsAndFailureDomainsAreChecked(t *testing.T) {
	t.Parallel()
	peers := func(ids ...string) func(*NvidiaBMMCluster) {
		return func(c *NvidiaBMMCluster) {
			for _, id := range ids {
				c.Spec.VPCPeerings = append(c.Spec.VPCPeerings, VPCPeeringSpec{PeerVPCID: id})
			}
		}
	}
	domains := func(domains ...FailureDomainSpec) func(*NvidiaBMMCluster) {
		return func(c *NvidiaBMMCluster) { c.Spec.FailureDomains = domains }
	}
	rack := FailureDomainSpec{Name: "rack-1", ControlPlane: ptr.To(true), SubnetName: "nodes", InstanceTypeID: id}
	with := func(change func(*FailureDomainSpec)) func(*NvidiaBMMCluster) {
		d := rack
		change(&d)
		return domains(d)
	}
	checkCreate(t, validCluster, []refusal[*NvidiaBMMCluster]{
		{"peers", peers(id, otherID), ""},
		{"a peer twice", peers(id, id), "spec.vpcPeerings[1]: Duplicate value"},
		{"a peer that is no UUID", peers(noID), "spec.vpcPeerings[0].peerVpcId"},
		{"itself as a peer", func(c *NvidiaBMMCluster) { c.Spec.VPC.ID = id; peers(id)(c) },
			"spec.vpcPeerings: Invalid value: a VPC can't be a peer of itself: remove the peering with vpc.id"},
		{"another peer of our own VPC", func(c *NvidiaBMMCluster) { c.Spec.VPC.ID = id; peers(otherID)(c) }, ""},

		{"a failure domain", domains(rack), ""},
		{"a failure domain twice", domains(rack, rack), "spec.failureDomains[1]: Duplicate value"},
		{"a failure domain without a network", with(func(d *FailureDomainSpec) { d.SubnetName = "" }),
			"spec.failureDomains[0]: Invalid value: exactly one of subnetName and vpcPrefixName must be set"},
		{"a failure domain with two networks", with(func(d *FailureDomainSpec) { d.VPCPrefixName = "nodes" }), "exactly one of subnetName and vpcPrefixName must be set"},
		{"a failure domain with a subnet that isn't there", with(func(d *FailureDomainSpec) { d.SubnetName = "other" }),
			"spec.failureDomains: Invalid value: subnetName of each failure domain must be the name of one of the subnets"},
		{"a failure domain with a prefix that isn't there", with(func(d *FailureDomainSpec) { d.SubnetName, d.VPCPrefixName = "", "nodes" }),
			"spec.failureDomains: Invalid value: vpcPrefixName of each failure domain must be the name of one of the vpcPrefixes"},
		{"a failure domain with a type that is no UUID", with(func(d *FailureDomainSpec) { d.InstanceTypeID = noID }), "spec.failureDomains[0].instanceTypeID"},
		{"a failure domain with a name in capitals", with(func(d *FailureDomainSpec) { d.Name = "Rack" }), "spec.failureDomains[0].name"},
	})
	checkCreate(t, validFNNCluster, []refusal[*NvidiaBMMCluster]{
		{"a failure domain with a prefix", domains(FailureDomainSpec{Name: "rack-1", VPCPrefixName: "nodes"}), ""},
	})
}
