package orphans

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
)

// living is an object of the management cluster that may have something at a BMM API.
type living struct {
	// name for people: KIND NAMESPACE/NAME.
	name string
	// owner is the ID that what it has carries; empty where it has nothing.
	owner string
	// ledger by key.
	ledger map[string]graph.Resource
	// spec as text, to see whether an ID stands in it.
	spec string
}

// uses reports whether the ledger or the spec has the ID, as the object's own or the user's.
func (l living) uses(id string) bool {
	for _, r := range l.ledger {
		if r.ID == id {
			return true
		}
	}
	return strings.Contains(l.spec, id)
}

// claims are those of all living objects.
type claims []living

// readClaims reads all objects of all namespaces that may have something at a BMM API. It refuses to answer where it can't
// see every one of them, or can't tell what is whose: what nobody seems to claim would be called an orphan.
func readClaims(ctx context.Context, c client.Reader) (claims, error) {
	clusters, machines := &infrav1.NvidiaBMMClusterList{}, &infrav1.NvidiaBMMMachineList{}
	for _, list := range []client.ObjectList{clusters, machines} {
		if err := c.List(ctx, list); err != nil {
			return nil, fmt.Errorf("without every NvidiaBMMCluster and NvidiaBMMMachine of the management cluster nobody can tell "+
				"what is an orphan: %w", err)
		}
	}
	var all claims
	for i := range clusters.Items {
		object := &clusters.Items[i]
		l, err := claimOf("NvidiaBMMCluster", object, object.Spec)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	for i := range machines.Items {
		object := &machines.Items[i]
		l, err := claimOf("NvidiaBMMMachine", object, object.Spec)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func claimOf(kind string, object graph.Owner, spec any) (living, error) {
	l := living{name: kind + " " + client.ObjectKeyFromObject(object).String(), ledger: map[string]graph.Resource{}}
	var err error
	if l.owner, err = graph.OwnerID(object); err != nil {
		return l, fmt.Errorf("what belongs to %s can't be told from orphans: %w", l.name, err)
	}
	resources, err := graph.Resources(object)
	if err != nil {
		return l, fmt.Errorf("what belongs to %s can't be told from orphans: %w", l.name, err)
	}
	for _, r := range resources {
		l.ledger[r.Key] = r
	}
	text, err := json.Marshal(spec)
	l.spec = string(text)
	return l, err
}

// userOf names an object that uses a resource, though it may carry the tag of another.
func (c claims) userOf(id string) (living, bool) {
	for _, l := range c {
		if l.uses(id) {
			return l, true
		}
	}
	return living{}, false
}

func (c claims) byOwner(owner string) (living, bool) {
	for _, l := range c {
		if l.owner == owner {
			return l, true
		}
	}
	return living{}, false
}
