package graph_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func TestInterval_growsToThePollInterval(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var looks []time.Duration
	for since := time.Duration(0); since < 2*time.Minute; {
		next := graph.Interval(30*time.Second, since)
		looks = append(looks, next)
		since += next
	}
	g.Expect(looks).To(HaveExactElements(
		time.Second, 2*time.Second, 5*time.Second, 10*time.Second, 30*time.Second, 30*time.Second, 30*time.Second, 30*time.Second))
}

// After progress the next poll comes soon again, and an owner at rest is polled slowly.
func TestReconcile_looksSoonAtWhatIsOnItsWayAndThenLessOften(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	phase := phases.Waiting("it is Pending")
	engine, owner := f.engine(), f.owner()
	after := func() time.Duration {
		g, err := engine.New(t.Context(), owner, []string{"any"}, f.service.kind())
		f.Expect(err).NotTo(HaveOccurred())
		g.Gate("Booted", func() phases.Phase { return phase })
		result, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		return result.RequeueAfter
	}
	about := func(d time.Duration) OmegaMatcher { return And(BeNumerically(">=", d), BeNumerically("<=", d+d/5)) }
	f.Expect(after()).To(about(poll / 30))
	f.Expect(after()).To(about(poll/30), "whoever else wakes the owner")
	f.clock.Step(poll / 20)
	f.Expect(after()).To(about(poll / 15))
	f.clock.Step(2 * poll)
	f.Expect(after()).To(about(poll))

	phase = phases.Waiting("it is Provisioning")
	f.Expect(after()).To(about(poll / 30))
	f.clock.Step(2 * poll)
	f.Expect(after()).To(about(poll))

	phase = phases.Ready()
	f.Expect(after()).To(about(10 * poll))
	phase = phases.Waiting("it is Provisioning")
	f.Expect(after()).To(about(poll / 30))
}
