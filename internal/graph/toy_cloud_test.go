package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
)

// cloud is shaped like PowerVS: no tags, names that several may have, zones that are known at run time only, networks that
// are listed within their workspace.
type cloud struct {
	fuse  *crashtest.Fuse
	zones []string
	// named: the workspace's name is to be ours alone.
	named bool
	next  int
	parts map[string]*part
	// lostRequests never arrive, lostAnswers are never heard.
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
		Phase: func(p *part) graph.Phase {
			if p.deleting {
				return graph.Deleting()
			}
			return graph.Ready()
		},
		Delete: func(_ context.Context, id string, in graph.Scope) error {
			return c.fuse.Call(true, func() error {
				p, ok := c.parts[id]
				if !ok || p.in != in[within] {
					return notFound(id)
				}
				p.deleting = true
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

// aZone chooses one of those that are up; which one is up changes with every look. What exists is in a zone.
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
	t.Run("using the workspace of that name", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{New: newCloud(true), Keys: []string{"network"}}.Run(t)
	})
}

func newCloud(workspaceExists bool, change ...func(*cloud)) func(*testing.T) crashtest.World {
	return func(t *testing.T) crashtest.World {
		w := &toy{fixture: newFixture(t)}
		c := &cloud{zones: []string{"dal10", "dal12"}, parts: map[string]*part{}}
		for _, change := range change {
			change(c)
		}
		theirs := []*part{c.add(part{name: "other", theirs: true})}
		if workspaceExists {
			theirs = append(theirs, c.add(part{name: "shared", zone: "wdc06", theirs: true}))
		}
		w.open = func(e *graph.Engine, owner *bmmv1.NvidiaBMMMachine, f *crashtest.Fuse) (*graph.Graph, func(), error) {
			c.fuse = f
			return c.open(e, owner)
		}
		w.pass = func() { maps.DeleteFunc(c.parts, func(_ string, p *part) bool { return p.deleting }) }
		w.outside = func() (keys []string) {
			for _, p := range c.parts {
				switch {
				case p.theirs:
				case p.in != "":
					keys = append(keys, "network")
				default:
					keys = append(keys, "workspace")
				}
				if zone := c.parts[p.in]; p.in != "" && (zone == nil || zone.zone != p.zone) {
					keys = append(keys, "a network outside of its workspace's zone")
				}
			}
			return keys
		}
		w.untouched = func() error {
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

func (c *cloud) open(e *graph.Engine, owner *bmmv1.NvidiaBMMMachine) (*graph.Graph, func(), error) {
	workspaces := c.kind("workspace", "", func(_ context.Context, key graph.Key) ([]part, error) {
		return c.find(func(p *part) bool { return p.in == "" && p.name == key.Title })
	})
	networks := c.kind("network", "workspace", func(_ context.Context, key graph.Key) ([]part, error) {
		return c.find(func(p *part) bool { return p.in == key.Scope["workspace"] && p.name == key.Name+"-"+key.Owner })
	})
	g, err := e.New(context.Background(), owner, []string{"any"}, workspaces, networks)
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
		graph.Add(g, networks, graph.Want[part]{
			Key: "network", Condition: "NetworkReady", After: []graph.Ref{workspace},
			Create: func(_ context.Context, key graph.Key) (graph.Call[part], error) {
				name := key.Name + "-" + key.Owner
				return c.create(part{name: name, in: key.Scope["workspace"], zone: workspace.Object().zone}), nil
			},
		})
	}, err
}
