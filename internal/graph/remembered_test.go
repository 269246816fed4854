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
)

// A plan restores nothing.
func TestLedger_thatWasStrippedIsLeftAloneByAPlan(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.OwnerReferences, l.Finalizers = nil, nil })
	before := f.ledger().ResourceVersion
	engine := f.engine()
	engine.OnlyLooks = true
	_, err := engine.New(t.Context(), f.owner(), []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().ResourceVersion).To(Equal(before))
}

// What spec and status show is asked for by its ID, and is added if it carries the owner's, under a key that has none.
func TestLedger_thatIsOlderIsCompletedFromWhatIsShown(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*fixture)
		id     string
	}{
		"it is ours":         {func(*fixture) {}, "id-4"},
		"it is another's":    {func(f *fixture) { f.service.things["id-4"].tag.Owner = "another" }, ""},
		"it is gone":         {func(f *fixture) { delete(f.service.things, "id-4") }, ""},
		"it is under no key": {func(f *fixture) { f.service.things["id-4"].tag.Key = "" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			_, ledger := f.madeAll()
			f.update(ledger, func(l *ledgerv1.Ledger) {
				l.Spec.Entries = append(l.Spec.Entries[:0], *l.Entry("left"), *l.Entry("net"), *l.Entry("right"))
			})
			row.change(f)
			g, err := f.engine().New(t.Context(), f.shown(), []string{"any"}, f.service.kind())
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(g.ID("lonely")).To(Equal(row.id))
		})
	}
}

func TestLedger_thatNamesOneIsNotToldOfAnother(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	_, err := f.service.create(f.service.things["id-4"].tag)
	f.Expect(err).NotTo(HaveOccurred())
	g, err := f.engine().New(t.Context(), showing{f.owner(), []string{"id-4", "id-5"}}, []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(g.ID("lonely")).To(Equal("id-4"))
}

// A service's search may show what has the ID somewhere else, too.
func TestDelete_takesNothingAwayThatCarriesAnothersID(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	other, err := f.service.create(graph.Tag{Owner: "another", Key: "moon"})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	done := false
	for range 6 {
		g, _ := f.graphOf(f.owner(), func(k *graph.Kind[thing]) {
			k.Find = func(context.Context, graph.Key) (all []thing, err error) {
				for _, t := range f.service.things {
					all = append(all, *t)
				}
				return all, nil
			}
		})
		done, _, err = g.Delete(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		f.service.finish()
	}
	f.Expect(done).To(BeTrue(), "it isn't waited for")
	f.Expect(f.service.keys()).To(Equal([]string{"moon"}))
	f.Expect(f.service.called("delete " + other.id)).To(BeZero())
}

// What the sweep looks for lies in it.
func TestDelete_keepsTheUsersOwnInTheLedgerUntilTheSweep(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	g, kind := f.graphOf(f.owner())
	site := f.want("site")
	site.Claim = graph.Use(theirs.id)
	graph.Add(g, kind, site)
	graph.Add(g, kind, f.want("net"))
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	sweeps := 0
	f.service.before = func(call string) error {
		if call == "find" {
			sweeps++
			f.Expect(f.ledger().Entry("site")).NotTo(BeNil())
		}
		return nil
	}
	for done := false; !done; f.service.finish() {
		g, _ := f.graphOf(f.owner())
		done, _, err = g.Delete(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.Expect(sweeps).To(BeNumerically(">", 0))
	f.Expect(f.ledger().Spec.Entries).To(BeEmpty())
}

// The cache doesn't show the attempt yet.
func TestLetMove_looksPastTheCache(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.below = nil
	f.service.after = func(string) error { return errors.New("connection reset") }
	owner := f.owner()
	f.Expect(f.engine().Hold(t.Context(), owner, "another/finalizer")).To(Succeed())
	_, _ = f.reconcileObject(owner)
	f.lag = &ledgerv1.Ledger{}
	result, err := f.engine().LetMove(t.Context(), owner)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
}

func TestRelease_leavesALedgerThatOwnsSomething(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	f.Expect(f.engine().Release(t.Context(), f.owner(), finalizer)).To(Succeed())
	f.Expect(f.ledger().Finalizers).To(ConsistOf(ledgerv1.Finalizer))
}

// The time that a process was held up for, after its intention was written, is gone.
func TestCreate_hasTheTimeThatIsLeft(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.createTimeout = time.Hour
	g, kind := f.graphOf(f.owner())
	want, left := f.want("lonely"), time.Duration(0)
	want.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
		return func(ctx context.Context) (*thing, error) {
			deadline, _ := ctx.Deadline()
			left = time.Until(deadline)
			return f.service.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
		}, nil
	}
	graph.Add(g, kind, want)
	f.write = func() error { f.clock.Step(2 * time.Minute); return nil }
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(left).To(BeNumerically("~", 56*time.Minute, time.Minute))
}

// It may have created something: that is searched for.
func TestCreate_thatAnswersWithoutAnIDIsLookedInto(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	reconcile := func() {
		g, kind := f.graphOf(f.owner())
		want := f.want("lonely")
		want.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				_, err := f.service.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
				return &thing{}, err
			}, nil
		}
		graph.Add(g, kind, want)
		_, _ = g.Reconcile(t.Context())
	}
	reconcile()
	f.Expect(f.ledger().Entry("lonely").State).To(Equal(ledgerv1.Pending))
	reconcile()
	f.Expect(f.ledger().Entry("lonely").ID).To(Equal("id-1"))
	f.Expect(f.service.called("create lonely")).To(Equal(1))
}

func TestLedger_saysWithWhichCredentialsItGoesOn(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	kind := f.service.kind()
	g, err := f.engine().New(t.Context(), f.owner(), []string{"others"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	f.wants(g, kind)
	_, err = g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().Spec.Credentials).To(Equal([]string{"others"}))
}

// Other credentials may do what these may not, and no event says when they change.
func TestCreate_thatWasRefusedForItsCredentialsIsTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.service.failing("create lonely", &fault.Error{Class: fault.Credentials, Err: errors.New("403")})
	for range 2 {
		f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	}
	f.Expect(f.service.called("create lonely")).To(Equal(2))
}
