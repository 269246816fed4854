package graph_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/graph"
)

// The spec doesn't ask for the user's own any more. The ledger was written, and the process was killed (or its patch of the status met
// a conflict) before the status was: it keeps showing what was released, because Graph.Names and Graph.Unproven say so.
func TestRelease_isRememberedUntilTheStatusSaysSo(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	run := func(owner showing, asks bool) *metav1.Condition {
		g, kind := f.graphOf(owner)
		net := graph.Add(g, kind, f.want("net"))
		if asks {
			w := f.want("peering", net)
			w.Claim = graph.UseOrCreate("theirs")
			graph.Add(g, kind, w)
		}
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		return meta.FindStatusCondition(owner.Status.Conditions, "Ready")
	}
	run(showing{f.owner(), nil}, true)
	f.Expect(f.ledger().Entry("peering").Foreign).To(BeTrue())
	run(showing{f.owner(), []string{"id-2", theirs.id}}, false) // released; this one's status is never written
	f.Expect(f.ledger().Entry("peering")).To(BeNil())
	var c *metav1.Condition
	for range 5 {
		f.clock.Step(time.Hour)
		owner := showing{f.owner(), []string{"id-2", theirs.id}}
		c = run(owner, false)
	}
	f.Expect(c.Reason).NotTo(Equal("Unproven"), c.Message)
}

// A deletion: of two of the user's own one was released when the process was killed.
func TestRelease_ofOneOfTwoThenAKill(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	one, two := f.put("one"), f.put("two")
	g, kind := f.graphOf(f.owner())
	net := graph.Add(g, kind, f.want("net"))
	for _, title := range []string{"one", "two"} {
		w := f.want("peering/"+title, net)
		w.Claim = graph.UseOrCreate(title)
		graph.Add(g, kind, w)
	}
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	shown := func() showing { return showing{f.owner(), []string{one.id, two.id, "id-3"}} }
	// ours is deleted, and the first of the user's own released; then the process is killed
	g, _ = f.graphOf(shown())
	_, _, _ = g.Delete(t.Context())
	f.service.finish()
	writes := 0
	f.write = func() error {
		if writes++; writes > 2 {
			return errors.New("killed")
		}
		return nil
	}
	g, _ = f.graphOf(shown())
	_, _, _ = g.Delete(t.Context())
	f.write = nil
	t.Logf("ledger after the kill: %+v", f.ledger().Spec.Entries)
	done := false
	var owner showing
	for range 10 {
		f.clock.Step(time.Hour)
		owner = shown()
		g, _ = f.graphOf(owner)
		if done, _, _ = g.Delete(t.Context()); done {
			break
		}
	}
	f.Expect(done).To(BeTrue(), "%v", meta.FindStatusCondition(owner.Status.Conditions, "Ready"))
}

// The user's network is renamed outside and in the spec. A new process has the owner from before that, beside the ledger from after.
func TestRelease_notForASpecOfBefore(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("first")
	f.Expect(f.round(f.owner(), graph.UseOrCreate("first"))).To(Succeed())
	stale := f.owner()
	newer := f.owner()
	newer.Generation = 2
	f.Expect(f.client.Update(t.Context(), newer)).To(Succeed())
	theirs.title = "second"
	for range 3 {
		f.Expect(f.round(f.owner(), graph.UseOrCreate("second"))).To(Succeed())
	}
	f.Expect(f.ledger().Entry("lonely").Title).To(Equal("second"))
	for range 2 {
		_ = f.round(stale, graph.UseOrCreate("first"))
	}
	owner := f.owner()
	for range 5 {
		owner = f.owner()
		f.Expect(f.round(owner, graph.UseOrCreate("second"))).To(Succeed())
	}
	c := meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady")
	if n := f.service.called("create lonely"); n != 0 {
		t.Errorf("%d created for a spec of before", n)
	}
	f.Expect(c.Status).To(Equal(metav1.ConditionTrue), "%s: %s", c.Reason, c.Message)
}

// The user's own leaves the spec while the owner in the cache doesn't show it yet: the status that does was written a moment ago.
func TestRelease_byAnOwnerThatDoesNotShowItYet(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	run := func(owner showing, asks bool) string {
		g, kind := f.graphOf(owner)
		net := graph.Add(g, kind, f.want("net"))
		if asks {
			w := f.want("peering", net)
			w.Claim = graph.UseOrCreate("theirs")
			graph.Add(g, kind, w)
		}
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		c := meta.FindStatusCondition(owner.Status.Conditions, "Ready")
		return c.Reason + ": " + c.Message
	}
	run(showing{f.owner(), nil}, true)
	f.Expect(f.ledger().Entry("peering").Foreign).To(BeTrue())
	run(showing{f.owner(), nil}, false) // the spec of after it, the status of before it
	f.Expect(f.ledger().Entry("peering")).To(BeNil())
	why := ""
	for range 5 {
		f.clock.Step(time.Hour)
		why = run(showing{f.owner(), []string{"id-2", theirs.id}}, false) // as the server has it; bmm keeps showing what is unproven
	}
	f.Expect(why).NotTo(HavePrefix("Unproven"))
}

// A deletion of more of the user's own than a ledger remembers, and the process is killed.
func TestRelease_ofMoreThanAreRememberedThenAKill(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	var ids []string
	g, kind := f.graphOf(f.owner())
	for i := range 70 {
		theirs := f.put("theirs")
		ids = append(ids, theirs.id)
		w := f.want(fmt.Sprintf("peering/%02d", i))
		w.Claim = graph.Use(theirs.id)
		graph.Add(g, kind, w)
	}
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	writes := 0
	f.write = func() error {
		if writes++; writes > 68 {
			return errors.New("killed")
		}
		return nil
	}
	g, _ = f.graphOf(showing{f.owner(), ids})
	_, _, _ = g.Delete(t.Context())
	f.write = nil
	f.Expect(f.ledger().Spec.Entries).To(HaveLen(2))
	owner, done := f.deletes(ids...)
	f.Expect(done).To(BeTrue(), "%v", meta.FindStatusCondition(owner.Status.Conditions, "Ready"))
}
