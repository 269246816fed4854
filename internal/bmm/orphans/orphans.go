// Package orphans says what may be an orphan at a BMM API, and which objects have something there.
package orphans

import (
	"context"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/orphans"
)

// callTimeout bounds a call of the BMM API.
const callTimeout = 30 * time.Second

// System is NVIDIA bare metal.
var System = orphans.System{
	Help: `what was made for an NvidiaBMMCluster, an NvidiaBMMMachine, or a Machine of OpenShift's.
VPCs, network security groups and instances are recognised by their labels. Subnets, VPC prefixes, allocations and
the provider's IP blocks have none: their names count only if the owner ID in the name is in a label of another resource, too.`,
	Owners: owners, Connect: connect,
}

func connect(a orphans.Access) func(*corev1.Secret) (orphans.Account, error) {
	build := bmm.Connect(func(c *bmm.Config) { c.Timeout, c.Egress = callTimeout, a.Egress })
	return func(secret *corev1.Secret) (orphans.Account, error) {
		api, err := build(secret)
		if err != nil {
			return nil, err
		}
		return account{api}, nil
	}
}

// account is what a client sees.
type account struct{ *bmm.Client }

// ID is none: no Service says an account, so ledgers have none.
func (a account) ID() string { return "" }

// SiteID asks for the ID where it is a name.
func (a account) SiteID(ctx context.Context, site string) (string, error) {
	if uuid.Validate(site) == nil {
		return site, nil
	}
	found, err := a.SiteByName(ctx, site)
	if err != nil {
		return "", err
	}
	return found.ID, nil
}
