package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// keeps reconciles an owner with a site of the user's own (id-1), and a group after it: ours (id-2), the same as the user's own, or none.
func (f *fixture) keeps(group string) {
	f.t.Helper()
	g, kind := f.graphOf(f.owner())
	w := f.want("site")
	w.Claim = graph.Use("id-1")
	site := graph.Add(g, kind, w)
	switch group {
	case "ours":
		graph.Add(g, kind, f.want("group", site))
	case "theirs":
		w := f.want("group/id-2", site)
		w.Claim = graph.Use("id-2")
		graph.Add(g, kind, w)
	}
	_, _ = g.Reconcile(f.t.Context())
	f.clock.Step(2 * settle)
}

// kept is a fixture in which the user keeps the group that was made for the owner. It carries our tag.
func kept(t *testing.T) *fixture {
	t.Helper()
	f := inMemory(t)
	f.put("site")
	for _, group := range []string{"ours", "ours", "theirs", "theirs"} {
		f.keeps(group)
	}
	f.Expect(f.ledger().Spec.Entries).To(ConsistOf(
		And(HaveField("Key", "site"), HaveField("Foreign", true)), And(HaveField("Key", "group/id-2"), HaveField("Foreign", true))))
	return f
}

func (f *fixture) expectKept() {
	f.t.Helper()
	f.service.before, f.lag = nil, nil
	_, done := f.deletes()
	f.Expect(f.service.called("delete id-2")).To(BeZero(), "it is the user's own: %v", f.service.changes())
	f.Expect(done).To(BeTrue())
}

// Of two of the user's own one was released when the process was killed; that one carries our tag.
func TestTheirs_thatWereReleasedBeforeAKill(t *testing.T) {
	t.Parallel()
	f := kept(t)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	writes := 0
	f.write = func() error {
		if writes++; writes > 1 {
			return errors.New("killed")
		}
		return nil
	}
	_, done := f.delete()
	f.write = nil
	f.Expect(done).To(BeFalse())
	f.Expect(f.ledger().Spec.Entries).To(ConsistOf(HaveField("Key", "site")))
	f.expectKept()
}

// What the spec has named as the user's own leaves it again.
func TestTheirs_thatLeftTheSpecBeforeADeletion(t *testing.T) {
	t.Parallel()
	f := kept(t)
	f.keeps("")
	f.Expect(f.ledger().Spec.Entries).To(ConsistOf(HaveField("Key", "site")))
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.expectKept()
}

// The cache has the ledger from before the user kept it.
func TestTheirs_areNotDeletedByAnOlderLedger(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.put("site")
	f.keeps("ours")
	f.keeps("ours")
	before := f.ledger()
	f.Expect(before.Entry("group").Foreign).To(BeFalse())
	f.keeps("theirs")
	f.keeps("theirs")
	f.Expect(f.ledger().Entry("group")).To(BeNil())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.lag = before
	_, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.expectKept()
}

// The spec names it as the user's own, which can't be bound yet; then the owner is deleted.
func TestTheirs_thatWereNotBoundBeforeADeletion(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(f *fixture){
		"its lookup fails": func(f *fixture) {
			f.service.failing("get id-2", &fault.Error{Class: fault.Transient, Op: "get", Err: errors.New("503")})
		},
		"what it comes after isn't ready": func(f *fixture) { f.service.things["id-1"].creating = true },
	} {
		for _, after := range []bool{false, true} {
			f := inMemory(t)
			f.put("site")
			keeps := func(own bool) {
				g, kind := f.graphOf(f.owner())
				w := f.want("site")
				w.Claim = graph.Use("id-1")
				site := graph.Add(g, kind, w)
				w = f.want("group", site)
				if own {
					w = f.want("group/id-2", site)
					w.Claim = graph.Use("id-2")
				}
				group := graph.Add(g, kind, w)
				if after {
					graph.Add(g, kind, f.want("vpc", group))
				}
				_, _ = g.Reconcile(t.Context())
			}
			keeps(false)
			keeps(false)
			change(f)
			keeps(true)
			f.service.before = nil
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			_, done := f.deletes()
			f.Expect(done).To(BeTrue())
			if f.service.called("delete id-2") > 0 {
				t.Errorf("%s, with something after it %t: the spec names it as the user's own: %v", what, after, f.service.changes())
			}
		}
	}
}

// As TestTheirs_wereMadeByAnAttemptUnderTheSameKey, with a lookup that checks what the spec names (bmm: spec.vpc.id).
func TestTheirs_wereMadeByAnAttemptAndAreLookedUp(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create lonely")
	_ = f.round(f.owner(), graph.Create())
	f.service.after = nil
	claim := graph.UseChecked("id-1", func(context.Context) (string, error) { return "id-1", nil })
	for range 3 {
		_ = f.round(f.owner(), claim)
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "the spec names it: %v", f.service.calls)
}

// The user gives back the name of what they kept, then wants one of ours again: what they kept isn't taken for that.
func TestTheirs_areNotTakenBack(t *testing.T) {
	t.Parallel()
	f := kept(t)
	f.keeps("")
	f.size = 7
	f.keeps("ours")
	f.keeps("ours")
	f.Expect(f.service.called("resize id-2")).To(BeZero(), "%+v", f.ledger().Spec.Entries)
	f.Expect(f.ledger().Entry("group").ID).To(Equal("id-3"))
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.expectKept()
}

// The same, and the answer comes in the end, but only then.
func TestTheirs_wereMadeByAnAttemptThatIsAnsweredLate(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		f := inMemory(t)
		f.pool = &creates.Pool{Limit: 4, Patience: time.Millisecond}
		answer := make(chan struct{})
		round := func(claim graph.Claim) {
			g, kind := f.graphOf(f.owner())
			w := f.want("lonely")
			w.Claim = claim
			w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
				return func(context.Context) (*thing, error) {
					made, err := f.service.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
					<-answer
					return made, err
				}, nil
			}
			graph.Add(g, kind, w)
			_, _ = g.Reconcile(t.Context())
		}
		round(graph.Create())
		f.Eventually(func() int { return f.service.called("create lonely") }).Should(Equal(1))
		round(graph.Use("id-1"))
		f.Expect(f.ledger().Entry("lonely").Theirs).To(ConsistOf("id-1"))
		if deleted {
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
		}
		close(answer)
		f.Eventually(func() bool {
			f.clock.Step(2 * settle)
			if deleted {
				_, done := f.deletes()
				return done
			}
			round(graph.Create())
			e := f.ledger().Entry("lonely")
			return e != nil && e.State == ledgerv1.Bound
		}).Should(BeTrue())
		f.Expect(f.service.called("delete id-1")).To(BeZero(), "deleted %t: the spec has named it: %v", deleted, f.service.calls)
		f.Expect(f.service.keys()).To(HaveLen(map[bool]int{true: 1, false: 2}[deleted]))
	}
}

// The user sees what an attempt whose answer was lost has made, names it, and deletes the owner before the attempt has settled.
func TestTheirs_wereMadeByAnAttemptBeforeADeletion(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"lonely", "own"} {
		f := inMemory(t)
		lostAnswer(f, "create lonely")
		_ = f.round(f.owner(), graph.Create())
		f.service.after = nil
		g, kind := f.graphOf(f.owner())
		before := g.Gate("NeverReady", func() phases.Phase { return phases.Waiting("it isn't") })
		w := f.want(key, before)
		w.Claim = graph.Use("id-1")
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
		f.clock.Step(2 * settle)
		_, done := f.deletes()
		f.Expect(done).To(BeTrue())
		f.Expect(f.service.called("delete id-1")).To(BeZero(), "%s: the spec names it: %v", key, f.service.calls)
	}
}
