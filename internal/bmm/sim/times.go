package sim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Times are simulated durations. A zero value means that of DefaultTimes.
type Times struct {
	// Create is how long a create blocks between its check that the name is free and its commit: the workflow at the
	// site, up to 50 seconds in the real service.
	Create metav1.Duration `json:"create,omitzero"`
	// SiteTimeout is how long a write blocks, and then fails, when the site's agent is down.
	SiteTimeout metav1.Duration `json:"siteTimeout,omitzero"`
	// The times from creation to Ready.
	VPC                  metav1.Duration `json:"vpc,omitzero"`
	Subnet               metav1.Duration `json:"subnet,omitzero"`
	NetworkSecurityGroup metav1.Duration `json:"networkSecurityGroup,omitzero"`
	// InstanceMin and InstanceMax bound the time from creation to Ready.
	InstanceMin metav1.Duration `json:"instanceMin,omitzero"`
	InstanceMax metav1.Duration `json:"instanceMax,omitzero"`
	// InventoryLag is how long at most an instance's status stays what it was at the last write.
	InventoryLag metav1.Duration `json:"inventoryLag,omitzero"`
	// Reboot is how long a reboot takes.
	Reboot metav1.Duration `json:"reboot,omitzero"`
	// The times from a DELETE to 404.
	VPCDelete                  metav1.Duration `json:"vpcDelete,omitzero"`
	SubnetDelete               metav1.Duration `json:"subnetDelete,omitzero"` // and that of VPC prefixes
	NetworkSecurityGroupDelete metav1.Duration `json:"networkSecurityGroupDelete,omitzero"`
	InstanceDelete             metav1.Duration `json:"instanceDelete,omitzero"`
}

// DefaultTimes are about those of the real service.
func DefaultTimes() Times {
	seconds := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
	return Times{
		Create: seconds(1), SiteTimeout: seconds(50),
		VPC: seconds(30), Subnet: seconds(10), NetworkSecurityGroup: seconds(15),
		InstanceMin: seconds(5 * 60), InstanceMax: seconds(15 * 60), InventoryLag: seconds(3 * 60), Reboot: seconds(5 * 60),
		VPCDelete: seconds(15), SubnetDelete: seconds(10), NetworkSecurityGroupDelete: seconds(5),
		InstanceDelete: seconds(3 * 60),
	}
}

func (t *Times) setDefaults() {
	defaults := DefaultTimes()
	for _, pair := range []struct{ value, fallback *metav1.Duration }{
		{&t.Create, &defaults.Create},
		{&t.SiteTimeout, &defaults.SiteTimeout},
		{&t.VPC, &defaults.VPC},
		{&t.Subnet, &defaults.Subnet},
		{&t.NetworkSecurityGroup, &defaults.NetworkSecurityGroup},
		{&t.InstanceMin, &defaults.InstanceMin},
		{&t.InstanceMax, &defaults.InstanceMax},
		{&t.InventoryLag, &defaults.InventoryLag},
		{&t.Reboot, &defaults.Reboot},
		{&t.VPCDelete, &defaults.VPCDelete},
		{&t.SubnetDelete, &defaults.SubnetDelete},
		{&t.NetworkSecurityGroupDelete, &defaults.NetworkSecurityGroupDelete},
		{&t.InstanceDelete, &defaults.InstanceDelete},
	} {
		if pair.value.Duration == 0 {
			*pair.value = *pair.fallback
		}
	}
}
