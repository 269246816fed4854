package provider_test

import (
	"testing"

	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/optest"
)

const (
	otherType  = "17fe0000-0000-4000-8000-000000000002"
	infiniBand = "1b000000-0000-4000-8000-000000000001"
	nvLink     = "aa000000-0000-4000-8000-000000000001"
	dpuService = "d0000000-0000-4000-8000-000000000001"
	card       = "MT2910 Family [ConnectX-7]"
)

// operated runs a provider at a site that has everything that specs can name.
func operated(t *testing.T) *bmmtest.Fixture {
	f := bmmtest.Start(t, func(w *sim.Config) {
		w.Sites[0].NativeNetworking, w.Sites[0].NVLinkPartition = true, true
		w.InstanceTypes[0].Capabilities = append(w.InstanceTypes[0].Capabilities,
			bmm.MachineCapability{Type: bmm.CapabilityGPU, Name: "H100", Count: 4, DeviceType: "NVLink"},
			bmm.MachineCapability{Type: bmm.CapabilityInfiniBand, Name: card, Count: 2})
		second := w.InstanceTypes[0]
		second.ID, second.Name = otherType, "cpu.small"
		w.InstanceTypes = append(w.InstanceTypes, second)
		w.InfiniBandPartitions = []sim.Partition{{ID: infiniBand, Name: "ib", SiteID: sim.DefaultSiteID}}
		w.NVLinkLogicalPartitions = []sim.Partition{{ID: nvLink, Name: "nvlink", SiteID: sim.DefaultSiteID}}
		w.DPUExtensionServices = []sim.DPUExtensionService{{ID: dpuService, Name: "storage", SiteID: sim.DefaultSiteID, Versions: []string{"1.0", "1.1"}}}
	})
	for id, name := range map[string]string{peerVPC: "peer", usersVPC: "users"} {
		f.Make(sim.Object{Kind: sim.KindVPC, ID: id, Request: bmm.VPCCreateRequest{
			Name: name, SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer,
		}})
	}
	f.Make(sim.Object{Kind: sim.KindNetworkSecurityGroup, ID: usersGroup, Request: bmm.NetworkSecurityGroupCreateRequest{
		Name: "users", SiteID: sim.DefaultSiteID,
	}})
	f.Create(f.Secret("another"))
	return f
}

func TestOperations_cluster(t *testing.T) {
	t.Parallel()
	ranges := []any{"127.100.7.0/24", "127.100.8.0/28", "10.0.0.0/24"}
	addresses := []any{"10.0.0.0/8", "10.1.2.0/24", "0.0.0.0/0"}
	ports := []any{"22", "80-90", "65535"}
	values := map[string][]any{
		"siteRef.name": {"site-1"}, "siteRef.id": {sim.DefaultSiteID}, "tenantID": {sim.DefaultTenantID},
		"authentication.secretRef.name": {"demo", "another"},
		"ipBlock":                       {map[string]any{"name": "block-1"}, map[string]any{"id": sim.DefaultIPBlockID}},
		"ipBlock.name":                  {"block-1"}, "ipBlock.id": {sim.DefaultIPBlockID},
		"ipBlock.create.prefix": {"10.77.0.0/16", "10.78.0.0/24"},
		"subnets[].name":        {"nodes", "storage"}, "subnets[].cidr": ranges, "subnets[].prefixLength": {int64(24), int64(28), int64(30)},
		"subnets[]":          {map[string]any{"name": "storage", "prefixLength": int64(25)}, map[string]any{"name": "more", "cidr": ranges[0]}},
		"vpcPrefixes[].name": {"nodes", "storage"}, "vpcPrefixes[].cidr": ranges, "vpcPrefixes[].prefixLength": {int64(24), int64(31)},
		"vpcPrefixes[]":                {map[string]any{"name": "storage", "prefixLength": int64(25)}, map[string]any{"name": "more", "cidr": ranges[0]}},
		"vpc.id":                       {usersVPC},
		"vpcPeerings[].peerVpcId":      {peerVPC, usersVPC},
		"vpc.nvLinkLogicalPartitionId": {nvLink}, "vpc.networkSecurityGroup.id": {usersGroup}, "vpc.routingProfile": {"internal", "external"},
		"vpc.networkSecurityGroup": {
			map[string]any{"id": usersGroup},
			map[string]any{"rules": []any{map[string]any{"name": "web", "direction": "ingress", "protocol": "tcp", "portRange": "443", "action": "allow"}}},
		},
		"vpc.networkSecurityGroup.rules[].sourceCIDR":      addresses,
		"vpc.networkSecurityGroup.rules[].destinationCIDR": addresses,
		"vpc.networkSecurityGroup.rules[].portRange":       ports,
		"vpc.networkSecurityGroup.rules[].sourcePortRange": ports,
		"vpc.networkSecurityGroup.rules[].protocol":        {"tcp", "udp"},
		"failureDomains[].subnetName":                      {"nodes", "storage"}, "failureDomains[].vpcPrefixName": {"nodes", "storage"},
		"failureDomains[].instanceTypeID": {sim.DefaultInstanceTypeID, otherType},
		"failureDomains[]":                {map[string]any{"name": "a", "subnetName": "nodes"}, map[string]any{"name": "b", "vpcPrefixName": "nodes"}},
	}
	for name, example := range map[string]func(*infrav1.NvidiaBMMCluster){
		"Ethernet with group and peering": func(c *infrav1.NvidiaBMMCluster) {
			c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{Rules: []infrav1.SecurityRule{ssh}}
			c.Spec.VPCPeerings = []infrav1.VPCPeeringSpec{{PeerVPCID: peerVPC}}
		},
		"FNN with an own IP block": func(c *infrav1.NvidiaBMMCluster) {
			c.Spec.VPC.NetworkVirtualizationType = infrav1.FabricNativeNetworking
			c.Spec.Subnets, c.Spec.VPCPrefixes = nil, []infrav1.VPCPrefixSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}}
			c.Spec.IPBlock = &infrav1.IPBlockReference{Create: &infrav1.IPBlockCreateSpec{
				Prefix: "10.77.0.0/16", RoutingType: infrav1.RoutingDatacenterOnly,
			}}
		},
		"the user's own VPC, group and IP block": func(c *infrav1.NvidiaBMMCluster) {
			c.Spec.VPC = infrav1.VPCSpec{
				ID: usersVPC, NetworkVirtualizationType: infrav1.EthernetVirtualizer,
				NetworkSecurityGroup: &infrav1.NetworkSecurityGroupSpec{ID: usersGroup},
			}
			c.Spec.IPBlock = &infrav1.IPBlockReference{ID: sim.DefaultIPBlockID}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			optest.Suite{
				New: func(t *testing.T) *optest.World {
					f := operated(t)
					return f.World(f.NewCluster("demo", example))
				},
				Values: values,
				Fixed:  []string{"Invalid", "ClaimChanged"},
			}.Run(t)
		})
	}
}

func TestOperations_machine(t *testing.T) {
	t.Parallel()
	suite := optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := operated(t)
			f.UntilReady(f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.Subnets = append(c.Spec.Subnets, infrav1.SubnetSpec{Name: "storage", PrefixLength: ptr.To[int32](28)})
			}))
			return f.World(f.NewMachine("demo", "worker-1", bootData))
		},
		Written: []string{"providerID"},
		Values: map[string][]any{
			"instanceType.id": {sim.DefaultInstanceTypeID, otherType}, "instanceType.machineID": {"fm100ht000000000000000000000000000003"},
			"operatingSystem.id": {sim.DefaultOperatingSystemID},
			"network.subnetName": {"nodes", "storage"}, "network.additionalInterfaces[].subnetName": {"nodes", "storage"},
			"network.networkSecurityGroupID":     {usersGroup},
			"infiniBandInterfaces[].partitionID": {infiniBand}, "infiniBandInterfaces[].device": {card},
			"nvlinkInterfaces[].logicalPartitionID": {nvLink},
			"dpuExtensionServices[].serviceID":      {dpuService}, "dpuExtensionServices[].version": {"1.0", "1.1"},
			"sshKeyGroups[]": {sim.DefaultSSHKeyGroupID},
		},
	}
	suite.Run(t)
}
