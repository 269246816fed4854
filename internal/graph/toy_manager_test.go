package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// manager is shaped like the Infrastructure Manager: one resource that is everything, whose tag is known only from the
// record itself, so that a lookup costs a call for each record; records that come back after they were deleted, and that aren't
// configured before that was requested a second time. Their answer goes into a Secret, and two Secrets log in.
type manager struct {
	fuse    *crashtest.Fuse
	next    int
	records map[string]*record
	// deleted records come back after some time, once.
	deleted map[string]*record
}

type record struct {
	id   string
	tag  graph.Tag
	back bool
	// unconfigured until it is asked to configure itself; asked is how often it was.
	unconfigured bool
	asked        int
}

// configure is the remedy for a record that isn't. It is limited, because each asks for all of it again.
func (m *manager) configure(_ context.Context, r *record) error {
	return m.fuse.Call(true, func() error {
		known, ok := m.records[r.id]
		if !ok {
			return errors.New("404")
		}
		known.unconfigured = false
		known.asked++
		return nil
	})
}

// answer is the Secret with what a record has answered.
func (m *manager) answer(owner string, of *graph.Handle[record]) func(context.Context) (client.Object, error) {
	return func(context.Context) (client.Object, error) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: owner + "-answer"}}
		return secret, m.fuse.Call(false, func() error {
			secret.Data = map[string][]byte{"id": []byte(of.ID())}
			return nil
		})
	}
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
		Phase: func(r *record) phases.Phase {
			if r.unconfigured {
				return phases.Failed("record %s is unconfigured", r.id)
			}
			return phases.Ready()
		},
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
	w := newToy(t)
	m := &manager{records: map[string]*record{}, deleted: map[string]*record{}}
	for i := range 3 {
		id := fmt.Sprintf("theirs-%d", i)
		m.records[id] = &record{id: id, tag: graph.Tag{Owner: "somebody", Key: "infrastructure"}}
	}
	w.open = func(e *graph.Engine, owner *bmmv1.NvidiaBMMCluster, f *crashtest.Fuse) (*graph.Graph, func(), error) {
		m.fuse = f
		kind := m.kind()
		g, err := e.New(w.t.Context(), owner, []string{"default/cloud", "default/manager"}, kind)
		return g, func() {
			made := graph.Add(g, kind, graph.Want[record]{
				Key: "infrastructure", Condition: "InfrastructureReady",
				Repair: &graph.Repair[record]{Remedy: m.configure, Limits: graph.Limits{Most: mostRemedies}},
				Create: func(_ context.Context, key graph.Key) (graph.Call[record], error) {
					tag := graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token}
					return func(context.Context) (made *record, err error) {
						err = m.fuse.Call(true, func() error {
							m.next++
							made = &record{id: fmt.Sprintf("ours-%d", m.next), tag: tag, unconfigured: true}
							m.records[made.id] = made
							return nil
						})
						return made, err
					}, nil
				},
			})
			g.Put(graph.Object{Key: "answer", Condition: "AnswerStored", After: []graph.Ref{made}, Make: m.answer(owner.Name, made)})
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
				return errors.New("a record of another owner is gone")
			}
		}
		for _, r := range m.records {
			if r.asked > 1+1 { // a process that dies afterwards doesn't know what came of it
				return fmt.Errorf("record %s was configured %d times", r.id, r.asked)
			}
		}
		return nil
	}
	return w
}
