package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// cloud is shaped like PowerVS: no tags, names that several may have, zones that are known at run time only, networks that
// are listed within their workspace.
type cloud struct {
	fuse  *crashtest.Fuse
	zones []string
	// named: the workspace's name is to be ours alone.
	named bool
	// pooled: the network is a member of a pool that lies in the balancer of another owner, and the network's key is known from a lookup
	// only. seeded: another provider has made all of it, and the ledger is written from what that says.
	pooled, seeded bool
	// mayDelete: the owner is deleted; astray are those that were asked to go all the same.
	mayDelete bool
	astray    []string
	next      int
	parts     map[string]*part
	// lostRequests never arrive, lostAnswers never reach the client.
	lostRequests, lostAnswers int
	onCreate                  func(part)
}

type part struct {
	id, name, zone, in string
	theirs, deleting   bool
}

func (c *cloud) add(p part) *part {
	c.next++
	p.id = fmt.Sprintf("id-%d", c.next)
	c.parts[p.id] = &p
	return &p
}

func (c *cloud) find(match func(*part) bool) (found []part, err error) {
	err = c.fuse.Call(false, func() error {
		for _, id := range slices.Sorted(maps.Keys(c.parts)) {
			if match(c.parts[id]) {
				found = append(found, *c.parts[id])
			}
		}
		return nil
	})
	return found, err
}

// kind is one whose resources lie in one of another kind, or in nothing.
func (c *cloud) kind(name, within string, find func(context.Context, graph.Key) ([]part, error)) *graph.Kind[part] {
	notFound := func(id string) error {
		return &fault.Error{Class: fault.NotFound, Op: "look for " + id, Err: errors.New("404")}
	}
	var scope []string
	if within != "" {
		scope = []string{within}
	}
	return &graph.Kind[part]{
		Name: name, Within: scope,
		ID: func(p *part) string { return p.id },
		Get: func(_ context.Context, id string, in graph.Scope) (p *part, err error) {
			err = c.fuse.Call(false, func() error {
				known, ok := c.parts[id]
				if !ok || known.in != in[within] {
					return notFound(id)
				}
				p = new(*known)
				return nil
			})
			return p, err
		},
		Find: find,
		Phase: func(p *part) phases.Phase {
			if p.deleting {
				return phases.Deleting()
			}
			return phases.Ready()
		},
		Delete: func(_ context.Context, id string, in graph.Scope) error {
			return c.fuse.Call(true, func() error {
				p, ok := c.parts[id]
				if !ok || p.in != in[within] {
					return notFound(id)
				}
				if p.deleting = true; !c.mayDelete {
					c.astray = append(c.astray, p.name)
				}
				return nil
			})
		},
	}
}

func (c *cloud) create(p part) graph.Call[part] {
	return func(context.Context) (made *part, err error) {
		err = c.fuse.Call(true, func() error {
			if c.onCreate != nil {
				c.onCreate(p)
			}
			if c.lostRequests > 0 {
				c.lostRequests--
				return errors.New("connection reset")
			}
			made = new(*c.add(p))
			if c.lostAnswers > 0 {
				c.lostAnswers--
				return errors.New("connection reset")
			}
			return nil
		})
		return made, err
	}
}

// aZone chooses one of those that are up; which one is up changes with every list. An existing part has a zone.
func (c *cloud) aZone(_ context.Context, existing *part) (params map[string]string, err error) {
	if existing != nil {
		return map[string]string{"zone": existing.zone}, nil
	}
	err = c.fuse.Call(false, func() error {
		params = map[string]string{"zone": c.zones[0]}
		c.zones = append(c.zones[1:], c.zones[0])
		return nil
	})
	return params, err
}

func TestCrash_likePowerVS(t *testing.T) {
	t.Parallel()
	t.Run("making the workspace", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{New: newCloud(false), Keys: []string{"network", "workspace"}}.Run(t)
	})
	t.Run("making a workspace of that name", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{Keys: []string{"network", "workspace"}, New: func(t *testing.T) crashtest.World {
			return newCloud(false, func(c *cloud) { c.named = true })(t)
		}}.Run(t)
	})
	t.Run("in the balancer of another owner", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{Keys: []string{"member", "network", "workspace"}, New: newCloud(false, func(c *cloud) { c.pooled = true })}.Run(t)
	})
	t.Run("taking over from another provider", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{Keys: []string{"network", "workspace"}, New: newCloud(false, func(c *cloud) { c.seeded = true })}.Run(t)
	})
	t.Run("using the workspace of that name", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{New: newCloud(true), Keys: []string{"network"}}.Run(t)
	})
}

func newCloud(workspaceExists bool, change ...func(*cloud)) func(*testing.T) crashtest.World {
	return func(t *testing.T) crashtest.World {
		w := newToy(t)
		c := &cloud{zones: []string{"dal10", "dal12"}, parts: map[string]*part{}}
		for _, change := range change {
			change(c)
		}
		theirs := []*part{c.add(part{name: "other", theirs: true})}
		if workspaceExists {
			theirs = append(theirs, c.add(part{name: "shared", zone: "wdc06", theirs: true}))
		}
		if c.seeded {
			c.seed(w.fixture)
		}
		w.open = func(e *graph.Engine, owner *bmmv1.NvidiaBMMCluster, f *crashtest.Fuse) (*graph.Graph, func(), error) {
			c.fuse = f
			return c.open(e, owner)
		}
		w.pass = func() { maps.DeleteFunc(c.parts, func(_ string, p *part) bool { return p.deleting }) }
		w.outside = func() (keys []string) {
			for _, p := range c.parts {
				switch {
				case p.theirs:
				case p.in == anothersBalancer:
					keys = append(keys, "member")
				case p.in != "":
					keys = append(keys, "network")
				default:
					keys = append(keys, "workspace")
				}
				if zone := c.parts[p.in]; p.in != "" && p.in != anothersBalancer && (zone == nil || zone.zone != p.zone) {
					keys = append(keys, "a network outside of its workspace's zone")
				}
			}
			return keys
		}
		w.untouched = func() error {
			if len(c.astray) > 0 {
				return fmt.Errorf("asked to go while they were wanted: %v", c.astray)
			}
			for _, p := range theirs {
				if now := c.parts[p.id]; now == nil || now.deleting {
					return fmt.Errorf("workspace %q is gone", p.name)
				}
			}
			return nil
		}
		return w
	}
}

// anothersBalancer is made by another owner, whose ledger knows it.
const anothersBalancer = "balancer-1"

func (c *cloud) open(e *graph.Engine, owner *bmmv1.NvidiaBMMCluster) (*graph.Graph, func(), error) {
	c.mayDelete = owner.DeletionTimestamp != nil
	workspaces := c.kind("workspace", "", func(_ context.Context, key graph.Key) ([]part, error) {
		return c.find(func(p *part) bool { return p.in == "" && p.name == key.Title })
	})
	networks := c.kind("network", "workspace", func(_ context.Context, key graph.Key) ([]part, error) {
		return c.find(func(p *part) bool { return p.in == key.Scope["workspace"] && p.name == key.Name+"-"+key.Owner })
	})
	members := c.kind("member", "balancer", func(_ context.Context, key graph.Key) ([]part, error) {
		return c.find(func(p *part) bool { return p.in == key.Scope["balancer"] && p.name == key.Name+"-"+key.Owner })
	})
	if !c.mayDelete { // or else its owner was deleted first, and the ledger says where members are
		members.Scope = func(string) graph.Scope { return graph.Scope{"balancer": anothersBalancer} }
	}
	g, err := e.New(context.Background(), owner, []string{"any"}, workspaces, networks, members)
	claim := graph.UseOrCreate("shared")
	if c.named {
		claim = graph.CreateNamed("shared")
	}
	return g, func() {
		workspace := graph.Add(g, workspaces, graph.Want[part]{
			Key: "workspace", Condition: "WorkspaceReady", Claim: claim, Choose: c.aZone,
			Create: func(_ context.Context, key graph.Key) (graph.Call[part], error) {
				return c.create(part{name: key.Title, zone: key.Params["zone"]}), nil
			},
		})
		if !c.known(g) {
			return
		}
		network := graph.Add(g, networks, graph.Want[part]{
			Key: "network", Condition: "NetworkReady", After: []graph.Ref{workspace},
			Create: func(_ context.Context, key graph.Key) (graph.Call[part], error) {
				name := key.Name + "-" + key.Owner
				return c.create(part{name: name, in: key.Scope["workspace"], zone: workspace.Object().zone}), nil
			},
		})
		if !c.pooled || g.ID("network") == "" && c.later(g) {
			return
		}
		graph.Add(g, members, graph.Want[part]{
			Key: "member", Condition: "MemberReady", After: []graph.Ref{network},
			Create: func(_ context.Context, key graph.Key) (graph.Call[part], error) {
				return c.create(part{name: key.Name + "-" + key.Owner, in: key.Scope["balancer"]}), nil
			},
		})
	}, err
}

// known reports whether it is known which networks are wanted: those of the zone that was chosen, if a lookup says that it has any.
func (c *cloud) known(g *graph.Graph) bool {
	switch {
	case !c.pooled:
		return true
	case g.Param("workspace", "zone") == "":
		return !c.later(g)
	}
	err := c.fuse.Call(false, func() error { return nil })
	if err != nil {
		g.Keep("network", "the zones can't be looked up")
		g.Keep("member", "the zones can't be looked up")
		g.Gate("ZonesKnown", func() phases.Phase { return phases.Of(err) })
	}
	return err == nil
}

// later says that there is more to make.
func (c *cloud) later(g *graph.Graph) bool {
	g.Gate("AllWanted", func() phases.Phase { return phases.Waiting("more is wanted when that is made") })
	return true
}

// seed writes the ledger from what another provider says. IDs are those of one world: no two ledgers may have the same.
func (c *cloud) seed(f *fixture) {
	f.t.Helper()
	c.fuse = crashtest.Unbroken()
	workspace, network := f.name.Name+"-workspace", f.name.Name+"-network"
	c.parts[workspace] = &part{id: workspace, name: "theirs-workspace", zone: "wdc06"}
	c.parts[network] = &part{id: network, name: "theirs-network", in: workspace, zone: "wdc06"}
	none := func(context.Context, graph.Key) ([]part, error) { return nil, nil }
	kinds := []graph.AnyKind{c.kind("workspace", "", none), c.kind("network", "workspace", none)}
	f.Expect(f.engine().Seed(f.t.Context(), f.owner(), "", []string{"any"}, kinds,
		ledgers.Resource{Key: "workspace", Kind: "workspace", ID: workspace, Own: true},
		ledgers.Resource{Key: "network", Kind: "network", ID: network, Own: true, Scope: graph.Scope{"workspace": workspace}})).To(Succeed())
}
