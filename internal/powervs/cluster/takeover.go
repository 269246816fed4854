package cluster

import (
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// shownBy is what a status says, as lines of a ledger.
func shownBy(c *infrav1.IBMPowerVSCluster) (lines []ledgers.Resource) {
	s := &c.Status
	in := ledgerv1.Scope{infrav1.KindZone: c.Spec.Zone, infrav1.KindRegion: c.Region()}
	add := func(key, kind string, r *infrav1.ResourceReference, within ...string) {
		if r == nil || r.ID == "" {
			return
		}
		lines = append(lines, ledgers.Resource{Key: key, Kind: kind, ID: r.ID, Own: r.ControllerCreated, Scope: in.Within(within)})
		in[kind] = r.ID
	}
	add(workspaceKey, infrav1.KindWorkspace, s.ServiceInstance, infrav1.KindZone)
	network := s.Network
	if network != nil && s.DHCPServer != nil { // the network goes with its server
		network = &infrav1.ResourceReference{ID: network.ID, ControllerCreated: s.DHCPServer.ControllerCreated}
	}
	add(networkKey+"/"+c.DHCPServerName(), infrav1.KindNetwork, network, infrav1.KindZone, infrav1.KindWorkspace)
	add(vpcKey, infrav1.KindVPC, s.VPC, infrav1.KindRegion)
	for name, subnet := range s.VPCSubnet {
		add(subnetKey+name, infrav1.KindSubnet, &subnet, infrav1.KindRegion, infrav1.KindVPC)
	}
	for name, g := range s.VPCSecurityGroups {
		group := &infrav1.ResourceReference{ID: g.ID, ControllerCreated: g.ControllerCreated}
		add(groupKey+name, infrav1.KindSecurityGroup, group, infrav1.KindRegion, infrav1.KindVPC)
	}
	for name, b := range s.LoadBalancers {
		balancer := &infrav1.ResourceReference{ID: b.ID, ControllerCreated: b.ControllerCreated}
		add(balancerKey+name, infrav1.KindLoadBalancer, balancer, infrav1.KindRegion, infrav1.KindVPC)
	}
	if g := s.TransitGateway; g != nil {
		add(gatewayKey, infrav1.KindTransitGateway, &infrav1.ResourceReference{ID: g.ID, ControllerCreated: g.ControllerCreated})
		add(vpcConnectionKey, infrav1.KindVPCConnection, g.VPCConnection, infrav1.KindTransitGateway, infrav1.KindVPC)
		add(powerVSConnectionKey, infrav1.KindPowerVSConnection, g.PowerVSConnection, infrav1.KindTransitGateway, infrav1.KindWorkspace)
	}
	add(cosKey, infrav1.KindCOSInstance, s.COSInstance)
	return lines
}
