package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// As TestOwn_withoutATagIsReplacedWhileWhatComesAfterItIsPending, but the create was refused because its name is taken, so that it may have
// been made. It has to be searched for although what it comes after isn't ready: that waits for it.
func TestOwn_withoutATagIsReplacedWhileWhatComesAfterItWasRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	first, second := f.put(""), f.put("")
	f.service.before = func(call string) error {
		if call == "create left" {
			return &fault.Error{Class: fault.Conflict, Op: "create", Err: errors.New("the name is taken")}
		}
		return nil
	}
	hidden := func(k *graph.Kind[thing]) { // what has the name isn't shown: it is another tenant's
		untagged(k)
		k.Find = func(context.Context, graph.Key) ([]thing, error) { return nil, nil }
	}
	round := func(own string) *bmmv1.NvidiaBMMCluster {
		owner := f.owner()
		g, kind := f.graphOf(owner, hidden)
		w := f.want("net")
		w.Claim, w.Update = graph.Use(own), nil
		graph.Add(g, kind, f.want("left", graph.Add(g, kind, w)))
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
		return owner
	}
	round(first.id)
	e := f.ledger().Entry("left")
	f.Expect(e).To(And(HaveField("State", ledgerv1.Refused), HaveField("Token", Not(BeEmpty()))))
	f.service.before = nil // the name is free from now on
	delete(f.service.things, first.id)
	owner := round(first.id)
	f.expectCondition(owner, "netReady", "False", "Missing", "name another one in the spec")
	for range 30 {
		owner = round(second.id) // the remedy that the condition names
	}
	net, left := meta.FindStatusCondition(owner.Status.Conditions, "netReady"), meta.FindStatusCondition(owner.Status.Conditions, "leftReady")
	f.Expect(net.Reason).To(Equal("Ready"), "net: %s; left: %s", net.Message, left.Message)
	f.Expect(left.Reason).To(Equal("Ready"), left.Message)
}
