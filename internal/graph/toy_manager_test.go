package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
)

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
	get := func(_ context.Context, id string, _ graph.Scope) (r *record, err error) {
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
				r, err := get(ctx, id, nil)
				if err != nil {
					return nil, err
				}
				found = append(found, *r)
			}
			return found, nil
		},
		Delete: func(_ context.Context, id string, _ graph.Scope) error {
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
		g, err := e.New(w.t.Context(), owner, []string{"any"}, kind)
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
