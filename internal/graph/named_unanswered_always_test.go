package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
)

// As TestOwn_withoutATagIsUsedBesideACreateThatIsAlwaysRefused, but the create is never answered. Each attempt settles, and nothing was made; the
// next one begins before the user's own is looked at.
func TestOwn_withoutATagIsUsedBesideACreateThatIsNeverAnswered(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	own := f.put("")
	f.service.failing("create group", errors.New("504"))
	var owner *bmmv1.NvidiaBMMCluster
	for range 120 {
		owner = f.owner()
		g, kind := f.graphOf(owner, untagged)
		graph.Add(g, kind, f.want("group"))
		w := f.want("own")
		w.Claim, w.Update = graph.Use(own.id), nil
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(settle / 4)
	}
	is, group := meta.FindStatusCondition(owner.Status.Conditions, "ownReady"), meta.FindStatusCondition(owner.Status.Conditions, "groupReady")
	f.Expect(f.service.called("create group")).To(BeNumerically(">", 10))
	f.Expect(is.Reason).To(Equal("Ready"), "own: %s; group: %s %s", is.Message, group.Reason, group.Message)
}
