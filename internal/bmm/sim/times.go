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
	// The times from creation to Ready. A VPC is Ready in the answer to its POST unless this says otherwise, a VPC prefix always;
	// a security group is when an inventory has it.
	VPC    metav1.Duration `json:"vpc,omitzero"`
	Subnet metav1.Duration `json:"subnet,omitzero"`
	// Inventory is the time from one of the sites' inventories to the next, InventoryPhase when the first one is taken, and
	// InventoryDelay how much later the service hears of each.
	Inventory      metav1.Duration `json:"inventory,omitzero"`
	InventoryPhase metav1.Duration `json:"inventoryPhase,omitzero"`
	InventoryDelay metav1.Duration `json:"inventoryDelay,omitzero"`
	// InstanceMin and InstanceMax bound the time from creation to Ready.
	InstanceMin metav1.Duration `json:"instanceMin,omitzero"`
	InstanceMax metav1.Duration `json:"instanceMax,omitzero"`
	// InventoryLag is how long at most an instance's status stays what it was at the last write.
	InventoryLag metav1.Duration `json:"inventoryLag,omitzero"`
	// Freeze takes the place of InventoryLag, if set: an instance's status stays exactly so long what it was at the last write,
	// its creation too. It is 3m5s in the real service.
	Freeze metav1.Duration `json:"freeze,omitzero"`
	// ViewLag is how long a VPC, a security group or an instance that a client has changed is shown as it was before.
	ViewLag metav1.Duration `json:"viewLag,omitzero"`
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
		Subnet: seconds(10), Inventory: seconds(3 * 60), InventoryDelay: seconds(5),
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
		{&t.Subnet, &defaults.Subnet},
		{&t.Inventory, &defaults.Inventory},
		{&t.InventoryDelay, &defaults.InventoryDelay},
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
