package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/graph"
)

const mostRemedies = 3

// broken is a fixture with one thing, which takes so many remedies to be ready.
func broken(t *testing.T, remedies int) *fixture {
	t.Helper()
	f := inMemory(t)
	f.mends()
	f.service.things["id-1"].broken = remedies
	return f
}

// mends reconciles an owner of one thing that can be repaired, and returns its condition.
func (f *fixture) mends(change ...func(*graph.Want[thing])) *metav1.Condition {
	f.t.Helper()
	owner := f.owner()
	g, kind := f.graphOf(owner)
	w := f.want("lonely")
	w.Repair = &graph.Repair[thing]{
		Remedy: func(_ context.Context, t *thing) error { return f.service.remedy(t.id) },
		Limits: graph.Limits{Most: mostRemedies, Within: time.Hour},
	}
	for _, c := range change {
		c(&w)
	}
	graph.Add(g, kind, w)
	_, err := g.Reconcile(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	return meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady")
}

func TestRepair_triesARemedyUntilItHelps(t *testing.T) {
	t.Parallel()
	f := broken(t, 2)
	c := f.mends()
	f.Expect(c.Reason).To(Equal("Repairing"), c.Message)
	f.Expect(f.mends().Reason).To(Equal("Repairing"))
	f.Expect(f.service.called("remedy id-1")).To(Equal(1), "waiting for the last repair to take effect")
	f.clock.Step(2 * poll)
	f.mends()
	f.Expect(f.service.called("remedy id-1")).To(Equal(2))
	c = f.mends()
	f.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
	f.Expect(f.ledger().Entry("lonely").Repairs).NotTo(BeZero(), "it may not last")
	f.clock.Step(10 * poll)
	f.mends()
	e := f.ledger().Entry("lonely")
	f.Expect(e.Repairs).To(BeZero())
	f.Expect(e.UnreadySince).To(BeNil(), "the next time begins from the beginning")
}

// A remedy that never helps is tried so often, with longer and longer pauses. Then the condition says what was done. Another spec starts
// over.
func TestRepair_endsAndSaysWhatWasTried(t *testing.T) {
	t.Parallel()
	f := broken(t, 100)
	var at []time.Duration
	began := f.clock.Now()
	for range 100 {
		before := f.service.called("remedy id-1")
		c := f.mends()
		if f.service.called("remedy id-1") > before {
			at = append(at, f.clock.Since(began))
		}
		if c.Reason == "Failed" {
			f.Expect(c.Message).To(And(ContainSubstring("id-1 is broken"), ContainSubstring("3 of 3 repairs tried"), ContainSubstring("correct the spec")))
			break
		}
		f.clock.Step(poll)
	}
	f.Expect(at).To(HaveLen(mostRemedies))
	f.Expect(at[2] - at[1]).To(BeNumerically(">", at[1]-at[0]))
	f.clock.Step(time.Hour)
	f.mends()
	f.Expect(f.service.called("remedy id-1")).To(Equal(mostRemedies), "for good")

	owner := f.owner()
	owner.Generation++
	f.Expect(f.client.Update(t.Context(), owner)).To(Succeed())
	f.mends()
	f.Expect(f.service.called("remedy id-1")).To(Equal(mostRemedies + 1))
}

// A difference from the spec may be the cause: that is corrected first, also while it isn't ready.
func TestRepair_updatesFirst(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	f.size = 7
	c := f.mends()
	f.Expect(f.service.things["id-1"].size).To(Equal(7))
	f.Expect(f.service.called("remedy id-1")).To(BeZero())
	f.Expect(c.Reason).To(Equal("Repairing"), c.Message)
	f.service.stubborn, f.size = true, 8 // a service that ignores it isn't asked for ever
	for range 20 {
		f.clock.Step(poll)
		c = f.mends()
	}
	f.Expect(f.service.called("resize id-1")).To(BeNumerically("<=", 3))
	f.Expect(f.service.called("remedy id-1")).To(Equal(1))
	f.Expect(c.Message).NotTo(BeEmpty())
}

func TestRepair_waitsForWhatIsOnItsWayAndNotForEver(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	f.service.things["id-1"].creating = true
	patient := func(w *graph.Want[thing]) { w.Repair.After = 10 * time.Minute }
	f.mends(patient)
	f.clock.Step(9 * time.Minute)
	f.Expect(f.mends(patient).Reason).To(Equal("Waiting"))
	f.Expect(f.service.called("remedy id-1")).To(BeZero())
	f.clock.Step(2 * time.Minute)
	f.mends(patient)
	f.Expect(f.service.called("remedy id-1")).To(Equal(1))
}

// It is counted before it is tried: a process that is killed again and again doesn't try it for ever.
func TestRepair_isCountedBeforeItIsTried(t *testing.T) {
	t.Parallel()
	f := broken(t, 100)
	tried := 0
	f.service.before = func(call string) error {
		if call == "remedy id-1" {
			tried++
			f.Expect(f.ledger().Entry("lonely").Repairs).To(BeNumerically("==", tried))
			return errors.New("killed")
		}
		return nil
	}
	for range 50 {
		owner := f.owner()
		g, kind := f.graphOf(owner)
		w := f.want("lonely")
		w.Repair = &graph.Repair[thing]{
			Remedy: func(_ context.Context, t *thing) error { return f.service.remedy(t.id) },
			Limits: graph.Limits{Most: mostRemedies},
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(poll)
	}
	f.Expect(tried).To(Equal(mostRemedies))
}

func TestPlan_saysThatItIsRepaired(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	g, kind := f.graphOf(f.owner())
	w := f.want("lonely")
	w.Repair = &graph.Repair[thing]{Limits: graph.Limits{Most: 1}}
	graph.Add(g, kind, w)
	f.Expect(g.Plan(t.Context())).To(ConsistOf(graph.Step{Key: "lonely", Kind: "thing", Action: graph.ActionRepair, ID: "id-1"}))
	f.Expect(f.service.called("remedy id-1")).To(BeZero())
}

// The user's own is never repaired.
func TestRepair_notOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	theirs.broken = 1
	for range 3 {
		f.mends(func(w *graph.Want[thing]) { w.Claim = graph.Use(theirs.id) })
		f.clock.Step(time.Hour)
	}
	f.Expect(f.service.called("remedy " + theirs.id)).To(BeZero())
}

// A remedy that takes longer than the pause between two isn't interrupted by the next one.
func TestRepair_ofWhatIsInProgressWaitsAsLongAgain(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	f.service.things["id-1"].creating = true
	patient := func(w *graph.Want[thing]) {
		w.Repair.After, w.Repair.Limits = 10*time.Minute, graph.Limits{Most: mostRemedies}
	}
	var at []time.Duration
	began := f.clock.Now()
	for range 60 {
		before := f.service.called("remedy id-1")
		f.mends(patient)
		if f.service.called("remedy id-1") > before {
			at = append(at, f.clock.Since(began).Truncate(time.Minute))
		}
		f.clock.Step(time.Minute)
	}
	f.Expect(at).To(Equal([]time.Duration{10 * time.Minute, 20 * time.Minute, 30 * time.Minute}))
}

// What wasn't tried doesn't count, so that there are as many tries as there may be.
func TestRepair_ofASuspendedProcessDoesNotCount(t *testing.T) {
	t.Parallel()
	f := broken(t, 100)
	suspended := true
	f.write = func() error {
		if suspended {
			f.clock.Step(time.Minute)
		}
		return nil
	}
	for range mostRemedies + 1 {
		f.mends()
	}
	f.Expect(f.service.called("remedy id-1")).To(BeZero())
	f.Expect(f.ledger().Entry("lonely").Repairs).To(BeZero())
	suspended = false
	for range 100 {
		f.mends()
		f.clock.Step(poll)
	}
	f.Expect(f.service.called("remedy id-1")).To(Equal(mostRemedies))
}

// What it is made with beside the spec may be what was wrong.
func TestRepair_startsOverWithAnotherOneOfWhatIsGiven(t *testing.T) {
	t.Parallel()
	f := broken(t, 100)
	given := int64(7)
	mends := func() *metav1.Condition { return f.mends(func(w *graph.Want[thing]) { w.Given = given }) }
	for range 100 {
		if mends().Reason == "Failed" {
			break
		}
		f.clock.Step(poll)
	}
	f.Expect(f.service.called("remedy id-1")).To(Equal(mostRemedies))
	f.clock.Step(time.Hour)
	mends()
	f.Expect(f.service.called("remedy id-1")).To(Equal(mostRemedies))
	given = 8
	f.Expect(mends().Reason).To(Equal("Repairing"))
	f.Expect(f.service.called("remedy id-1")).To(Equal(mostRemedies + 1))
}
