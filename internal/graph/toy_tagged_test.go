package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

func TestCrash_tagged(t *testing.T) {
	t.Parallel()
	t.Run("each create within its reconcile", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{New: newTagged, Keys: everything, Change: grow, Changed: append([]string{"grown"}, everything...)}.Run(t)
	})
	t.Run("creates in a pool", func(t *testing.T) {
		t.Parallel()
		crashtest.Suite{Keys: everything, New: func(t *testing.T) crashtest.World {
			w := newTagged(t).(*toy)
			w.pool = &creates.Pool{Limit: 1, Patience: time.Minute}
			return w
		}}.Run(t)
	})
}

func newTagged(t *testing.T) crashtest.World {
	w := newToy(t)
	theirs, err := w.service.create(graph.Tag{})
	w.Expect(err).NotTo(HaveOccurred())
	w.open = func(e *graph.Engine, owner *bmmv1.NvidiaBMMCluster, f *crashtest.Fuse) (*graph.Graph, func(), error) {
		w.service.fuse = f
		kind := w.service.kind()
		g, err := e.New(w.t.Context(), owner, []string{"any"}, kind)
		return g, func() {
			w.wants(g, kind)
			if owner.Spec.VPC.Description == grown {
				graph.Add(g, kind, w.want("grown"))
			}
		}, err
	}
	w.pass = w.service.finish
	w.outside = func() []string {
		return slices.DeleteFunc(w.service.keys(), func(key string) bool { return key == "" })
	}
	w.untouched = func() error {
		if now := w.service.things[theirs.id]; now == nil || now.deleting {
			return errors.New("a thing of another owner is gone")
		}
		return nil
	}
	return w
}

// grown is the description of an owner that wants one thing more.
const grown = "grown"

func grow(w crashtest.World) {
	owner := w.(*toy).owner()
	owner.Spec.VPC.Description = grown
	w.(*toy).Expect(w.(*toy).client.Update(context.Background(), owner)).To(Succeed())
}
