package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Rule 1, 7: what an unanswered create has made is being deleted by another client when its key leaves the spec, and one of its name is
// created under another key, without an answer, too. The service fails to delete the first one, so that it is as before. It is ours.
func TestBefore_isNotWhatAnotherAttemptMayHaveMade(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	only := func(key string) {
		g, k := f.graphOf(f.owner(), titled)
		graph.Add(g, k, f.claims(key, graph.CreateNamed("n")))
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	lostAnswer(f, "create old")
	only("old")
	f.service.things["id-1"].deleting = true
	lostAnswer(f, "create new")
	only("new")
	f.service.after = nil
	f.service.things["id-1"].deleting = false
	for range 3 {
		only("new")
	}
	t.Logf("%v %+v", f.service.changes(), f.ledger().Spec.Entries)
	f.deleteOwner(titled)
	f.Expect(f.service.things).To(BeEmpty(), "%v %+v", f.service.changes(), f.ledger().Spec)
}

// The same where nothing has the name: what is made under the new key isn't deleted under the old one.
func TestAttempt_ofAnOldKeyIsNotGivenWhatANewKeyMakes(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	only := func(key string) {
		g, k := f.graphOf(f.owner(), titled)
		graph.Add(g, k, f.claims(key, graph.CreateNamed("n")))
		_, _ = g.Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	lostAnswer(f, "create old")
	only("old")
	delete(f.service.things, "id-1")
	lostAnswer(f, "create new")
	for range 4 {
		only("new")
	}
	f.Expect(f.service.changes()).To(Equal([]string{"create old", "create new"}))
	f.Expect(f.ledger().Entry("new")).To(HaveField("ID", "id-2"))
}
