package cloudprovider

import (
	"context"
	"fmt"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// site and how it is asked at the moment.
type site struct {
	api *bmm.Client
	id  string
}

// siteName is a site as an account sees it.
type siteName struct {
	account bmm.Account
	name    string
}

// site with the credentials that are in the folder now. No error of it says anything of an instance.
func (c *Cloud) site(ctx context.Context) (*site, error) {
	api, err := c.clients.Client(ctx, c.config.secret())
	if err != nil {
		return nil, err
	}
	id, err := c.siteID(ctx, api)
	if err != nil {
		return nil, err
	}
	now := &site{api, id}
	c.switchTo(now)
	if listed, err := c.instances.Newest(api, id); err == nil {
		c.troubles.siteAnswered(listed)
	}
	return now, nil
}

// siteID is what the configuration says, or the ID of the name that it says, which is looked up once in a while.
func (c *Cloud) siteID(ctx context.Context, api *bmm.Client) (string, error) {
	if c.config.Site.ID != "" {
		return c.config.Site.ID, nil
	}
	name := c.config.Site.Name
	id, err := c.siteIDs.Get(ctx, siteName{api.Account(), name}, func(ctx context.Context) (string, error) {
		found, err := api.SiteByName(ctx, name)
		if err != nil {
			return "", err
		}
		return found.ID, nil
	})
	if known := c.lastID(); err != nil && known != "" {
		return "", fmt.Errorf("%w (when %q was looked up last, it was site %s)", err, name, known)
	}
	return id, err
}

func (c *Cloud) lastID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return ""
	}
	return c.last.id
}

// switchTo another login: with the one before nothing is listed any more. It is forgotten again and again, because somebody
// may still have been asking with it.
func (c *Cloud) switchTo(now *site) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && (c.last.api.Account() != now.api.Account() || c.last.id != now.id) {
		c.before = c.last
	}
	c.last = now
	if c.before != nil {
		c.instances.Forget(c.before.api, c.before.id)
	}
}
