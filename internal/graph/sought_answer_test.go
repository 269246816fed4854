package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// Without tags: the user's own is added while a create under another key is running, and what that makes is searched for. The answer of the create
// is still there for its own key, which comes later: what was made is bound at once, and a refusal is noted.
func TestSeek_leavesTheAnswerOfAnotherKeyAlone(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"it was made": nil, "it was refused": &fault.Error{Class: fault.Quota, Op: "create"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.pool = &creates.Pool{Limit: 4}
			queue, own, answer := f.woken(), f.put(""), make(chan struct{})
			late := func(k *graph.Kind[thing]) {
				untagged(k)
				k.Find = func(context.Context, graph.Key) ([]thing, error) { return nil, nil }
			}
			round := func(uses bool) {
				g, kind := f.graphOf(f.owner(), late)
				if uses {
					w := f.want("own")
					w.Claim, w.Update = graph.Use(own.id), nil
					graph.Add(g, kind, w)
				}
				w := f.want("group")
				w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
					return func(context.Context) (*thing, error) {
						<-answer
						if refusal != nil {
							return nil, refusal
						}
						return f.service.create(graph.Tag{Key: key.Name})
					}, nil
				}
				graph.Add(g, kind, w)
				_, _ = g.Reconcile(t.Context())
			}
			round(false)
			f.Expect(f.ledger().Entry("group").State).To(Equal(ledgerv1.Pending))
			close(answer)
			f.Eventually(queue.Len).Should(Equal(1), "it is answered")
			round(true)
			if refusal != nil {
				f.Expect(f.ledger().Entry("group")).To(And(HaveField("State", ledgerv1.Refused), HaveField("Refusal", string(fault.Quota))))
				return
			}
			f.Expect(f.ledger().Entry("group")).To(And(HaveField("State", ledgerv1.Bound), HaveField("ID", "id-2")))
		})
	}
}
