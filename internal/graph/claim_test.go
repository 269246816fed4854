package graph_test

import (
	"context"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// cloudFixture is the owner of a graph in the cloud without tags, outside of the crash suite.
type cloudFixture struct {
	*fixture
	*cloud
}

func newCloudFixture(t *testing.T) *cloudFixture {
	return &cloudFixture{newFixture(t), &cloud{fuse: crashtest.Unbroken(), zones: []string{"dal10", "dal12"}, parts: map[string]*part{}}}
}

func (f *cloudFixture) reconcile() *bmmv1.NvidiaBMMCluster {
	owner := f.owner()
	g, want, err := f.open(f.engine(), owner)
	f.Expect(err).NotTo(HaveOccurred())
	want()
	_, err = g.Reconcile(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	return owner
}

func TestUseOrCreate_cannotTellWhichOfSeveralIsMeant(t *testing.T) {
	t.Parallel()
	f := newCloudFixture(t)
	f.add(part{name: "shared", theirs: true})
	f.add(part{name: "shared", theirs: true})
	owner := f.reconcile()
	f.expectCondition(owner, "WorkspaceReady", metav1.ConditionFalse, "Ambiguous", `several resources of kind workspace are named "shared" (id-1, id-2)`)
	f.Expect(f.parts).To(HaveLen(2))
}

// The user makes one of that name after we have seen none, and before the service could answer us.
func TestUseOrCreate_deletesNoneOfTwoThatMayBeOurs(t *testing.T) {
	t.Parallel()
	f := newCloudFixture(t)
	f.lostAnswers = 1
	owner := f.owner()
	g, want, err := f.open(f.engine(), owner)
	f.Expect(err).NotTo(HaveOccurred())
	want()
	_, err = g.Reconcile(t.Context())
	f.Expect(err).To(HaveOccurred())
	f.add(part{name: "shared", theirs: true})
	owner = f.reconcile()
	f.expectCondition(owner, "WorkspaceReady", metav1.ConditionFalse, "Ambiguous", "rename or delete all but the one to use")
	f.Expect(f.parts).To(HaveLen(2))
}

func TestUseOrCreate_remembersWhoseItIs(t *testing.T) {
	t.Parallel()
	f := newCloudFixture(t)
	f.reconcile()
	f.reconcile()
	f.Expect(ledgers.Resources(f.ledger())).To(ConsistOf(
		ledgers.Resource{Key: "workspace", Kind: "workspace", ID: "id-1", Own: true},
		ledgers.Resource{Key: "network", Kind: "network", ID: "id-2", Scope: graph.Scope{"workspace": "id-1"}, Own: true},
	))
}

// A choice is kept while its outcome is unknown, and made again for another attempt.
func TestChoose_isKeptUntilTheAttemptHasSettled(t *testing.T) {
	t.Parallel()
	f := newCloudFixture(t)
	var zones []string
	f.onCreate = func(p part) { zones = append(zones, p.zone) }
	f.lostRequests = 1
	reconcile := func() {
		g, want, err := f.open(f.engine(), f.owner())
		f.Expect(err).NotTo(HaveOccurred())
		want()
		_, _ = g.Reconcile(context.WithoutCancel(t.Context()))
	}
	reconcile()
	reconcile()
	f.Expect(zones).To(Equal([]string{"dal10"}))
	f.Expect(f.ledger().Entry("workspace").Params).To(HaveKeyWithValue("zone", "dal10"))
	f.clock.Step(settle)
	reconcile()
	reconcile()
	f.Expect(zones[1]).To(Equal("dal12"))
	f.Expect(f.ledger().Entry("workspace").Params).To(HaveKeyWithValue("zone", "dal12"), "what is in that zone has to be found there")
}

// What has the name before isn't touched, and the condition names both remedies.
func TestCreateNamed_whatIsInTheWayIsAConflict(t *testing.T) {
	t.Parallel()
	f := newCloudFixture(t)
	f.named = true
	theirs := f.add(part{name: "shared", theirs: true})
	for range 2 {
		f.expectCondition(f.reconcile(), "WorkspaceReady", metav1.ConditionFalse, "Conflict",
			`workspace id-1 has the name "shared" and wasn't made for this object: choose another name, or have the spec use it as your own`)
	}
	f.Expect(f.parts).To(HaveLen(1))
	delete(f.parts, theirs.id)
	f.reconcile()
	f.Expect(f.parts["id-2"].name).To(Equal("shared"))
	g, _, err := f.open(f.engine(), f.owner())
	f.Expect(err).NotTo(HaveOccurred())
	for done := false; !done; maps.DeleteFunc(f.parts, func(_ string, p *part) bool { return p.deleting }) {
		done, _, err = g.Delete(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.Expect(f.parts).To(BeEmpty())
}
