// Package orphans finds what was made at a BMM API and belongs to no object any more, and takes it away on demand.
//
// It errs on the safe side: what may be the user's own isn't listed as an orphan, and what can't be seen completely isn't
// judged at all.
package orphans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/credentials"
)

// callTimeout bounds a call of the BMM API.
const callTimeout = 30 * time.Second

// Warning is what every user of a report has to know.
const Warning = "only the objects of this management cluster were looked at. What belongs to objects of another one, or " +
	"to a cluster that is being moved or restored, looks like an orphan from here. Delete only what you know to be nobody's."

// Options say where to look.
type Options struct {
	// Secrets to log in with; by default those of all NvidiaBMMClusters.
	Secrets []types.NamespacedName
	// Sites by ID or name; by default all.
	Sites []string
	// Owners limits the report to these owner IDs. Whoever names one vouches for it: what carries it in its name only counts.
	Owners []string
}

// Report is what carries an owner tag while no object claims it.
type Report struct {
	Orphans []*Orphan `json:"orphans"`
	// LeftOut may be ours or not, and is never deleted.
	LeftOut []*Orphan `json:"leftOut,omitempty"`
	Warning string    `json:"warning"`

	world   []item
	owners  []string
	objects client.Reader
}

// Orphan is one resource.
type Orphan struct {
	// Owner is the ID of the object that it was made for.
	Owner string `json:"owner"`
	// Key of the resource within that object's graph, such as "subnet/nodes"; empty where it carries none.
	Key    string `json:"key,omitempty"`
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	SiteID string `json:"siteID,omitempty"`
	Status string `json:"status,omitempty"`
	// Secret that it was seen with: NAMESPACE/NAME.
	Secret string `json:"secret"`
	// Why it is listed, where that isn't plain.
	Why string `json:"why,omitempty"`
	// Deletion is what came of the wish to delete it; empty without one.
	Deletion Deletion `json:"deletion,omitempty"`
	// DeletionWhy says more.
	DeletionWhy string `json:"deletionWhy,omitempty"`

	item
}

// Find looks for orphans. The error is something that can't be seen: then nothing is known.
func Find(ctx context.Context, c client.Reader, o Options) (*Report, error) {
	secrets := o.Secrets
	if len(secrets) == 0 {
		var err error
		if secrets, err = secretsInUse(ctx, c); err != nil {
			return nil, err
		}
	}
	r := &Report{Orphans: []*Orphan{}, Warning: Warning, owners: o.Owners, objects: c}
	if err := r.look(ctx, c, secrets, o.Sites); err != nil {
		return nil, err
	}
	// After the resources: what was made for an object meanwhile isn't among them, and an object that was there when its
	// resource was listed still is, or has seen it go.
	claims, err := readClaims(ctx, c)
	if err != nil {
		return nil, err
	}
	r.list(newJudge(claims, r.world, o.Owners))
	return r, nil
}

// secretsInUse are those that NvidiaBMMClusters log in with.
func secretsInUse(ctx context.Context, c client.Reader) ([]types.NamespacedName, error) {
	clusters := &infrav1.NvidiaBMMClusterList{}
	if err := c.List(ctx, clusters); err != nil {
		return nil, fmt.Errorf("list the NvidiaBMMClusters, whose Secrets to log in with: %w", err)
	}
	var secrets []types.NamespacedName
	for i := range clusters.Items {
		if secret := cluster.SecretOf(&clusters.Items[i]); !slices.Contains(secrets, secret) {
			secrets = append(secrets, secret)
		}
	}
	if len(secrets) == 0 {
		return nil, errors.New("there is no NvidiaBMMCluster whose Secret could be used: say --secret NAMESPACE/NAME")
	}
	return secrets, nil
}

// look collects everything there is, each thing once.
func (r *Report) look(ctx context.Context, c client.Reader, secrets []types.NamespacedName, sites []string) error {
	clients := &credentials.Cache[*bmm.Client]{
		Reader: c, Clock: clock.RealClock{},
		Build: bmm.Connect(func(c *bmm.Config) { c.Timeout = callTimeout }),
	}
	seen := map[string]bool{}
	for _, secret := range secrets {
		api, err := clients.Client(ctx, secret)
		if err != nil {
			return err
		}
		a := account{api, secret.String()}
		ids, err := a.siteIDs(ctx, sites)
		if err != nil {
			return err
		}
		for _, id := range ids {
			items, err := a.world(ctx, id)
			if err != nil {
				return err
			}
			for _, i := range items {
				if !seen[i.id] {
					seen[i.id] = true
					r.world = append(r.world, i)
				}
			}
		}
	}
	return nil
}

// siteIDs finds sites by their names; without any it returns the empty ID, which stands for all.
func (a account) siteIDs(ctx context.Context, sites []string) ([]string, error) {
	if len(sites) == 0 {
		return []string{""}, nil
	}
	var ids []string
	for _, site := range sites {
		if uuid.Validate(site) == nil {
			ids = append(ids, site)
			continue
		}
		found, err := a.SiteByName(ctx, site)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found.ID)
	}
	return ids, nil
}

// list fills the report with what the judge finds.
func (r *Report) list(j judge) {
	for _, i := range r.world {
		what, why := j.of(i)
		if i.stage == stagePeering {
			var vpc item
			what, why, vpc = j.ofPeering(i, r.world)
			i.tag.Owner = vpc.tag.Owner
		}
		if len(r.owners) > 0 && !slices.Contains(r.owners, i.tag.Owner) {
			continue
		}
		o := &Orphan{
			Owner: i.tag.Owner, Key: i.tag.Key, Kind: i.kind, ID: i.id, Name: i.name, SiteID: i.siteID, Status: i.status,
			Secret: i.account.secret, Why: why, item: i,
		}
		switch what {
		case orphaned:
			r.Orphans = append(r.Orphans, o)
		case uncertain:
			r.LeftOut = append(r.LeftOut, o)
		}
	}
	order := func(a, b *Orphan) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.stage, b.stage), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.ID, b.ID))
	}
	slices.SortFunc(r.Orphans, order)
	slices.SortFunc(r.LeftOut, order)
}
