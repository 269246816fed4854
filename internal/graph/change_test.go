package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// claiming reconciles a graph of one thing, net, with another claim than before.
func (f *fixture) claiming(claim graph.Claim) *bmmv1.NvidiaBMMCluster {
	f.t.Helper()
	kind := f.service.kind()
	owner := f.owner()
	g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	want := f.want("net")
	want.Claim = claim
	graph.Add(g, kind, want)
	_, _ = g.Reconcile(f.t.Context())
	return owner
}

// The spec names one of the user's own while the service may still finish ours.
func TestClaimChanged_takesAwayWhatWasTriedBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	theirs, err := f.service.create(graph.Tag{})
	f.Expect(err).NotTo(HaveOccurred())
	f.service.after = func(call string) error {
		if call == "create net" {
			return errors.New("connection reset")
		}
		return nil
	}
	f.claiming(graph.Create())
	f.service.after = nil
	f.Expect(f.service.keys()).To(Equal([]string{"", "net"}))

	f.claiming(graph.Use(theirs.id))
	f.Expect(f.service.called("delete id-2")).To(Equal(1))
	f.service.finish()
	f.claiming(graph.Use(theirs.id))
	f.clock.Step(settle)
	f.claiming(graph.Use(theirs.id))
	owner := f.claiming(graph.Use(theirs.id))
	f.expectCondition(owner, "netReady", metav1.ConditionTrue, "Ready", "")
	f.Expect(f.service.keys()).To(Equal([]string{""}))
	f.Expect(f.ownsNothing(f.owner())).To(BeTrue())
}

func TestClaimChanged_keepsWhatWasMadeAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	theirs, err := f.service.create(graph.Tag{})
	f.Expect(err).NotTo(HaveOccurred())
	f.claiming(graph.Create())
	owner := f.claiming(graph.Use(theirs.id))
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "ClaimChanged", "id-2 was created for this object")
	f.Expect(f.service.keys()).To(Equal([]string{"", "net"}))
}

func TestClaimChanged_letsTheUsersOwnGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, err := f.service.create(graph.Tag{})
	f.Expect(err).NotTo(HaveOccurred())
	two, err := f.service.create(graph.Tag{})
	f.Expect(err).NotTo(HaveOccurred())
	f.claiming(graph.Use(one.id))
	f.claiming(graph.Use(two.id))
	f.claiming(graph.Use(two.id))
	owned := ledgers.Resources(f.ledger())
	f.Expect(owned).To(ConsistOf(ledgers.Resource{Key: "net", Kind: "thing", ID: two.id}))

	f.claiming(graph.Create())
	owner := f.claiming(graph.Create())
	f.expectCondition(owner, "netReady", metav1.ConditionTrue, "Ready", "")
	f.Expect(f.service.keys()).To(Equal([]string{"", "", "net"}), "and one of our own is made")
}

func TestUseOrCreate_looksAgainWhenTheUsersOwnIsGone(t *testing.T) {
	t.Parallel()
	f := newCloudFixture(t)
	f.add(part{name: "shared", theirs: true})
	f.reconcile()
	delete(f.parts, "id-1")
	f.reconcile()
	f.reconcile()
	f.Expect(f.parts).To(HaveLen(2), "the old network, and a workspace of our own")
	owned := ledgers.Resources(f.ledger())
	f.Expect(owned).To(ContainElement(HaveField("Own", true)))
}

// Deletion must be as careful as adoption: one of the two is the user's.
func TestUseOrCreate_deletesNoneOfTwoThatMayBeOursOnDeletion(t *testing.T) {
	t.Parallel()
	f := newCloudFixture(t)
	f.lostAnswers = 1
	g, want, err := f.open(f.engine(), f.owner())
	f.Expect(err).NotTo(HaveOccurred())
	want()
	_, _ = g.Reconcile(t.Context())
	f.add(part{name: "shared", theirs: true})
	owner := f.owner()
	g, _, err = f.open(f.engine(), owner)
	f.Expect(err).NotTo(HaveOccurred())
	done, _, err := g.Delete(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(done).To(BeFalse())
	f.expectCondition(owner, "WorkspaceReady", metav1.ConditionFalse, "Ambiguous", "rename or delete all but the one to use")
	for _, p := range f.parts {
		f.Expect(p.deleting).To(BeFalse())
	}
}

// Each call that isn't answered takes more than a minute: one is enough to know.
func TestReconcile_stopsAskingAServiceThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	calls := len(f.service.calls)
	f.service.before = func(string) error {
		return &fault.Error{Class: fault.Transient, Op: "get thing", Err: context.DeadlineExceeded}
	}
	owner, err := f.reconcile()
	f.Expect(err).To(HaveOccurred())
	f.Expect(f.service.calls).To(HaveLen(calls + 1))
	f.expectCondition(owner, "netReady", metav1.ConditionUnknown, "Transient", "deadline exceeded")
	f.expectCondition(owner, "lonelyReady", metav1.ConditionUnknown, "Transient", "waits for netReady")
}

func TestDelete_waitsForWhatSomethingElseIsBeingDoneWith(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.below = nil
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.service.failing("delete id-1", &fault.Error{Class: fault.Conflict, Op: "delete net", Err: errors.New("409")})
	owner, done := f.delete()
	f.Expect(done).To(BeFalse())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Busy", "409")
}

func TestOwnsNothing_whenAllWasRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.service.before = func(string) error { return &fault.Error{Class: fault.Quota, Err: errors.New("nothing left")} }
	_, _ = f.reconcile()
	f.Expect(f.ledger()).NotTo(BeNil())
	f.Expect(f.ownsNothing(f.owner())).To(BeTrue())
}
