package graph_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// A change was made long ago. Another client undoes it, and that breaks the thing: no remedy helps before it is as the spec wants it.
func TestRepair_appliesWhatWasAppliedOnce(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.mends()
	f.size = 7
	f.mends()
	f.clock.Step(time.Hour)
	c := f.mends()
	f.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
	f.Expect(f.service.things["id-1"].size).To(Equal(7))

	f.clock.Step(24 * time.Hour)
	f.service.things["id-1"].size, f.service.things["id-1"].broken = 0, 100
	for range 600 {
		c = f.mends()
		f.clock.Step(poll)
	}
	f.Expect(f.service.things["id-1"].size).To(Equal(7), "remedies %d; %s", f.service.called("remedy id-1"), c.Message)
}

// Another spec starts over, also for a change that was tried for the one before.
func TestRepair_appliesAgainForAnotherSpec(t *testing.T) {
	t.Parallel()
	f := broken(t, 100)
	f.size, f.service.stubborn = 7, true
	for range 60 {
		f.mends()
		f.clock.Step(poll)
	}
	f.service.stubborn = false
	owner := f.owner()
	owner.Generation++
	f.Expect(f.client.Update(t.Context(), owner)).To(Succeed())
	var c *metav1.Condition
	for range 60 {
		c = f.mends()
		f.clock.Step(poll)
	}
	f.Expect(f.service.things["id-1"].size).To(Equal(7), c.Message)
}

// A remedy without an end (or one that ends by its time): the pauses never get shorter.
func TestRepair_pausesDoNotOverflow(t *testing.T) {
	t.Parallel()
	f := broken(t, math.MaxInt)
	endless := func(w *graph.Want[thing]) { w.Repair.Limits = graph.Limits{Most: 1 << 20} }
	var last time.Time
	shortest := map[int]time.Duration{}
	for range 1200 {
		before := f.service.called("remedy id-1")
		f.mends(endless)
		if n := f.service.called("remedy id-1"); n > before {
			shortest[n] = f.clock.Since(last)
			last = f.clock.Now()
		}
		f.clock.Step(poll / 2)
	}
	f.Expect(f.service.called("remedy id-1")).To(BeNumerically("<", 100), "in ten minutes; pause before the 20th %s, the 40th %s, the 50th %s",
		shortest[20], shortest[40], shortest[50])
}

// Failed remedies are in the condition, and in the plan.
func TestPlan_ofWhatIsNotRepairedAnyMore(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"as the spec wants it": 0, "not as the spec wants it": 7} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := broken(t, 100)
			f.size, f.service.stubborn = size, true
			var c *metav1.Condition
			for range 200 {
				c = f.mends()
				f.clock.Step(poll)
			}
			f.Expect(c.Message).To(ContainSubstring("no further repair is attempted"))
			g, kind := f.graphOf(f.owner())
			w := f.want("lonely")
			w.Repair = &graph.Repair[thing]{
				Remedy: func(_ context.Context, t *thing) error { return f.service.remedy(t.id) },
				Limits: graph.Limits{Most: mostRemedies, Within: time.Hour},
			}
			graph.Add(g, kind, w)
			steps := g.Plan(t.Context())
			resized := f.service.called("resize id-1")
			for range 100 {
				f.mends()
				f.clock.Step(poll)
			}
			f.Expect(steps).To(ConsistOf(And(HaveField("Action", graph.ActionFail), HaveField("Why", ContainSubstring("no further repair is attempted")))),
				"%d changes were made after this plan", f.service.called("resize id-1")-resized)
		})
	}
}

// It exists, and that is enough for what comes after it.
func TestRepair_leavesItUsable(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := func() string {
		owner := f.owner()
		g, kind := f.graphOf(owner, func(k *graph.Kind[thing]) {
			phase := k.Phase
			k.Phase = func(t *thing) phases.Phase { return phase(t).Usable() }
		})
		w := f.want("net")
		w.Repair = &graph.Repair[thing]{
			After:  time.Minute,
			Remedy: func(_ context.Context, t *thing) error { return f.service.remedy(t.id) }, Limits: graph.Limits{Most: 1},
		}
		n := graph.Add(g, kind, w)
		g.Gate("Booted", phases.Ready, n)
		_, _ = g.Reconcile(t.Context())
		c := meta.FindStatusCondition(owner.Status.Conditions, "Booted")
		return string(c.Status) + " " + c.Message
	}
	f.service.slow = true
	run()
	f.Expect(run()).To(HavePrefix("True"))
	f.clock.Step(2 * time.Minute)
	f.Expect(run()).To(HavePrefix("True"), "a remedy is tried")
	f.clock.Step(2 * time.Minute)
	f.Expect(run()).To(HavePrefix("True"), "nothing is tried any more")
}

// A change is made while it isn't ready, and the process is killed before that is noted. The service may undo it and keep showing it.
func TestRepair_ofWhatIsAppliedAgain(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	again := func(w *graph.Want[thing]) { w.Again = true }
	f.size = 8
	f.clock.Step(time.Hour)
	f.write = func() error {
		if f.service.things["id-1"].size == 8 {
			return errors.New("killed")
		}
		return nil
	}
	owner := f.owner()
	g, kind := f.graphOf(owner)
	w := f.want("lonely")
	w.Again = true
	w.Repair = &graph.Repair[thing]{Remedy: func(_ context.Context, t *thing) error { return f.service.remedy(t.id) }, Limits: graph.Limits{Most: 1}}
	graph.Add(g, kind, w)
	_, _ = g.Reconcile(t.Context())
	f.write = nil
	f.Expect(f.service.things["id-1"].size).To(Equal(8))
	e := f.ledger().Entry("lonely")
	t.Logf("after the kill: applied %q at %v", e.Applied, e.AppliedAt)
	f.service.things["id-1"].broken = 0
	before := f.service.called("resize id-1")
	for range 100 {
		f.mends(again)
		f.clock.Step(time.Minute)
	}
	f.Expect(f.service.called("resize id-1")).To(BeNumerically(">", before), "it is applied again when it has settled")
}

// The service writes what it is given in its own way, another one each time. That is neither an end nor a remedy.
func TestRepair_ofWhatNeverConverges(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	changing := func(w *graph.Want[thing]) {
		w.Update = func(t *thing) graph.Update {
			return graph.Update{
				Changes: []graph.Change{{Field: "size", From: strconv.Itoa(t.size), To: "big"}},
				Apply:   func(context.Context) error { return f.service.resize(t.id, t.size+1) },
			}
		}
	}
	owner := f.owner()
	waited := time.Duration(0)
	for range 600 {
		owner = f.owner()
		g, kind := f.graphOf(owner)
		w := f.want("lonely")
		w.Repair = &graph.Repair[thing]{
			Remedy: func(_ context.Context, t *thing) error { return f.service.remedy(t.id) }, Limits: graph.Limits{Most: mostRemedies, Within: time.Minute},
		}
		changing(&w)
		graph.Add(g, kind, w)
		result, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		f.clock.Step(result.RequeueAfter)
		waited += result.RequeueAfter
	}
	c := meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady")
	f.Expect(f.service.called("remedy id-1")).To(BeNumerically(">", 0), "%d changes in %s, no remedy; %s: %s", f.service.called("resize id-1"), waited, c.Reason, c.Message)
}

// A remedy that helps for a moment only: it isn't without an end.
func TestRepair_ofWhatFlaps(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	for range 3600 {
		f.mends()
		f.clock.Step(poll)
		if t := f.service.things["id-1"]; t.broken <= 0 {
			f.mends()
			t.broken = 1
		}
	}
	f.Expect(f.service.called("remedy id-1")).To(BeNumerically("<", 600), "in an hour, of %d at most", mostRemedies)
}

// What a remedy says names nothing.
func TestRepair_errorNamesTheObject(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	c := f.mends(func(w *graph.Want[thing]) {
		w.Repair.Remedy = func(context.Context, *thing) error {
			return &fault.Error{Class: fault.Invalid, Err: errors.New("400 Bad Request")}
		}
	})
	f.Expect(c.Message).To(ContainSubstring("id-1"))
}

// The last remedy failed with an error. The condition says what was tried, and not what came of it.
func TestRepair_errorIsInTheEnd(t *testing.T) {
	t.Parallel()
	f := broken(t, 100)
	var c *metav1.Condition
	for range 100 {
		c = f.mends(func(w *graph.Want[thing]) {
			w.Repair.Remedy = func(context.Context, *thing) error {
				return &fault.Error{Class: fault.Invalid, Err: errors.New("firmware is locked")}
			}
		})
		f.clock.Step(poll)
	}
	f.Expect(c.Message).To(ContainSubstring("firmware is locked"))
}

// The process is suspended after the remedy was counted, for an hour. Meanwhile the thing has become ready.
func TestRepair_ofASuspendedProcess(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	e := f.engine()
	e.Client = interceptor.NewClient(f.client, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			err := c.Update(ctx, o, opts...)
			if l, is := o.(*ledgerv1.Ledger); is && err == nil && l.Entry("lonely").Repairs == 1 {
				f.service.things["id-1"].broken = 0
				f.clock.Step(time.Hour)
			}
			return err
		},
	})
	kind := f.service.kind()
	g, err := e.New(t.Context(), f.owner(), []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	w := f.want("lonely")
	w.Repair = &graph.Repair[thing]{Remedy: func(_ context.Context, t *thing) error { return f.service.remedy(t.id) }, Limits: graph.Limits{Most: 1}}
	graph.Add(g, kind, w)
	_, _ = g.Reconcile(t.Context())
	f.Expect(f.service.called("remedy id-1")).To(BeZero(), "it has been ready for an hour")
}

// The change that a broken thing needs fails once (503, or the process is killed after its note). It is never made after that.
func TestRepair_changeThatFailedOnceIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := broken(t, math.MaxInt)
	f.size = 7
	failed := false
	f.service.before = func(call string) error {
		if call == "resize id-1" && !failed {
			failed = true
			return &fault.Error{Class: fault.Transient, Op: call, Err: errors.New("503")}
		}
		return nil
	}
	message := ""
	for range 400 {
		owner := f.owner()
		g, kind := f.graphOf(owner)
		w := f.want("lonely")
		w.Repair = &graph.Repair[thing]{
			Remedy: func(_ context.Context, t *thing) error { return f.service.remedy(t.id) }, Limits: graph.Limits{Most: mostRemedies},
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		message = meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady").Message
		f.clock.Step(10 * poll)
	}
	f.Expect(failed).To(BeTrue())
	f.Expect(f.service.things["id-1"].size).To(Equal(7), message)
}

// A remedy helped, an hour after the thing had first been seen not to be ready. A moment later it is in progress again: it may be that
// for ten minutes, and gets a remedy at once.
func TestRepair_patienceCountsAgainAfterARemedy(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	th := f.service.things["id-1"]
	th.creating = true
	patient := func(w *graph.Want[thing]) { w.Repair.After = 10 * time.Minute }
	f.mends(patient)
	f.clock.Step(11 * time.Minute)
	f.mends(patient)
	f.Expect(f.service.called("remedy id-1")).To(Equal(1))
	th.creating, th.broken = false, 0
	f.clock.Step(poll)
	f.Expect(f.mends(patient).Reason).To(Equal("Ready"))
	th.creating = true
	f.clock.Step(2 * poll)
	f.mends(patient)
	f.clock.Step(2 * poll)
	f.mends(patient)
	f.Expect(f.service.called("remedy id-1")).To(Equal(1), "it may be on its way for ten minutes")
}

// It is broken, and differs from the spec in what can't be changed: the remedy, which helps, is tried all the same.
func TestRepair_differenceThatCannotBeChangedKeepsNoRemedyAway(t *testing.T) {
	t.Parallel()
	f := broken(t, 1)
	f.size, f.stuck = 7, map[string]error{"id-1": fault.Invalidf("it can't be changed: replace it")}
	message := ""
	for range 50 {
		message = f.mends().Message
		f.clock.Step(10 * poll)
	}
	f.Expect(f.service.called("remedy id-1")).To(Equal(1), message)
	f.Expect(message).To(ContainSubstring("it can't be changed: replace it"), "once it is whole")
}
