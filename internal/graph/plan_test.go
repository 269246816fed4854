package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// plan returns what would be done, by key, and proves that it wasn't.
func (f *fixture) plan() map[string]graph.Step {
	f.t.Helper()
	before, calls := f.owner(), len(f.service.calls)
	kind := f.service.kind()
	g, err := f.engine().New(f.t.Context(), f.owner(), []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	f.wants(g, kind)
	steps := map[string]graph.Step{}
	for _, s := range g.Plan(f.t.Context()) {
		steps[s.Key] = s
	}
	for _, call := range f.service.calls[calls:] {
		f.Expect(call).To(Or(HavePrefix("get"), HavePrefix("find")))
	}
	f.Expect(f.owner().ResourceVersion).To(Equal(before.ResourceVersion))
	return steps
}

func TestPlan_ofSomethingNew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Expect(f.plan()).To(Equal(map[string]graph.Step{
		"net":    {Key: "net", Kind: "thing", Action: graph.ActionCreate},
		"left":   {Key: "left", Kind: "thing", Action: graph.ActionCreate, After: []string{"net"}},
		"right":  {Key: "right", Kind: "thing", Action: graph.ActionCreate, After: []string{"net"}},
		"lonely": {Key: "lonely", Kind: "thing", Action: graph.ActionCreate},
	}))
	f.Expect(f.service.calls).To(BeEmpty(), "nothing can be there of an owner that never was reconciled")
}

func TestPlan_ofSomethingHalfMade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.service.failing("create right", &fault.Error{Class: fault.Quota, Err: errors.New("no more things")})
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.service.before = nil
	f.size = 3
	f.service.things["id-2"].size = 3
	f.service.mustFind("lonely").creating = true
	f.below = []string{"right"}
	f.Expect(f.plan()).To(Equal(map[string]graph.Step{
		"net": {Key: "net", Kind: "thing", Action: graph.ActionChange, ID: "id-1",
			Changes: []graph.Change{{Field: "size", From: "0", To: "3"}}},
		"left":   {Key: "left", Kind: "thing", Action: graph.ActionDelete, ID: "id-2"},
		"right":  {Key: "right", Kind: "thing", Action: graph.ActionCreate, Why: "no more things"},
		"lonely": {Key: "lonely", Kind: "thing", Action: graph.ActionKeep, ID: "id-3", Why: "id-3 is being made"},
	}))
}

// What can't be changed is said once, in the plan as in the condition, and nothing is sent.
func TestUpdate_thatIsRefusedIsSaidInPlanAndConditionAlike(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	stuck := fault.Invalidf("a thing keeps its size: replace it by another one")
	f.size, f.stuck = 3, map[string]error{"id-4": stuck}
	f.Expect(f.plan()["lonely"]).To(Equal(graph.Step{
		Key: "lonely", Kind: "thing", Action: graph.ActionFail, ID: "id-4", Why: stuck.Error(),
		Changes: []graph.Change{{Field: "size", From: "0", To: "3"}},
	}))
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "lonelyReady", metav1.ConditionFalse, "Invalid", stuck.Error())
	f.Expect(f.service.called("resize id-4")).To(BeZero())
	f.stuck = nil
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.things["id-4"].size).To(Equal(3), "once it can be changed, it is")
}

func TestPlan_ofWhatWasLostOrCannotBeSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	delete(f.service.things, "id-1")
	f.service.failing("get id-2", errors.New("connection refused"))
	steps := f.plan()
	f.Expect(steps["net"]).To(Equal(graph.Step{Key: "net", Kind: "thing", Action: graph.ActionCreate, Why: "thing id-1 was deleted outside Bedplate and is created again"}))
	f.Expect(steps["left"]).To(Equal(graph.Step{Key: "left", Kind: "thing", Action: graph.ActionFail, ID: "id-2", Why: "thing id-2: connection refused"}))
	f.ifLost = "get another one"
	f.Expect(f.plan()["net"].Action).To(Equal(graph.ActionFail))
}

func TestPlan_ofAnAttemptWhoseOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.service.failing("create net", errors.New("connection reset"))
	_, err := f.reconcile()
	f.Expect(err).To(HaveOccurred())
	f.service.before = nil
	f.Expect(f.plan()["net"].Action).To(Equal(graph.ActionWait))
	f.clock.Step(settle)
	f.Expect(f.plan()["net"].Action).To(Equal(graph.ActionCreate))
}

func TestPlan_ofTheUsersOwnByName(t *testing.T) {
	t.Parallel()
	f := newCloudFixture(t)
	f.add(part{name: "shared", theirs: true})
	g, want, err := f.open(f.engine(), f.owner())
	f.Expect(err).NotTo(HaveOccurred())
	want()
	f.Expect(g.Plan(t.Context())).To(Equal([]graph.Step{
		{Key: "workspace", Kind: "workspace", Action: graph.ActionUse, ID: "id-1"},
		{Key: "network", Kind: "network", Action: graph.ActionCreate},
	}))
	f.Expect(f.ledger()).To(BeNil())
}

func TestPlan_ofADeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	var keys []string
	for _, s := range g.Plan(t.Context()) {
		f.Expect(s.Action).To(Equal(graph.ActionDelete))
		keys = append(keys, s.Key)
	}
	f.Expect(keys).To(Equal([]string{"left", "lonely", "right", "net"}))
}

// What Create can't prepare (bmm: a subnet that doesn't fit into its block): the reconcile fails, the plan says "create".
func TestPlan_ofWhatCannotBePrepared(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	open := func(owner graph.Owner) *graph.Graph {
		g, kind := f.graphOf(owner)
		w := f.want("lonely")
		w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
			return nil, fault.Invalidf("it doesn't fit")
		}
		graph.Add(g, kind, w)
		return g
	}
	owner := f.owner()
	_, err := open(owner).Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady").Reason).To(Equal("Invalid"))
	f.Expect(open(f.owner()).Plan(t.Context())).To(ConsistOf(HaveField("Action", graph.ActionFail)))
}
