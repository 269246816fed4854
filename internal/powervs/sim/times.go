package sim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Times are simulated durations. A zero value means that of DefaultTimes.
type Times struct {
	// Workspace is the time from creation to active.
	Workspace metav1.Duration `json:"workspace,omitzero"`
	// InstanceDelete is the time from the DELETE of a workspace, or of an instance of Object Storage, to its end. After that it is
	// in reclamation for as long as Reclamation says, if that isn't negative, and then shown as removed for the time Removed.
	InstanceDelete metav1.Duration `json:"instanceDelete,omitzero"`
	Reclamation    metav1.Duration `json:"reclamation,omitzero"`
	Removed        metav1.Duration `json:"removed,omitzero"`

	// DHCPServer is the time from creation to ACTIVE.
	DHCPServer       metav1.Duration `json:"dhcpServer,omitzero"`
	DHCPServerDelete metav1.Duration `json:"dhcpServerDelete,omitzero"`
	// Lease is how long after its server is ACTIVE a lease is known.
	Lease metav1.Duration `json:"lease,omitzero"`
	// ImageImport is how long an import runs, and Image the time from its end until the image is active.
	ImageImport metav1.Duration `json:"imageImport,omitzero"`
	Image       metav1.Duration `json:"image,omitzero"`
	ImageDelete metav1.Duration `json:"imageDelete,omitzero"`
	// Server is the time from creation to ACTIVE.
	Server       metav1.Duration `json:"server,omitzero"`
	ServerDelete metav1.Duration `json:"serverDelete,omitzero"`

	// VPC and Subnet are the times from creation to available.
	VPC          metav1.Duration `json:"vpc,omitzero"`
	VPCDelete    metav1.Duration `json:"vpcDelete,omitzero"`
	Subnet       metav1.Duration `json:"subnet,omitzero"`
	SubnetDelete metav1.Duration `json:"subnetDelete,omitzero"`
	// LoadBalancer is the time from creation to active, LoadBalancerUpdate that of each change.
	LoadBalancer       metav1.Duration `json:"loadBalancer,omitzero"`
	LoadBalancerUpdate metav1.Duration `json:"loadBalancerUpdate,omitzero"`
	LoadBalancerDelete metav1.Duration `json:"loadBalancerDelete,omitzero"`
	// TransitGateway is the time from creation to available, Connection that to attached.
	TransitGateway       metav1.Duration `json:"transitGateway,omitzero"`
	TransitGatewayDelete metav1.Duration `json:"transitGatewayDelete,omitzero"`
	Connection           metav1.Duration `json:"connection,omitzero"`
	ConnectionDelete     metav1.Duration `json:"connectionDelete,omitzero"`
}

// DefaultTimes are about those of the real services.
func DefaultTimes() Times {
	return Times{
		Workspace: seconds(20), InstanceDelete: seconds(20), Reclamation: seconds(7 * 24 * 3600), Removed: seconds(3600),
		DHCPServer: seconds(8 * 60), DHCPServerDelete: seconds(3 * 60), Lease: seconds(60),
		ImageImport: seconds(8 * 60), Image: seconds(30), ImageDelete: seconds(5),
		Server: seconds(4 * 60), ServerDelete: seconds(60),
		VPC: seconds(5), VPCDelete: seconds(10), Subnet: seconds(5), SubnetDelete: seconds(10),
		LoadBalancer: seconds(150), LoadBalancerUpdate: seconds(20), LoadBalancerDelete: seconds(60),
		TransitGateway: seconds(30), TransitGatewayDelete: seconds(20), Connection: seconds(60), ConnectionDelete: seconds(30),
	}
}

func (t *Times) setDefaults() {
	defaults := DefaultTimes()
	for _, pair := range []struct{ value, fallback *metav1.Duration }{
		{&t.Workspace, &defaults.Workspace},
		{&t.InstanceDelete, &defaults.InstanceDelete},
		{&t.Reclamation, &defaults.Reclamation},
		{&t.Removed, &defaults.Removed},
		{&t.DHCPServer, &defaults.DHCPServer},
		{&t.DHCPServerDelete, &defaults.DHCPServerDelete},
		{&t.Lease, &defaults.Lease},
		{&t.ImageImport, &defaults.ImageImport},
		{&t.Image, &defaults.Image},
		{&t.ImageDelete, &defaults.ImageDelete},
		{&t.Server, &defaults.Server},
		{&t.ServerDelete, &defaults.ServerDelete},
		{&t.VPC, &defaults.VPC},
		{&t.VPCDelete, &defaults.VPCDelete},
		{&t.Subnet, &defaults.Subnet},
		{&t.SubnetDelete, &defaults.SubnetDelete},
		{&t.LoadBalancer, &defaults.LoadBalancer},
		{&t.LoadBalancerUpdate, &defaults.LoadBalancerUpdate},
		{&t.LoadBalancerDelete, &defaults.LoadBalancerDelete},
		{&t.TransitGateway, &defaults.TransitGateway},
		{&t.TransitGatewayDelete, &defaults.TransitGatewayDelete},
		{&t.Connection, &defaults.Connection},
		{&t.ConnectionDelete, &defaults.ConnectionDelete},
	} {
		if pair.value.Duration == 0 {
			*pair.value = *pair.fallback
		}
	}
}

func seconds(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
