// Package orphans finds what was created at an outside service and belongs to no object any more, and deletes it on demand.
//
// It fails closed: what may be the user's own isn't listed as an orphan, and what can't be read completely, or may belong
// to an object that can't be read, isn't judged at all. What is seen with the credentials of one account counts for that
// account only: a tenant may name a server of its own.
package orphans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
)

// lookTimeout bounds all calls with one Secret before anything is deleted.
const lookTimeout = 5 * time.Minute

// Warning is what every user of a report has to know.
const Warning = "only the objects of this management cluster were looked at. What belongs to objects of another one, or " +
	"to a cluster that is being moved or restored, looks like an orphan from here. Delete only what you know to be unused."

// Options say where to search.
type Options struct {
	// Secrets to log in with; by default those of all objects that may have something.
	Secrets []types.NamespacedName
	// Sites by ID or name; by default all.
	Sites []string
	// Owners limits the report to these owner IDs. Naming one confirms it: then resources that carry it only in their name
	// count, too.
	Owners []string
	// Egress says where the Secrets may lead to.
	Egress egress.Policy
	// GlobalNamespace has the Secrets of objects that are in no namespace. Empty if a system has none such.
	GlobalNamespace string
}

// Report is what carries an owner tag while no object claims it.
type Report struct {
	Orphans []*Orphan `json:"orphans"`
	// LeftOut may be ours or not, and is never deleted.
	LeftOut []*Orphan `json:"leftOut,omitempty"`
	// Incomplete says what couldn't be read, and so what is missing here.
	Incomplete []string `json:"incomplete,omitempty"`
	Warning    string   `json:"warning"`

	// world is what exists in each account.
	world map[string][]item
	// reach are the accounts that the Secrets of a namespace lead to; leads says it of each Secret, and read are those of which all was
	// listed.
	reach         map[string][]string
	leads         map[string]Account
	read          map[string]bool
	owners, sites []string
	objects       client.Reader
	system        System
	global        string
}

// Orphan is one resource.
type Orphan struct {
	// Owner is the ID of the object that it was created for.
	Owner string `json:"owner"`
	// Key of the resource within that object's graph, such as "subnet/nodes"; empty if it carries none.
	Key    string `json:"key,omitempty"`
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	SiteID string `json:"siteID,omitempty"`
	Status string `json:"status,omitempty"`
	// Secret that it was seen with: NAMESPACE/NAME.
	Secret string `json:"secret"`
	// Why it is listed, if that isn't obvious.
	Why string `json:"why,omitempty"`
	// Deletion is the outcome of its deletion; empty without one.
	Deletion Deletion `json:"deletion,omitempty"`
	// DeletionWhy says more.
	DeletionWhy string `json:"deletionWhy,omitempty"`

	item item
}

// Find searches for orphans. What can't be read is left out, and named. An error means that no search is possible.
func Find(ctx context.Context, c client.Reader, system System, o Options) (*Report, error) {
	before, err := readClaims(ctx, c, system.Owners, o.GlobalNamespace)
	if err != nil {
		return nil, err
	}
	secrets := o.Secrets
	if len(secrets) == 0 {
		if secrets = before.secrets(); len(secrets) == 0 {
			return nil, errors.Join(errors.New("no object is known whose Secret could be used: say --secret NAMESPACE/NAME"), before.err())
		}
	}
	r := &Report{
		Orphans: []*Orphan{}, Warning: Warning, owners: o.Owners, sites: o.Sites, objects: c, system: system, global: o.GlobalNamespace,
		world: map[string][]item{}, reach: map[string][]string{}, leads: map[string]Account{}, read: map[string]bool{},
	}
	accounts := &credentials.Cache[Account]{Reader: c, Clock: clock.RealClock{}, Build: system.Connect(Access{c, o.Egress, o.GlobalNamespace})}
	for _, secret := range secrets {
		if err := r.look(ctx, accounts, secret, o.Sites, before.living); err != nil {
			r.Incomplete = append(r.Incomplete, err.Error()+": what is there is left out")
		}
	}
	for _, secret := range before.secrets() { // to know to which accounts the objects' claims belong
		if account, err := accounts.Client(ctx, secret); err == nil {
			r.reaches(secret, account)
		}
	}
	// After the resources: what is created for an object meanwhile isn't among them, and an object that existed when its
	// resource was listed still does, or its resource was deleted.
	claims, err := readClaims(ctx, c, system.Owners, o.GlobalNamespace)
	if err != nil {
		return nil, err
	}
	r.misses(claims)
	r.list(claims)
	return r, nil
}

// err if kinds of objects can't be read.
func (c claims) err() error {
	var all []error
	for _, kind := range c.owners {
		if err := c.unread[kind]; err != nil {
			all = append(all, fmt.Errorf("list the %ss of all namespaces: %w", kind.Name, err))
		}
	}
	return errors.Join(all...)
}

// misses names the objects that can't be read and may have something in the accounts that were searched.
func (r *Report) misses(c claims) {
	for _, kind := range c.owners {
		if err := c.unread[kind]; err != nil {
			r.Incomplete = append(r.Incomplete, fmt.Sprintf("the %ss of all namespaces: %v: what may belong to one is left out", kind.Name, err))
		}
	}
	for _, l := range c.living {
		r.missesAccount(l)
		if l.damage == nil {
			continue
		}
		for account := range r.world {
			if known := r.reach[l.realm()]; len(known) == 0 || slices.Contains(known, account) {
				r.Incomplete = append(r.Incomplete, fmt.Sprintf("%s: %v: what may belong to it is left out", l.name, l.damage))
				break
			}
		}
	}
}

// missesAccount reports a ledger whose Secret leads to another account now: there all that it names looks gone.
func (r *Report) missesAccount(l living) {
	if l.forsaken == nil || l.forsaken.Spec.Account == "" || len(r.owners) > 0 && !slices.Contains(r.owners, l.owner) {
		return
	}
	for _, secret := range l.logins() {
		if account, known := r.leads[secret]; known && account.ID() != l.forsaken.Spec.Account {
			r.Incomplete = append(r.Incomplete, fmt.Sprintf("ledger %s/%s: what it names is in account %s, and secret %s leads to account %s: "+
				"what is there is left out", l.namespace, l.forsaken.Name, l.forsaken.Spec.Account, secret, account.ID()))
		}
	}
}

// reaches remembers to which account a Secret leads.
func (r *Report) reaches(secret types.NamespacedName, account Account) {
	r.leads[secret.String()] = account
	if accounts := r.reach[secret.Namespace]; !slices.Contains(accounts, account.String()) {
		r.reach[secret.Namespace] = append(accounts, account.String())
	}
}

// look collects everything that is seen with a Secret, each thing once for each account: what another account shows under
// the same ID is another thing. A partial result counts as none.
func (r *Report) look(
	ctx context.Context, accounts *credentials.Cache[Account], secret types.NamespacedName, sites []string, objects []living,
) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	account, err := accounts.Client(ctx, secret)
	if err != nil {
		return err
	}
	r.reaches(secret, account)
	ids, err := siteIDs(ctx, account, sites)
	if err != nil {
		return fmt.Errorf("secret %s: %w", secret, err)
	}
	var found []item
	for _, id := range ids {
		items, err := world(ctx, account, id)
		if err != nil {
			return fmt.Errorf("secret %s: %w", secret, err)
		}
		found = append(found, items...)
	}
	for _, l := range objects {
		if len(sites) > 0 { // what no list shows is at none
			break
		}
		items, err := leftBy(ctx, account, l, secret.String())
		if err != nil {
			return fmt.Errorf("secret %s: %w", secret, err)
		}
		found = append(found, items...)
	}
	r.read[account.String()] = true
	type key struct{ kind, id string } // an ID may be unique within its kind only
	seen := map[key]bool{}
	for _, i := range r.world[account.String()] {
		seen[key{i.kind, i.id}] = true
	}
	for _, i := range found {
		if !seen[key{i.kind, i.id}] {
			seen[key{i.kind, i.id}] = true
			i.account, i.secret = account.String(), secret.String()
			r.world[i.account] = append(r.world[i.account], i)
		}
	}
	return nil
}

// siteIDs finds sites by their IDs or names; without names it returns the empty ID, which means all.
func siteIDs(ctx context.Context, account Account, sites []string) ([]string, error) {
	if len(sites) == 0 {
		return []string{""}, nil
	}
	var ids []string
	for _, site := range sites {
		id, err := account.SiteID(ctx, site)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// judge of an account.
func (r *Report) judge(account string, c claims) judge {
	here := func(namespace string) bool { return slices.Contains(r.reach[namespace], account) }
	return newJudge(c, here, r.world[account], r.owners)
}

// list fills the report with what the judges find.
func (r *Report) list(c claims) {
	for account, world := range r.world {
		j := r.judge(account, c)
		for _, i := range world {
			what, why := j.of(i)
			if i.part != "" {
				var whole item
				what, why, whole = j.ofPart(i, world)
				i.tag.Owner = whole.tag.Owner
			}
			r.add(i, what, why)
		}
	}
	order := func(a, b *Orphan) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.item.stage, b.item.stage), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Secret, b.Secret))
	}
	slices.SortFunc(r.Orphans, order)
	slices.SortFunc(r.LeftOut, order)
}

func (r *Report) add(i item, what verdict, why string) {
	if len(r.owners) > 0 && !slices.Contains(r.owners, i.tag.Owner) {
		return
	}
	o := &Orphan{
		Owner: i.tag.Owner, Key: i.tag.Key, Kind: i.kind, ID: i.id, Name: i.Name, SiteID: i.SiteID, Status: i.Status,
		Secret: i.secret, Why: why, item: i,
	}
	switch what {
	case orphaned:
		r.Orphans = append(r.Orphans, o)
	case uncertain:
		r.LeftOut = append(r.LeftOut, o)
	}
}
