package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// The claim changes while the service is working, and the answer comes then.
func TestClaim_changesInMidCreate(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ from, to func(id string) graph.Claim }{
		"another name":    {func(string) graph.Claim { return graph.CreateNamed("first") }, func(string) graph.Claim { return graph.CreateNamed("second") }},
		"another name 2":  {func(string) graph.Claim { return graph.UseOrCreate("first") }, func(string) graph.Claim { return graph.UseOrCreate("second") }},
		"the user's own":  {func(string) graph.Claim { return graph.Create() }, graph.Use},
		"create to named": {func(string) graph.Claim { return graph.Create() }, func(string) graph.Claim { return graph.CreateNamed("second") }},
	} {
		for _, lost := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, lost answer %t", name, lost), func(t *testing.T) {
				t.Parallel()
				f := inMemory(t)
				f.pool = &creates.Pool{Limit: 10, Patience: time.Millisecond}
				theirs := f.put("theirs")
				answer := make(chan struct{})
				first := true
				run := func(claim graph.Claim) string {
					owner := f.owner()
					g, kind := f.graphOf(owner)
					w := f.want("lonely")
					w.Claim = claim
					w.Update = nil
					w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
						hangs := first
						first = false
						return func(context.Context) (*thing, error) {
							o, err := f.service.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
							o.title = key.Title
							if hangs {
								<-answer
								if lost {
									return nil, errors.New("connection reset")
								}
							}
							return o, err
						}, nil
					}
					graph.Add(g, kind, w)
					_, _ = g.Reconcile(t.Context())
					c := meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady")
					if c == nil {
						return ""
					}
					return string(c.Status) + " " + c.Reason + " " + c.Message
				}
				run(row.from(theirs.id))
				run(row.to(theirs.id))
				close(answer)
				f.Eventually(func() string {
					last := run(row.to(theirs.id))
					f.service.finish()
					f.clock.Step(settle)
					if e := f.ledger().Entry("lonely"); e == nil || e.Title != "second" && e.ID != theirs.id {
						return fmt.Sprintf("%s; %+v", last, e)
					}
					return last
				}).Should(Equal("True Ready "))
			})
		}
	}
}

// After a restart the cache has the owner as it was before its claim changed. What was attempted for the newer one is there already.
func TestClaim_thatIsBehindTakesNothingAway(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	stale := f.owner()
	newer := f.owner()
	newer.Generation = 2
	f.Expect(f.client.Update(t.Context(), newer)).To(Succeed())
	f.service.after = func(call string) error {
		if call == "create lonely" {
			return errors.New("connection reset")
		}
		return nil
	}
	_ = f.round(f.owner(), graph.CreateNamed("second"))
	f.service.after = nil
	f.Expect(f.ledger().Entry("lonely").State).To(Equal(ledgerv1.Pending))
	_ = f.round(stale, graph.CreateNamed("first"))
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.calls)
}

func TestClaim_ofAnotherNameTakesWhatHasThat(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.put("first")
	second := f.put("second")
	f.Expect(f.round(f.owner(), graph.UseOrCreate("first"))).To(Succeed())
	for range 3 {
		f.Expect(f.round(f.owner(), graph.UseOrCreate("second"))).To(Succeed())
	}
	f.Expect(f.ledger().Entry("lonely").ID).To(Equal(second.id))
}

func TestClaim_ofAnotherNameIsNoChangeOfTheNameOutside(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.CreateNamed("first"))).To(Succeed())
	owner := f.owner()
	for range 3 {
		owner = f.owner()
		f.Expect(f.round(owner, graph.CreateNamed("second"))).To(Succeed())
	}
	c := meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady")
	e := f.ledger().Entry("lonely")
	f.Expect(e.Title == "second" || c.Status != metav1.ConditionTrue).To(BeTrue(), "%s %s; %+v", c.Status, c.Message, e)
}

// A claim changed while its create was running, and changes back when its answer is known and its deletion was requested.
func TestClaim_thatChangesBackWhileItIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, tagged := range []bool{true, false} {
		f := inMemory(t)
		change := func(k *graph.Kind[thing]) {
			if !tagged {
				k.Tag = nil
			}
		}
		f.pool = &creates.Pool{Limit: 4, Patience: time.Millisecond}
		answer := make(chan struct{})
		f.slowly = func() { <-answer }
		run := func(name string) error {
			g, kind := f.graphOf(f.owner(), change)
			w := f.want("lonely")
			w.Update = nil
			w.Claim = graph.CreateNamed(name)
			create := w.Create
			w.Create = func(ctx context.Context, key graph.Key) (graph.Call[thing], error) {
				call, err := create(ctx, key)
				return func(ctx context.Context) (*thing, error) {
					made, err := call(ctx)
					if made != nil {
						f.service.mu.Lock()
						f.service.things[made.id].title = name
						f.service.mu.Unlock()
					}
					return made, err
				}, err
			}
			graph.Add(g, kind, w)
			_, err := g.Reconcile(t.Context())
			return err
		}
		_ = run("first")
		_ = run("second")
		close(answer)
		f.Eventually(func() int { // bound, and asked to go
			_ = run("second")
			return f.service.called("delete id-1")
		}).Should(Equal(1))
		f.slowly = nil
		for range 3 {
			_ = run("first") // back again, while it is being deleted
		}
		f.service.finish()
		f.Eventually(func(g Gomega) {
			_ = run("first")
			f.clock.Step(settle)
			f.service.finish()
			e := f.ledger().Entry("lonely")
			g.Expect(e).NotTo(BeNil())
			g.Expect(e.State).To(Equal(ledgerv1.Bound))
		}).Should(Succeed(), "tagged %t: %v", tagged, f.service.calls)
		f.Expect(f.service.keys()).To(HaveLen(1), "tagged %t: %v", tagged, f.service.calls)
	}
}

// What was created for a claim that has changed since is gone: then the spec gets what it asks for now.
func TestClaimChanged_endsWhenWhatWasCreatedIsGone(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]graph.Claim{"another name": graph.CreateNamed("another"), "one of the user's own": graph.Use("id-1")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.put("own")
			f.Expect(f.round(f.owner(), graph.CreateNamed("name"))).To(Succeed())
			owner, made := f.owner(), f.ledger().Entry("lonely").ID
			f.Expect(f.round(owner, claim)).To(Succeed())
			f.expectCondition(owner, "lonelyReady", metav1.ConditionFalse, "ClaimChanged", "was created")
			delete(f.service.things, made)
			f.Expect(f.round(f.owner(), claim)).To(Succeed())
			owner = f.owner()
			f.Expect(f.round(owner, claim)).To(Succeed())
			f.expectCondition(owner, "lonelyReady", metav1.ConditionTrue, "Ready", "")
			f.Expect(f.ledger().Entry("lonely").ID).NotTo(Equal(made))
		})
	}
}
