package v1beta1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	. "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

func TestCluster_isCheckedWhenItIsChanged(t *testing.T) {
	t.Parallel()
	made := func() *NvidiaBMMCluster {
		c := validCluster()
		c.Spec.ControlPlaneEndpoint = &APIEndpoint{Host: "10.0.0.1", Port: 6443}
		c.Status = NvidiaBMMClusterStatus{SiteID: id, IPBlockID: id, VPCID: id}
		return c
	}
	checkUpdate(t, made, []refusal[*NvidiaBMMCluster]{
		{"another site", func(c *NvidiaBMMCluster) { c.Spec.SiteRef.Name = "site-2" }, "spec.siteRef: Invalid value: siteRef is immutable once the site was found"},
		{"another tenant", func(c *NvidiaBMMCluster) { c.Spec.TenantID = otherID }, "tenantID is immutable once the VPC exists"},
		{"another VPC name", func(c *NvidiaBMMCluster) { c.Spec.VPC.Name = "other" }, ""},
		{"a VPC of our own", func(c *NvidiaBMMCluster) { c.Spec.VPC.ID = id }, "spec.vpc.id: Invalid value: id is immutable once the VPC exists"},
		{"another type of VPC", func(c *NvidiaBMMCluster) {
			c.Spec.VPC.NetworkVirtualizationType, c.Spec.Subnets, c.Spec.VPCPrefixes = FabricNativeNetworking, nil, validFNNCluster().Spec.VPCPrefixes
		}, "spec.vpc.networkVirtualizationType: Invalid value: networkVirtualizationType is immutable once the VPC exists"},
		{"another VNI", func(c *NvidiaBMMCluster) { c.Spec.VPC.VNI = ptr.To[int32](7) }, "spec.vpc.vni: Invalid value: vni is immutable once the VPC exists"},
		{"another description", func(c *NvidiaBMMCluster) { c.Spec.VPC.Description = "other" }, ""},
		{"other labels", func(c *NvidiaBMMCluster) { c.Spec.VPC.Labels = ResourceLabels{"a": "b"} }, ""},
		{"another NVLink partition", func(c *NvidiaBMMCluster) { c.Spec.VPC.NVLinkLogicalPartitionID = id }, ""},
		{"a security group", func(c *NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = &NetworkSecurityGroupSpec{ID: id} }, ""},
		{"an IP block", func(c *NvidiaBMMCluster) { c.Spec.IPBlock = &IPBlockReference{Name: "b"} }, "spec.ipBlock: Invalid value: ipBlock is immutable once it was found or made"},
		{"another endpoint", func(c *NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint.Port = 443 }, "controlPlaneEndpoint is immutable once it is set"},
		{"no endpoint", func(c *NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint = nil }, "controlPlaneEndpoint is immutable once it is set"},
		{"another size of a subnet", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].PrefixLength = ptr.To[int32](25) },
			"spec.subnets: Invalid value: the size of a subnet can't be changed: add another one and remove this one"},
		{"a range instead of a size", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0] = SubnetSpec{Name: "nodes", CIDR: "10.0.0.0/24"} }, "the size of a subnet can't be changed"},
		{"another role of a subnet", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].Role = WorkerRole }, ""},
		{"another subnet instead", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].Name = "others" }, ""},
		{"one more subnet", func(c *NvidiaBMMCluster) {
			c.Spec.Subnets = append(c.Spec.Subnets, SubnetSpec{Name: "storage", PrefixLength: ptr.To[int32](26)})
		}, ""},
		{"a peering", func(c *NvidiaBMMCluster) { c.Spec.VPCPeerings = []VPCPeeringSpec{{PeerVPCID: otherID}} }, ""},
		{"a failure domain", func(c *NvidiaBMMCluster) {
			c.Spec.FailureDomains = []FailureDomainSpec{{Name: "rack-1", SubnetName: "nodes"}}
		}, ""},
		{"another Secret", func(c *NvidiaBMMCluster) { c.Spec.Authentication.SecretRef.Name = "other" }, ""},
	})
	checkUpdate(t, validCluster, []refusal[*NvidiaBMMCluster]{
		{"a corrected site", func(c *NvidiaBMMCluster) { c.Spec.SiteRef.Name = "site-2" }, ""},
		{"a corrected IP block", func(c *NvidiaBMMCluster) { c.Spec.IPBlock = &IPBlockReference{Name: "b"} }, ""},
		{"a corrected VPC name", func(c *NvidiaBMMCluster) { c.Spec.VPC.Name = "other" }, ""},
		{"an endpoint that comes later", func(c *NvidiaBMMCluster) {
			c.Spec.ControlPlaneEndpoint = &APIEndpoint{Host: "10.0.0.1", Port: 6443}
		}, ""},
	})
}

func TestCluster_ofTheUsersOwnPartsIsCheckedWhenItIsChanged(t *testing.T) {
	t.Parallel()
	made := func() *NvidiaBMMCluster {
		c := validFNNCluster()
		c.Spec.VPC.RoutingProfile = "internal"
		c.Spec.VPC.NetworkSecurityGroup = &NetworkSecurityGroupSpec{Rules: []SecurityRule{validRule()}}
		c.Spec.IPBlock = &IPBlockReference{Create: &IPBlockCreateSpec{Prefix: "10.0.0.0/16"}}
		c.Status = NvidiaBMMClusterStatus{ParentIPBlockID: id, VPCID: id}
		return c
	}
	checkUpdate(t, made, []refusal[*NvidiaBMMCluster]{
		{"another block to make", func(c *NvidiaBMMCluster) { c.Spec.IPBlock.Create.Prefix = "10.1.0.0/16" }, "ipBlock is immutable once it was found or made"},
		{"another routing profile", func(c *NvidiaBMMCluster) { c.Spec.VPC.RoutingProfile = "external" }, "spec.vpc.routingProfile: Invalid value: routingProfile is immutable"},
		{"no routing profile", func(c *NvidiaBMMCluster) { c.Spec.VPC.RoutingProfile = "" }, "routingProfile is immutable"},
		{"another size of a prefix", func(c *NvidiaBMMCluster) { c.Spec.VPCPrefixes[0].PrefixLength = ptr.To[int32](25) },
			"spec.vpcPrefixes: Invalid value: the size of a VPC prefix can't be changed: add another one and remove this one"},
		{"another prefix instead", func(c *NvidiaBMMCluster) { c.Spec.VPCPrefixes[0].Name = "others" }, ""},
		{"other rules", func(c *NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup.Rules[0].PortRange = "443" }, ""},
		{"a group of our own", func(c *NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = &NetworkSecurityGroupSpec{ID: id} }, ""},
		{"no group", func(c *NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = nil }, ""},
	})
	invalid := func() *NvidiaBMMCluster {
		c := made()
		c.Status.Conditions = []metav1.Condition{{
			Type: VPCReadyCondition, Status: metav1.ConditionFalse, Reason: "Invalid", LastTransitionTime: metav1.Now(),
		}}
		return c
	}
	checkUpdate(t, invalid, []refusal[*NvidiaBMMCluster]{
		{"a corrected routing profile", func(c *NvidiaBMMCluster) { c.Spec.VPC.RoutingProfile = "external" }, ""},
		{"no routing profile", func(c *NvidiaBMMCluster) { c.Spec.VPC.RoutingProfile = "" }, ""},
		{"another block to make", func(c *NvidiaBMMCluster) { c.Spec.IPBlock.Create.Prefix = "10.1.0.0/16" }, "ipBlock is immutable once it was found or made"},
		{"a corrected VNI", func(c *NvidiaBMMCluster) { c.Spec.VPC.VNI = ptr.To[int32](7) }, ""},
		{"a corrected type", func(c *NvidiaBMMCluster) {
			c.Spec.VPC.NetworkVirtualizationType, c.Spec.VPC.RoutingProfile = EthernetVirtualizer, ""
			c.Spec.Subnets, c.Spec.VPCPrefixes = validCluster().Spec.Subnets, nil
		}, ""},
		{"another tenant", func(c *NvidiaBMMCluster) { c.Spec.TenantID = otherID }, "tenantID is immutable once the VPC exists"},
	})
	wrongTenant := func() *NvidiaBMMCluster {
		c := made()
		c.Status.Conditions = []metav1.Condition{{
			Type: ReferencesResolvedCondition, Status: metav1.ConditionFalse, Reason: "Invalid", LastTransitionTime: metav1.Now(),
		}}
		return c
	}
	checkUpdate(t, wrongTenant, []refusal[*NvidiaBMMCluster]{
		{"a corrected tenant", func(c *NvidiaBMMCluster) { c.Spec.TenantID = otherID }, ""},
		{"another routing profile", func(c *NvidiaBMMCluster) { c.Spec.VPC.RoutingProfile = "external" }, "routingProfile is immutable"},
	})
	withVPC := func() *NvidiaBMMCluster {
		c := validCluster()
		c.Spec.VPC.ID, c.Status.VPCID = id, id
		return c
	}
	checkUpdate(t, withVPC, []refusal[*NvidiaBMMCluster]{
		{"another VPC", func(c *NvidiaBMMCluster) { c.Spec.VPC.ID = otherID }, "id is immutable once the VPC exists"},
		{"no VPC", func(c *NvidiaBMMCluster) { c.Spec.VPC.ID = "" }, "id is immutable once the VPC exists"},
	})
	changed := func() *NvidiaBMMCluster {
		c := withVPC()
		c.Status.Conditions = []metav1.Condition{{
			Type: VPCReadyCondition, Status: metav1.ConditionFalse, Reason: "ClaimChanged", LastTransitionTime: metav1.Now(),
		}}
		return c
	}
	checkUpdate(t, changed, []refusal[*NvidiaBMMCluster]{{"no VPC", func(c *NvidiaBMMCluster) { c.Spec.VPC.ID = "" }, ""}})
}
