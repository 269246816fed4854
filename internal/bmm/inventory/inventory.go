// Package inventory knows the state of the instances of a site, from one paged list that all callers share.
package inventory

import (
	"context"
	"reflect"
	"time"

	"k8s.io/utils/clock"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/inventory"
)

// Inventory of the instances of all sites that have callers.
type Inventory = inventory.Inventory[*bmm.Client, bmm.Instance]

// New returns an inventory.
func New(interval time.Duration, clock clock.PassiveClock) *Inventory {
	return inventory.New(service, interval, clock)
}

var service = inventory.Service[*bmm.Client, bmm.Instance]{
	Items: "instances",
	List: func(ctx context.Context, api *bmm.Client, siteID string) ([]bmm.Instance, error) {
		return api.Instances(ctx, bmm.InstanceFilter{SiteID: siteID})
	},
	Get: func(ctx context.Context, api *bmm.Client, siteID, id string) (*bmm.Instance, error) {
		return api.Instance(ctx, siteID, id)
	},
	ID:      func(i *bmm.Instance) string { return i.ID },
	Settled: func(i *bmm.Instance) bool { return i.Status == bmm.InstanceReady || i.Status == bmm.InstanceError },
	Slim:    slim,
	Same:    same,
}

// slim leaves out what no list has: of ten thousand instances it is most of the bytes, and user data is confidential.
func slim(i bmm.Instance) bmm.Instance {
	i.UserData, i.IpxeScript, i.StatusHistory = "", "", nil
	return i
}

func same(a, b bmm.Instance) bool {
	a.Updated, b.Updated = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}
