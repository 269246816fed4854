package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: what a create comes after is the user's own, and is gone before the create is answered. Its condition says to name another
// one. The create isn't searched for before that is ready, and that isn't used before the create has been searched for.
func TestOwn_withoutATagIsReplacedWhileWhatComesAfterItIsPending(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]bool{"a create that was done": true, "a create that was lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			first, second := f.put(""), f.put("")
			round := func(own string) *bmmv1.NvidiaBMMCluster {
				owner := f.owner()
				g, kind := f.graphOf(owner, untagged)
				w := f.want("net")
				w.Claim, w.Update = graph.Use(own), nil
				graph.Add(g, kind, f.want("left", graph.Add(g, kind, w)))
				_, _ = g.Reconcile(t.Context())
				f.clock.Step(2 * settle)
				return owner
			}
			if made {
				lostAnswer(f, "create left")
			} else {
				f.service.failing("create left", errors.New("connection reset"))
			}
			round(first.id)
			f.service.before, f.service.after = nil, nil
			delete(f.service.things, first.id)
			owner := round(first.id)
			f.expectCondition(owner, "netReady", "False", "Missing", "name another one in the spec")
			for range 6 {
				owner = round(second.id) // the remedy that the condition names
			}
			net, left := meta.FindStatusCondition(owner.Status.Conditions, "netReady"), meta.FindStatusCondition(owner.Status.Conditions, "leftReady")
			f.Expect(net.Reason).To(Equal("Ready"), "net: %s; left: %s", net.Message, left.Message)
			f.Expect(left.Reason).To(Equal("Ready"), left.Message)
		})
	}
}
