package v1beta2

import ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"

// Kinds of what clusters have at IBM Cloud, as ledgers name them.
const (
	KindResourceGroup     = "resource group"
	KindZone              = "zone"
	KindWorkspace         = "workspace"
	KindNetwork           = "network"
	KindVPC               = "VPC"
	KindSubnet            = "subnet"
	KindSecurityGroup     = "security group"
	KindSecurityGroupRule = "security group rule"
	KindLoadBalancer      = "load balancer"
	KindTransitGateway    = "transit gateway"
	KindVPCConnection     = "VPC connection"
	KindPowerVSConnection = "PowerVS connection"
	KindCOSInstance       = "COS instance"
	KindBucket            = "bucket"
	KindCOSKey            = "COS key"

	// KindRegion and KindBucketRegion aren't made: the scope of what lies in them says where its API is.
	KindRegion       = "region"
	KindBucketRegion = "bucket region"
)

// OutsideIDs are the IDs of what the status says was created for the cluster. What it uses isn't among them.
func (c *IBMPowerVSCluster) OutsideIDs() []ledgerv1.OutsideID {
	s := &c.Status
	in := ledgerv1.Scope{KindZone: c.Spec.Zone, KindRegion: c.Region()}
	within := func(kind string, r *ResourceReference) {
		if r != nil {
			in[kind] = r.ID
		}
	}
	within(KindWorkspace, s.ServiceInstance)
	within(KindVPC, s.VPC)
	var ids []ledgerv1.OutsideID
	add := func(kind string, r *ResourceReference) {
		if r != nil && r.ID != "" && r.ControllerCreated {
			ids = append(ids, ledgerv1.OutsideID{Kind: kind, ID: r.ID, Scope: in})
		}
	}
	add(KindWorkspace, s.ServiceInstance)
	add(KindNetwork, s.Network)
	add(KindVPC, s.VPC)
	for _, subnet := range s.VPCSubnet {
		add(KindSubnet, &subnet)
	}
	for _, group := range s.VPCSecurityGroups {
		add(KindSecurityGroup, &ResourceReference{ID: group.ID, ControllerCreated: group.ControllerCreated})
	}
	for _, balancer := range s.LoadBalancers {
		add(KindLoadBalancer, &ResourceReference{ID: balancer.ID, ControllerCreated: balancer.ControllerCreated})
	}
	if gateway := s.TransitGateway; gateway != nil {
		in[KindTransitGateway] = gateway.ID
		add(KindTransitGateway, &ResourceReference{ID: gateway.ID, ControllerCreated: gateway.ControllerCreated})
		add(KindVPCConnection, gateway.VPCConnection)
		add(KindPowerVSConnection, gateway.PowerVSConnection)
	}
	add(KindCOSInstance, s.COSInstance)
	return ids
}

// Region is that of the VPC; empty if the spec has none.
func (c *IBMPowerVSCluster) Region() string {
	if c.Spec.VPC == nil {
		return ""
	}
	return c.Spec.VPC.Region
}
