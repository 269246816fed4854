package cloudprovider

import (
	"context"
	"fmt"
	"sync"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/memo"
)

// direct calls the BMM API, with a login of the cluster's own.
type direct struct {
	config    Config
	clients   *credentials.Cache[*bmm.Client]
	instances *inventory.Inventory
	places    *topology.Lookup
	siteIDs   *memo.Memo[siteName, string]

	mu           sync.Mutex
	last, before *directSite // with the current login, and with another one
}

func newDirect(config Config, now clock.Clock) *direct {
	retryAfter := config.Interval.Duration / 2
	return &direct{
		config: config,
		clients: &credentials.Cache[*bmm.Client]{
			Reader: folder{}, Clock: now,
			Build: bmm.Connect(func(c *bmm.Config) {
				c.Timeout, c.RefusalPause, c.Egress = config.Timeout, config.Interval.Duration, config.Egress
			}),
		},
		instances: inventory.New(config.Interval.Duration, now),
		places:    topology.NewLookup(retryAfter, now),
		siteIDs:   memo.New[siteName, string](siteKeptFor, retryAfter, now),
	}
}

func (d *direct) start(ctx context.Context, _ cloudprovider.ControllerClientBuilder, changed func(change)) {
	go func() {
		if err := d.instances.Start(ctx); err != nil {
			klog.ErrorS(err, "List the instances")
		}
	}()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case c := <-d.instances.Changes():
				changed(change{siteID: c.Object.Site, instanceID: c.Object.ID})
			}
		}
	}()
}

// directSite is a site and its current client.
type directSite struct {
	*direct
	api    *bmm.Client
	siteID string
}

// siteName is a site as an account sees it.
type siteName struct {
	account credentials.Account
	name    string
}

// site with the credentials that are in the folder now.
func (d *direct) site(ctx context.Context) (site, error) {
	api, err := d.clients.Client(ctx, d.config.secret())
	if err != nil {
		return nil, err
	}
	id, err := d.siteID(ctx, api)
	if err != nil {
		return nil, err
	}
	now := &directSite{d, api, id}
	d.switchTo(now)
	return now, nil
}

// siteID is that of the configuration, or the ID of the configured name, which is looked up from time to time.
func (d *direct) siteID(ctx context.Context, api *bmm.Client) (string, error) {
	if d.config.Site.ID != "" {
		return d.config.Site.ID, nil
	}
	name := d.config.Site.Name
	id, err := d.siteIDs.Get(ctx, siteName{api.Account(), name}, func(ctx context.Context) (string, error) {
		found, err := api.SiteByName(ctx, name)
		if err != nil {
			return "", err
		}
		return found.ID, nil
	})
	if known := d.lastID(); err != nil && known != "" {
		return "", fmt.Errorf("%w (when %q was looked up last, it was site %s)", err, name, known)
	}
	return id, err
}

func (d *direct) lastID() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		return ""
	}
	return d.last.siteID
}

// switchTo another login: the one before isn't used for lists any more. It is forgotten each time, because another call
// may still have been using it.
func (d *direct) switchTo(now *directSite) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil && (d.last.api.Account() != now.api.Account() || d.last.siteID != now.siteID) {
		d.before = d.last
	}
	d.last = now
	if d.before != nil {
		d.instances.Forget(d.before.api, d.before.siteID)
	}
}

func (s *directSite) id() string { return s.siteID }

func (s *directSite) instance(ctx context.Context, id string) (*bmm.Instance, error) {
	return s.instances.Get(ctx, s.api, s.siteID, id)
}

func (s *directSite) find(ctx context.Context, by trait) ([]bmm.Instance, error) {
	return s.instances.Find(ctx, s.api, s.siteID, by.of)
}

func (s *directSite) listed() (time.Time, error) { return s.instances.Newest(s.api, s.siteID) }

func (s *directSite) refresh(ctx context.Context, since time.Time) error {
	return s.instances.Refresh(ctx, s.api, s.siteID, since)
}

func (s *directSite) place(ctx context.Context, i *bmm.Instance) (topology.Place, error) {
	return s.places.Of(ctx, s.api, i)
}
