package orphans

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/krake/cluster"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/orphans"
)

// infrastructure that was made of a template with our mark.
type infrastructure struct {
	id  string
	tag graph.Tag
	// cloud that it is in, as a site; empty if no ledger says it.
	cloud string
}

// scopeCloud is the site whose login deletes it: the infrastructure manager has none of its own.
const scopeCloud = "cloud"

// Kinds are infrastructures. Their state isn't read: after a deletion that would bring the record back.
func (a account) Kinds() []orphans.AnyKind {
	kind := &graph.Kind[infrastructure]{
		Name: krakev1.KindInfrastructure,
		ID:   func(i *infrastructure) string { return i.id },
		Tag:  func(i *infrastructure) graph.Tag { return i.tag },
		Get: func(ctx context.Context, id string, in graph.Scope) (*infrastructure, error) {
			return a.read(ctx, id, in[scopeCloud])
		},
		Delete: a.remove,
	}
	return []orphans.AnyKind{orphans.Kind[infrastructure]{
		Kind: kind, Labelled: true, List: a.list,
		Read: func(i *infrastructure) orphans.Item {
			return orphans.Item{SiteID: i.cloud, Scope: graph.Scope{scopeCloud: i.cloud}}
		},
	}}
}

// read the template of an infrastructure.
func (a account) read(ctx context.Context, id, cloud string) (*infrastructure, error) {
	text, err := a.Tosca(ctx, id)
	if err != nil {
		return nil, err
	}
	template, err := tosca.Read(text)
	if err != nil { // it isn't one of ours
		return &infrastructure{id: id}, nil //nolint:nilerr // see above
	}
	return &infrastructure{id: id, tag: cluster.TagOf(template), cloud: cloud}, nil
}

// list those with our mark. Site, unless it is empty, is the cloud of those whose ledger doesn't say another one.
func (a account) list(ctx context.Context, site string) (all []infrastructure, _ error) {
	known, err := a.ledgers(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := a.List(ctx, tosca.OwnerKey)
	if err != nil {
		return nil, err
	}
	ids = append(ids, known.left(a.Secret())...) // an error says which of these were made with another password
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		i, err := a.read(ctx, id, "")
		if fault.IsNotFound(err) || im.NoTOSCA(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		i.cloud = known.cloudOf(i.tag.Owner)
		if site != "" && i.cloud == "" {
			i.cloud = site
		}
		if site == "" || i.cloud == site {
			all = append(all, *i)
		}
	}
	return all, nil
}

// ledgers of Clusters, and the Clusters that exist.
type ledgers struct {
	all    []ledgerv1.Ledger
	living map[client.ObjectKey]bool
}

func (a account) ledgers(ctx context.Context) (known ledgers, _ error) {
	var list ledgerv1.LedgerList
	if err := a.access.List(ctx, &list); err != nil {
		return known, fmt.Errorf("list the ledgers of all namespaces: %w", err)
	}
	var living krakev1.ClusterList
	if err := a.access.List(ctx, &living); err != nil {
		return known, fmt.Errorf("list the Clusters of all namespaces: %w", err)
	}
	known = ledgers{list.Items, map[client.ObjectKey]bool{}}
	for i := range living.Items {
		known.living[client.ObjectKeyFromObject(&living.Items[i])] = true
	}
	return known, nil
}

// left are the IDs of what was made with a login for Clusters that are gone.
func (k ledgers) left(login string) (ids []string) {
	for _, l := range k.all {
		of := client.ObjectKey{Namespace: l.Namespace, Name: l.Spec.Owner.Name}
		if k.living[of] || slices.Index(l.Spec.Credentials, login) != 0 {
			continue
		}
		for _, e := range l.Spec.Entries {
			if e.ID != "" {
				ids = append(ids, e.ID)
			}
		}
	}
	return ids
}

// cloudOf what was made for an owner, as a site. It is empty if ledgers don't say it, or not the same.
func (k ledgers) cloudOf(owner string) (site string) {
	for i := range k.all {
		l := &k.all[i]
		cloud, known := cluster.CloudOf(l)
		if l.Spec.OwnerID != owner || !known {
			continue
		}
		if is := siteOf(l.Namespace, cloud); site == "" {
			site = is
		} else if site != is {
			return ""
		}
	}
	return site
}

// remove an infrastructure with the login of its cloud: with another one its machines would stay.
func (a account) remove(ctx context.Context, id string, in graph.Scope) error {
	site := in[scopeCloud]
	if site == "" {
		return fault.Invalidf("no ledger says which cloud infrastructure %s is in: name the cloud with --site", id)
	}
	namespace, cloud := cloudOf(site)
	place, err := a.places().Of(ctx, namespace, cloud)
	if err != nil {
		return err
	}
	api, err := a.clients.Of(ctx, place)
	if err != nil {
		return err
	}
	if is := cluster.Account(api); is != a.ID() {
		return fault.Invalidf("what is made on %s belongs to %s, and infrastructure %s to %s", cloud, is, id, a.ID())
	}
	return api.Delete(ctx, id)
}
