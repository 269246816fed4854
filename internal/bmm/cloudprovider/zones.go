package cloudprovider

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
)

// GetZone is that of the site.
func (c *Cloud) GetZone(ctx context.Context) (cloudprovider.Zone, error) {
	at, err := c.site(ctx)
	if err != nil {
		return cloudprovider.Zone{}, err
	}
	return c.zone(ctx, at)
}

func (c *Cloud) zone(ctx context.Context, at site) (cloudprovider.Zone, error) {
	place, err := at.place(ctx, &bmm.Instance{SiteID: at.id()})
	if err != nil {
		return cloudprovider.Zone{}, err
	}
	return cloudprovider.Zone{FailureDomain: place.Zone, Region: place.Region}, nil
}

// GetZoneByProviderID is that of the site, for its instances.
func (c *Cloud) GetZoneByProviderID(ctx context.Context, providerID string) (cloudprovider.Zone, error) {
	id, err := providerid.Parse(providerID)
	if err != nil {
		return cloudprovider.Zone{}, err
	}
	at, err := c.site(ctx)
	if err != nil {
		return cloudprovider.Zone{}, err
	}
	if id.SiteID != at.id() {
		return cloudprovider.Zone{}, fmt.Errorf("instance %s is at another site than %s", providerID, at.id())
	}
	return c.zone(ctx, at)
}

// GetZoneByNodeName is that of the site: all nodes of the cluster are there.
func (c *Cloud) GetZoneByNodeName(ctx context.Context, _ types.NodeName) (cloudprovider.Zone, error) {
	return c.GetZone(ctx)
}
