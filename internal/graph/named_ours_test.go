package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func lostAnswer(f *fixture, create string) {
	f.service.after = func(call string) error {
		if call == create {
			return errors.New("connection reset")
		}
		return nil
	}
}

// naming is a spec that wants one of ours under the key "group", or names id-1 as the user's own, or both.
type naming struct {
	ours bool
	// own is the key of the user's own; waits: what it comes after isn't ready.
	own   string
	waits bool
}

func (f *fixture) graphOfNaming(owner graph.Owner, n naming) *graph.Graph {
	f.t.Helper()
	g, kind := f.graphOf(owner)
	if n.ours {
		graph.Add(g, kind, f.want("group"))
	}
	if n.own != "" {
		before := g.Gate("BeforeReady", func() phases.Phase {
			if n.waits {
				return phases.Waiting("it isn't ready")
			}
			return phases.Ready()
		})
		w := f.want(n.own, before)
		w.Claim = graph.Use("id-1")
		graph.Add(g, kind, w)
	}
	return g
}

func (f *fixture) names(n naming) *bmmv1.NvidiaBMMCluster {
	f.t.Helper()
	owner := f.owner()
	_, _ = f.graphOfNaming(owner, n).Reconcile(f.t.Context())
	f.service.finish()
	f.clock.Step(2 * settle)
	return owner
}

func (f *fixture) planned(n naming) []graph.Step {
	f.t.Helper()
	return f.graphOfNaming(f.owner(), n).Plan(f.t.Context())
}

// What was made for an owner stays ours when the spec names it as the user's own, however far it is by then, and under whichever key. It
// isn't deleted as long as its owner isn't, a condition says so, and the way back is open.
func TestOurs_stayOursWhenTheSpecNamesThem(t *testing.T) {
	t.Parallel()
	bound := func(f *fixture) { f.names(naming{ours: true}); f.names(naming{ours: true}) }
	unanswered := func(f *fixture) {
		lostAnswer(f, "create group")
		f.names(naming{ours: true})
		f.service.after = nil
		f.Expect(f.ledger().Entry("group").State).To(Equal(ledgerv1.Pending))
	}
	for name, c := range map[string]struct {
		made  func(*fixture)
		named naming
		// failing is a call that fails while the spec names it.
		failing string
	}{
		"under the same key":                                         {made: bound, named: naming{own: "group"}},
		"under another key":                                          {made: bound, named: naming{own: "own"}},
		"under another key, beside the first":                        {made: bound, named: naming{ours: true, own: "own"}},
		"before it can be read":                                      {made: bound, named: naming{own: "own"}, failing: "get id-1"},
		"while what it comes after isn't ready":                      {made: bound, named: naming{own: "own", waits: true}},
		"made by an unanswered create":                               {made: unanswered, named: naming{own: "group"}},
		"made by an unanswered create, under another key":            {made: unanswered, named: naming{own: "own"}},
		"made by an unanswered create, beside the first":             {made: unanswered, named: naming{ours: true, own: "own"}},
		"made by an unanswered create, which has to wait":            {made: unanswered, named: naming{own: "group", waits: true}},
		"made by an unanswered create, which has to wait, elsewhere": {made: unanswered, named: naming{own: "own", waits: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			c.made(f)
			if c.failing != "" {
				f.service.failing(c.failing, &fault.Error{Class: fault.Transient, Op: "get", Err: errors.New("503")})
			}
			var owner *bmmv1.NvidiaBMMCluster
			for range 4 {
				owner = f.names(c.named)
				for _, e := range f.ledger().Spec.Entries {
					f.Expect(e.Foreign).To(BeFalse(), "%+v", e)
				}
			}
			f.service.before = nil
			f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.changes())
			if c.failing == "" && !c.named.waits {
				f.Expect(f.planned(c.named)).To(ContainElement(And(HaveField("Key", c.named.own), HaveField("Action", graph.ActionFail))))
				condition := meta.FindStatusCondition(owner.Status.Conditions, c.named.own+"Ready")
				f.Expect(condition).To(And(HaveField("Reason", "ClaimChanged"), HaveField("Message", ContainSubstring("was created for this object"))))
			}

			f.names(naming{ours: true})
			f.names(naming{ours: true})
			f.Expect(f.ledger().Entry("group")).To(And(HaveField("ID", "id-1"), HaveField("State", ledgerv1.Bound), HaveField("Foreign", false)))
			f.Expect(f.service.keys()).To(HaveLen(1))

			f.names(c.named)
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			_, done := f.deletes()
			f.Expect(done).To(BeTrue())
			f.Expect(f.service.keys()).To(BeEmpty(), "it is deleted with its owner")
		})
	}
}

// The create is still running when the spec names what it makes.
func TestOurs_stayOursWhenTheSpecNamesWhatIsBeingMade(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"and the owner is deleted": true, "and the spec is put back": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.pool = &creates.Pool{Limit: 4}
			answer := f.slow()
			f.names(naming{ours: true})
			f.Eventually(func() *ledgerv1.Entry { return f.ledger().Entry("group") }).Should(HaveField("State", ledgerv1.Pending))
			f.names(naming{own: "group"})
			if deleted {
				f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			}
			answer()
			f.Eventually(func() bool {
				if deleted {
					f.clock.Step(2 * settle)
					_, done := f.deletes()
					return done
				}
				f.names(naming{ours: true})
				return f.ledger().Entry("group").State == ledgerv1.Bound
			}).Should(BeTrue())
			f.Expect(f.service.keys()).To(HaveLen(map[bool]int{true: 0, false: 1}[deleted]), "%v", f.service.changes())
		})
	}
}

// A service has done a create twice, and the spec names the one that isn't in the ledger. Its tag says that it is ours.
func TestOurs_areWhatCarriesOurTag(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	made, err := f.service.create(graph.Tag{}) // id-1, of which the tag is written below
	f.Expect(err).NotTo(HaveOccurred())
	f.names(naming{ours: true}) // id-2
	f.names(naming{ours: true})
	made.tag = graph.Tag{Owner: f.ledger().Spec.OwnerID, Key: "group", Token: "earlier"}
	for range 3 {
		owner := f.names(naming{ours: true, own: "own"})
		f.Expect(meta.FindStatusCondition(owner.Status.Conditions, "ownReady")).To(HaveField("Reason", "ClaimChanged"))
	}
	f.Expect(f.ledger().Entry("own")).To(BeNil())
	made.tag = graph.Tag{} // the user takes it off, to keep it
	f.names(naming{ours: true, own: "own"})
	f.Expect(f.ledger().Entry("own")).To(HaveField("Foreign", true))
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, done := f.deletes()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "it is the user's own")
}
