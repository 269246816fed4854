package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// What has waited for a lookup is reconciled again in the same round, and so is what comes after it. The service of that hasn't answered
// before: it isn't called again, and its error counts.
func TestAgain_keepsTheErrorOfAServiceThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("first")))
		graph.Add(g, k, f.claims("node", graph.Create()))
	})
	f.service.after = nil
	node := f.ledger().Entry("node").ID
	f.service.failing("get "+node, &fault.Error{Class: fault.Transient, Op: "get", Err: context.DeadlineExceeded})

	owner := f.owner()
	g, k := f.graphOf(owner, as)
	group := graph.Add(g, k, f.claims("group", graph.CreateNamed("second")))
	graph.Add(g, k, f.claims("node", graph.Create(), group))
	gate := g.Gate("BetweenReady", phases.Ready)
	graph.Add(g, k, f.claims("own", finding(theirs.id), gate))
	_, err := g.Reconcile(t.Context())
	f.Expect(err).To(MatchError(context.DeadlineExceeded))
	f.expectCondition(owner, "nodeReady", metav1.ConditionUnknown, "Transient", "deadline exceeded")
}
