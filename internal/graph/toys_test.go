package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// toy is a world of the crash suite: an owner, and a service that remembers its clients.
type toy struct {
	*fixture
	// open makes the graph of the owner; want adds what its spec asks for.
	open func(e *graph.Engine, owner *bmmv1.NvidiaBMMCluster, f *crashtest.Fuse) (g *graph.Graph, want func(), err error)
	// outside, untouched and pass are those of the service.
	outside   func() []string
	untouched func() error
	pass      func()
}

func newToy(t *testing.T) *toy {
	api, namespace := crashtest.API(t)
	return &toy{fixture: newFixtureIn(t, api, namespace)}
}

func (w *toy) Reconcile(ctx context.Context, f *crashtest.Fuse) error {
	c := f.Client(w.client)
	owner := &bmmv1.NvidiaBMMCluster{}
	if err := c.Get(ctx, w.name, owner); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := owner.DeepCopy()
	e := &graph.Engine{Store: &ledgers.Store{Client: c, Live: f.Live(w.client)}, Recorder: w.events, Clock: w.clock, Poll: poll, Settle: settle, Creates: w.pool}
	g, want, err := w.open(e, owner, f)
	if err != nil {
		return err
	}
	if owner.DeletionTimestamp != nil {
		_, err = g.DeleteAndRelease(ctx, finalizer)
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
	err := w.client.Get(w.t.Context(), w.name, &bmmv1.NvidiaBMMCluster{})
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil
}
func (w *toy) Pass()             { w.pass(); w.clock.Step(settle) }
func (w *toy) Outside() []string { return w.outside() }
func (w *toy) Untouched() error  { return w.untouched() }

func (s *service) kindOf(change func(*graph.Kind[thing])) *graph.Kind[thing] {
	kind := s.kind()
	change(kind)
	return kind
}

// untagged is a kind whose service keeps no tags.
func untagged(k *graph.Kind[thing]) { k.Tag = nil }

// titled is one that is found by its title besides.
func titled(k *graph.Kind[thing]) {
	untagged(k)
	find := k.Find
	k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
		all, err := find(ctx, key)
		return slices.DeleteFunc(all, func(t thing) bool { return t.title != key.Title }), err
	}
}
