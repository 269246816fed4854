package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// plot is a fixture with nets and leaves that really lie in nets: a leaf is in no other, and lists are those of one net.
type plot struct {
	*fixture
	// in is the net of each leaf, by IDs.
	in map[string]string
	// inUse: a net with leaves isn't deleted. nested: in a net that is gone everything is 404, lists too.
	inUse, nested bool
	// outer, if set, is Kind.Scope of leaves.
	outer func(string) graph.Scope
	// untagged leaves.
	untagged bool
	within   []string
	// refuses says of a net why it can't be listed.
	refuses map[string]error
	// made are the scopes that Create got for leaves.
	made []graph.Scope
	// shown by the owner.
	shown []ledgerv1.OutsideID
}

func newPlot(t *testing.T) *plot {
	return &plot{fixture: inMemory(t), in: map[string]string{}, within: []string{netKind}, refuses: map[string]error{}}
}

func notFoundIn(what string) error {
	return &fault.Error{Class: fault.NotFound, Op: what, Err: errors.New("404")}
}

func (f *plot) kinds() (nets, leaves, sites *graph.Kind[thing]) {
	nets, leaves, sites = f.service.kind(), f.service.kind(), f.service.kind()
	nets.Name, leaves.Name, sites.Name = netKind, "leaf", "site"
	leaves.Within, leaves.Scope = f.within, f.outer
	sites.Tag, sites.Find, sites.Delete = nil, nil, nil
	only := func(all []thing, err error, match func(thing) bool) ([]thing, error) {
		return slices.DeleteFunc(all, func(t thing) bool { return !match(t) }), err
	}
	findAll, get, remove := nets.Find, nets.Get, nets.Delete
	nets.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
		all, err := findAll(ctx, key)
		return only(all, err, func(t thing) bool { return f.in[t.id] == "" })
	}
	nets.Delete = func(ctx context.Context, id string, in graph.Scope) error {
		for leaf, net := range f.in {
			if f.inUse && net == id && f.service.things[leaf] != nil {
				return &fault.Error{Class: fault.Busy, Op: "delete " + id, Err: errors.New("in use by " + leaf)}
			}
		}
		return remove(ctx, id, in)
	}
	leaves.Get = func(ctx context.Context, id string, in graph.Scope) (*thing, error) {
		if f.in[id] != in[netKind] {
			return nil, notFoundIn("get " + id + " in " + in[netKind])
		}
		return get(ctx, id, in)
	}
	leaves.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
		if err := f.refuses[key.Scope[netKind]]; err != nil {
			return nil, err
		}
		if f.nested && f.service.things[key.Scope[netKind]] == nil {
			return nil, notFoundIn("list leaves of net " + key.Scope[netKind])
		}
		all, err := findAll(ctx, key)
		return only(all, err, func(t thing) bool { return f.in[t.id] != "" && f.in[t.id] == key.Scope[netKind] })
	}
	leaves.Delete = func(ctx context.Context, id string, in graph.Scope) error {
		if f.in[id] != in[netKind] {
			return notFoundIn("delete " + id)
		}
		return remove(ctx, id, in)
	}
	if f.untagged {
		leaves.Tag = nil
	}
	return nets, leaves, sites
}

func (f *plot) leaf(key string, after ...graph.Ref) graph.Want[thing] {
	w := f.want(key, after...)
	w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
		f.made = append(f.made, key.Scope)
		return func(context.Context) (*thing, error) {
			made, err := f.service.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
			if made != nil {
				f.in[made.id] = key.Scope[netKind]
			}
			return made, err
		}, nil
	}
	return w
}

func (f *plot) openPlot() (kindShowing, *graph.Graph, []*graph.Kind[thing]) {
	f.t.Helper()
	nets, leaves, sites := f.kinds()
	owner := kindShowing{f.owner(), f.shown}
	g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, nets, leaves, sites)
	f.Expect(err).NotTo(HaveOccurred())
	return owner, g, []*graph.Kind[thing]{nets, leaves, sites}
}

func (f *plot) rounds(n int, want func(g *graph.Graph, nets, leaves, sites *graph.Kind[thing])) (owner kindShowing, err error) {
	f.t.Helper()
	for range n {
		var g *graph.Graph
		var k []*graph.Kind[thing]
		owner, g, k = f.openPlot()
		want(g, k[0], k[1], k[2])
		_, err = g.Reconcile(f.t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	return owner, err
}

func (f *plot) usual(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
	net := graph.Add(g, nets, f.want(netKey))
	graph.Add(g, leaves, f.leaf(leafKey, net))
}

func (f *plot) goes() (owner kindShowing, done bool) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), f.owner())).To(Succeed())
	for range 12 {
		var g *graph.Graph
		owner, g, _ = f.openPlot()
		if done, _, _ = g.Delete(f.t.Context()); done {
			break
		}
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	return owner, done
}

func (f *plot) why(owner kindShowing) string {
	c := meta.FindStatusCondition(owner.Status.Conditions, "Ready")
	if c == nil {
		return "no condition"
	}
	return c.Reason + ": " + c.Message
}
