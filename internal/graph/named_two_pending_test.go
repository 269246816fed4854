package graph_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: the user's own waits for two creates whose outcome isn't known, because what they come after is gone. Nothing changes, so it
// is polled less and less often, and the condition says the same each time.
func TestOwn_withoutATagThatWaitsForTwoCreatesComesToRest(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	first, second := f.put(""), f.put("")
	f.service.before = func(call string) error {
		if strings.HasPrefix(call, "create") {
			return errors.New("connection reset")
		}
		return nil
	}
	engine, messages, requeued := f.engine(), map[string]bool{}, []time.Duration(nil)
	round := func(own bool) {
		owner, kind := f.owner(), f.service.kind()
		untagged(kind)
		g, err := engine.New(t.Context(), owner, []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		w := f.want("net")
		w.Claim, w.Update = graph.Use(first.id), nil
		net := graph.Add(g, kind, w)
		graph.Add(g, kind, f.want("left", net))
		graph.Add(g, kind, f.want("right", net))
		if own {
			w := f.want("own")
			w.Claim, w.Update = graph.Use(second.id), nil
			graph.Add(g, kind, w)
		}
		result, _ := g.Reconcile(t.Context())
		if c := meta.FindStatusCondition(owner.Status.Conditions, "ownReady"); c != nil {
			messages[c.Message] = true
			requeued = append(requeued, result.RequeueAfter)
		}
		f.clock.Step(2 * settle)
	}
	round(false)
	delete(f.service.things, first.id)
	for range 40 {
		round(true)
	}
	f.Expect(requeued[20:]).To(HaveEach(BeNumerically(">=", poll)), "polled as if there were progress: %v", messages)
	f.Expect(messages).To(HaveLen(1), "%v", messages)
}
