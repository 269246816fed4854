package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
)

// toy is a world of the crash suite: an owner, and a service that remembers whom it speaks to.
type toy struct {
	*fixture
	// open makes the graph of the owner; want adds what its spec asks for.
	open func(e *graph.Engine, owner *bmmv1.NvidiaBMMMachine, f *crashtest.Fuse) (g *graph.Graph, want func(), err error)
	// outside, untouched and pass are those of the service.
	outside   func() []string
	untouched func() error
	pass      func()
}

func (w *toy) Reconcile(ctx context.Context, f *crashtest.Fuse) error {
	c := f.Client(w.client)
	owner := &bmmv1.NvidiaBMMMachine{}
	if err := c.Get(ctx, w.name, owner); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := owner.DeepCopy()
	e := &graph.Engine{Client: c, Live: c, Recorder: w.events, Clock: w.clock, Poll: poll, Settle: settle, Creates: w.pool}
	g, want, err := w.open(e, owner, f)
	if err != nil {
		return err
	}
	if owner.DeletionTimestamp != nil {
		_, err = e.DeleteAndRelease(ctx, g, finalizer)
		return err
	}
	want()
	_, err = g.Reconcile(ctx)
	before.SetResourceVersion("")
	owner.SetResourceVersion("")
	return errors.Join(err, c.Status().Patch(ctx, owner, client.MergeFrom(before)))
}

func (w *toy) Ready() bool {
	return meta.IsStatusConditionTrue(w.owner().Status.Conditions, graph.ReadyCondition)
}
func (w *toy) Delete() { w.Expect(w.client.Delete(w.t.Context(), w.owner())).To(Succeed()) }
func (w *toy) Gone() bool {
	err := w.client.Get(w.t.Context(), w.name, &bmmv1.NvidiaBMMMachine{})
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil
}
func (w *toy) Pass()             { w.pass(); w.clock.Step(settle) }
func (w *toy) Outside() []string { return w.outside() }
func (w *toy) Untouched() error  { return w.untouched() }

func TestCrash_tagged(t *testing.T) {
	t.Parallel()
	t.Run("each create within its reconcile", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{New: newTagged, Keys: everything}.Run(t)
	})
	t.Run("creates in a pool", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{Keys: everything, New: func(t *testing.T) crashtest.World {
			w := newTagged(t).(*toy)
			w.pool = &graph.Pool{Limit: 1, Patience: time.Minute}
			return w
		}}.Run(t)
	})
}

func newTagged(t *testing.T) crashtest.World {
	w := &toy{fixture: newFixture(t)}
	theirs, err := w.service.create(graph.Tag{})
	w.Expect(err).NotTo(HaveOccurred())
	w.open = func(e *graph.Engine, owner *bmmv1.NvidiaBMMMachine, f *crashtest.Fuse) (*graph.Graph, func(), error) {
		w.service.fuse = f
		kind := w.service.kind()
		g, err := e.New(owner, "any", kind)
		return g, func() { w.wants(g, kind) }, err
	}
	w.pass = w.service.finish
	w.outside = func() []string {
		return slices.DeleteFunc(w.service.keys(), func(key string) bool { return key == "" })
	}
	w.untouched = func() error {
		if now := w.service.things[theirs.id]; now == nil || now.deleting {
			return errors.New("a thing of somebody else is gone")
		}
		return nil
	}
	return w
}

// cloud is shaped like PowerVS: no tags, names that several may have, zones that are known at run time only, networks that
// are listed within their workspace.
type cloud struct {
	fuse  *crashtest.Fuse
	zones []string
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

func (c *cloud) kind(name string, find func(context.Context, graph.Key) ([]part, error)) *graph.Kind[part] {
	notFound := func(id string) error {
		return &fault.Error{Class: fault.NotFound, Op: "look for " + id, Err: errors.New("404")}
	}
	return &graph.Kind[part]{
		Name: name,
		ID:   func(p *part) string { return p.id },
		Get: func(_ context.Context, id string) (p *part, err error) {
			err = c.fuse.Call(false, func() error {
				known, ok := c.parts[id]
				if !ok {
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
		Delete: func(_ context.Context, id string) error {
			return c.fuse.Call(true, func() error {
				p, ok := c.parts[id]
				if !ok {
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

// aZone chooses one of those that are up; which one is up changes with every look.
func (c *cloud) aZone(context.Context) (params map[string]string, err error) {
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
	t.Run("using the workspace of that name", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{New: newCloud(true), Keys: []string{"network"}}.Run(t)
	})
}

func newCloud(workspaceExists bool) func(*testing.T) crashtest.World {
	return func(t *testing.T) crashtest.World {
		w := &toy{fixture: newFixture(t)}
		c := &cloud{zones: []string{"dal10", "dal12"}, parts: map[string]*part{}}
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
	var g *graph.Graph
	workspaces := c.kind("workspace", func(_ context.Context, key graph.Key) ([]part, error) {
		return c.find(func(p *part) bool { return p.in == "" && p.name == key.Title })
	})
	networks := c.kind("network", func(_ context.Context, key graph.Key) ([]part, error) {
		return c.find(func(p *part) bool { return p.in == g.ID("workspace") && p.name == key.Name+"-"+key.Owner })
	})
	g, err := e.New(owner, "any", workspaces, networks)
	return g, func() {
		workspace := graph.Add(g, workspaces, graph.Want[part]{
			Key: "workspace", Condition: "WorkspaceReady", Claim: graph.UseOrCreate("shared"), Choose: c.aZone,
			Create: func(_ context.Context, key graph.Key) (graph.Call[part], error) {
				return c.create(part{name: key.Title, zone: key.Params["zone"]}), nil
			},
		})
		graph.Add(g, networks, graph.Want[part]{
			Key: "network", Condition: "NetworkReady", After: []graph.Ref{workspace},
			Create: func(_ context.Context, key graph.Key) (graph.Call[part], error) {
				name := key.Name + "-" + key.Owner
				return c.create(part{name: name, in: workspace.ID(), zone: workspace.Object().zone}), nil
			},
		})
	}, err
}

// manager is shaped like the Infrastructure Manager: one resource that is everything, whose tag is known only from the
// record itself, so that a lookup costs a call for each record; and records that come back after they were deleted.
type manager struct {
	fuse    *crashtest.Fuse
	next    int
	records map[string]*record
	// deleted records come back when time goes by, once.
	deleted map[string]*record
}

type record struct {
	id   string
	tag  graph.Tag
	back bool
}

func (m *manager) kind() *graph.Kind[record] {
	get := func(_ context.Context, id string) (r *record, err error) {
		err = m.fuse.Call(false, func() error {
			known, ok := m.records[id]
			if !ok {
				return &fault.Error{Class: fault.NotFound, Op: "get " + id, Err: errors.New("404")}
			}
			r = new(*known)
			return nil
		})
		return r, err
	}
	return &graph.Kind[record]{
		Name:      "infrastructure",
		GoneAfter: settle + settle/2,
		ID:        func(r *record) string { return r.id },
		Tag:       func(r *record) graph.Tag { return r.tag },
		Get:       get,
		Phase:     func(*record) graph.Phase { return graph.Ready() },
		Find: func(ctx context.Context, _ graph.Key) ([]record, error) {
			var ids []string
			if err := m.fuse.Call(false, func() error { ids = slices.Sorted(maps.Keys(m.records)); return nil }); err != nil {
				return nil, err
			}
			var found []record
			for _, id := range ids {
				r, err := get(ctx, id)
				if err != nil {
					return nil, err
				}
				found = append(found, *r)
			}
			return found, nil
		},
		Delete: func(_ context.Context, id string) error {
			return m.fuse.Call(true, func() error {
				if r, ok := m.records[id]; ok && !r.back {
					m.deleted[id] = r
				}
				delete(m.records, id)
				return nil
			})
		},
	}
}

func (m *manager) pass() {
	for id, r := range m.deleted {
		r.back = true
		m.records[id] = r
	}
	clear(m.deleted)
}

func TestCrash_likeAnInfrastructureManager(t *testing.T) {
	t.Parallel()
	crashtest.Suite{New: newManager, Keys: []string{"infrastructure"}}.Run(t)
}

func newManager(t *testing.T) crashtest.World {
	w := &toy{fixture: newFixture(t)}
	m := &manager{records: map[string]*record{}, deleted: map[string]*record{}}
	for i := range 3 {
		id := fmt.Sprintf("theirs-%d", i)
		m.records[id] = &record{id: id, tag: graph.Tag{Owner: "somebody", Key: "infrastructure"}}
	}
	w.open = func(e *graph.Engine, owner *bmmv1.NvidiaBMMMachine, f *crashtest.Fuse) (*graph.Graph, func(), error) {
		m.fuse = f
		kind := m.kind()
		g, err := e.New(owner, "any", kind)
		return g, func() {
			graph.Add(g, kind, graph.Want[record]{
				Key: "infrastructure", Condition: "InfrastructureReady",
				Create: func(_ context.Context, key graph.Key) (graph.Call[record], error) {
					tag := graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token}
					return func(context.Context) (made *record, err error) {
						err = m.fuse.Call(true, func() error {
							m.next++
							made = &record{id: fmt.Sprintf("ours-%d", m.next), tag: tag}
							m.records[made.id] = made
							return nil
						})
						return made, err
					}, nil
				},
			})
		}, err
	}
	w.pass = m.pass
	w.outside = func() (keys []string) {
		for _, r := range m.records {
			if !strings.HasPrefix(r.id, "theirs") {
				keys = append(keys, r.tag.Key)
			}
		}
		for range m.deleted { // they will be back
			keys = append(keys, "infrastructure")
		}
		return keys
	}
	w.untouched = func() error {
		for i := range 3 {
			if m.records[fmt.Sprintf("theirs-%d", i)] == nil {
				return errors.New("a record of somebody else is gone")
			}
		}
		return nil
	}
	return w
}
