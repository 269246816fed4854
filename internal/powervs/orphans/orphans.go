// Package orphans says what may be an orphan in an account of IBM Cloud, and which objects have something there.
package orphans

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/orphans"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// callTimeout bounds a call of a service.
const callTimeout = 30 * time.Second

// System is IBM Power Virtual Server.
var System = orphans.System{
	Help: `what was made for an IBMPowerVSCluster, an IBMPowerVSMachine or an IBMPowerVSImage.
Virtual machines and images are recognised by their tags. All else has none: it is listed only if the ledger of an object
names it that is gone. A site is a workspace, by its ID or its name.`,
	Owners: owners, Connect: connect,
}

func connect(a orphans.Access) func(*corev1.Secret) (orphans.Account, error) {
	build := ibm.Connect(func(c *ibm.Config) { c.Timeout, c.Egress = callTimeout, a.Egress })
	return func(secret *corev1.Secret) (orphans.Account, error) {
		api, err := build(secret)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		id, err := api.AccountID(ctx)
		if err != nil {
			return nil, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
		return account{api, id}, nil
	}
}

// account is what a client sees. All API keys of an account see the same.
type account struct {
	*ibm.Client
	id string
}

func (a account) String() string { return a.id + " at " + a.Endpoint(ibm.ServiceIAM, "") }

// ID is that of the API key.
func (a account) ID() string { return a.id }

// SiteID is the ID of a workspace.
func (a account) SiteID(ctx context.Context, site string) (string, error) {
	all, err := a.Instances(ctx, ibm.PlanPowerVS, "")
	if err != nil {
		return "", err
	}
	var named []string
	for _, w := range all {
		switch site {
		case w.ID:
			return w.ID, nil
		case w.Name:
			named = append(named, w.ID)
		}
	}
	if len(named) != 1 {
		return "", fault.Invalidf("%d workspaces are called %q: name one by its ID", len(named), site)
	}
	return named[0], nil
}
