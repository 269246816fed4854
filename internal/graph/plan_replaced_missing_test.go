package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// What an unanswered create has made is deleted, because the spec names one of the user's own in its place, and that doesn't exist. The plan says
// both.
func TestPlan_deletesAnAttemptForWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*graph.Kind[thing]){"with tags": func(*graph.Kind[thing]) {}, "without tags": untagged} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			lostAnswer(f, "create group")
			g, kind := f.graphOf(f.owner(), change)
			graph.Add(g, kind, f.want("group"))
			_, _ = g.Reconcile(t.Context())
			f.service.after = nil
			g, kind = f.graphOf(f.owner(), change)
			w := f.want("group")
			w.Claim, w.Update = graph.Use("missing"), nil
			graph.Add(g, kind, w)
			var plan []graph.Step
			f.Expect(func() { plan = g.Plan(t.Context()) }).NotTo(Panic())
			f.Expect(plan).To(ContainElements(HaveField("Action", graph.ActionDelete), HaveField("Action", graph.ActionFail)), "%+v", plan)
		})
	}
}
