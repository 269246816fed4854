package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: each create is refused at once because its name is taken, by what isn't shown to this tenant. It is settled each time that
// nothing was made. The user's own, which has nothing to do with it, isn't held up for good.
func TestOwn_withoutATagIsUsedBesideACreateThatIsAlwaysRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	own := f.put("")
	f.service.before = func(call string) error {
		if call == "create group" {
			return &fault.Error{Class: fault.Conflict, Op: "create", Err: errors.New("the name is taken")}
		}
		return nil
	}
	hidden := func(k *graph.Kind[thing]) {
		untagged(k)
		k.Find = func(context.Context, graph.Key) ([]thing, error) { return nil, nil }
	}
	var owner *bmmv1.NvidiaBMMCluster
	for range 40 {
		owner = f.owner()
		g, kind := f.graphOf(owner, hidden)
		graph.Add(g, kind, f.want("group"))
		w := f.want("own")
		w.Claim, w.Update = graph.Use(own.id), nil
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	is, group := meta.FindStatusCondition(owner.Status.Conditions, "ownReady"), meta.FindStatusCondition(owner.Status.Conditions, "groupReady")
	f.Expect(is.Reason).To(Equal("Ready"), "own: %s; group: %s %s", is.Message, group.Reason, group.Message)
}
