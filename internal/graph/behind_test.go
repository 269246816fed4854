package graph_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// behind is a fixture with one thing, whose changes take as long as the test wants: each takes an answer.
type behind struct {
	*fixture
	answers chan error
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func changedBehind(t *testing.T) behind {
	t.Helper()
	b := behind{fixture: inMemory(t), answers: make(chan error)}
	b.Expect(b.reconcile().Reason).To(Equal("Ready"))
	b.pool, b.size = &creates.Pool{Limit: 2}, 3
	b.queue = b.woken()
	return b
}

// reconcile the owner of the thing, and return its condition.
func (b behind) reconcile(change ...func(*graph.Want[thing])) *metav1.Condition {
	b.t.Helper()
	owner := b.owner()
	g, kind := b.graphOf(owner)
	w, size := b.want("lonely"), b.size
	var h *graph.Handle[thing]
	apply := func(id string) func(context.Context) error {
		return func(ctx context.Context) error {
			return h.Behind(ctx, id+" "+strconv.Itoa(size), func(context.Context) error {
				_ = b.service.do("begin", func() error { return nil }) // can't fail
				if err := <-b.answers; err != nil {
					return err
				}
				return b.service.resize(id, size)
			})
		}
	}
	update := w.Update
	w.Update = func(t *thing) graph.Update {
		u := update(t)
		u.Apply = apply(t.id)
		return u
	}
	for _, c := range change {
		c(&w)
	}
	h = graph.Add(g, kind, w)
	_, _ = g.Reconcile(b.t.Context())
	return meta.FindStatusCondition(owner.Status.Conditions, "lonelyReady")
}

// begun is how many changes were begun.
func (b behind) begun() int { return b.service.called("begin") }

// answer the running change.
func (b behind) answer(err error) {
	b.t.Helper()
	b.answers <- err
	b.Eventually(b.queue.Len).Should(Equal(1), "the answer enqueues the owner")
	woken, _ := b.queue.Get()
	b.queue.Done(woken)
}

func TestBehind_holdsNoReconcileAndIsBegunOnce(t *testing.T) {
	t.Parallel()
	b := changedBehind(t)
	for range 5 {
		c := b.reconcile()
		b.Expect(c.Reason).To(Equal("Busy"), c.Message)
		b.Expect(c.Message).To(ContainSubstring("change lonely: the service hasn't answered yet"))
		b.clock.Step(settle)
	}
	b.Eventually(b.begun).Should(Equal(1))
	b.answer(nil)
	b.reconcile()
	c := b.reconcile()
	b.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
	b.Expect(b.service.things["id-1"].size).To(Equal(3))
	b.Expect(b.begun()).To(Equal(1))
}

func TestBehind_isBesideCreatesWithinTheirLimit(t *testing.T) {
	t.Parallel()
	b := changedBehind(t)
	b.reconcile()
	b.Eventually(b.begun).Should(Equal(1))
	other := inMemory(t)
	other.pool, other.service = b.pool, b.service
	first := other.create("left")
	b.Eventually(func() []string { return b.service.keys() }).Should(Equal([]string{"left", "lonely"}), first.Message)
	answer := other.slow()
	defer answer()
	other.create("right")
	third := other.create("net")
	b.Expect(third.Reason).To(Equal("Queued"), "a change takes a turn as a create does")
	b.answer(nil)
}

// create one thing of an owner, and return its condition.
func (f *fixture) create(key string) *metav1.Condition {
	f.t.Helper()
	owner := f.owner()
	g, kind := f.graphOf(owner)
	graph.Add(g, kind, f.want(key))
	g.Keep("", "others are of other reconciles")
	_, err := g.Reconcile(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	return meta.FindStatusCondition(owner.Status.Conditions, key+"Ready")
}

func TestBehind_errorIsSeenInTheNextReconcile(t *testing.T) {
	t.Parallel()
	b := changedBehind(t)
	b.reconcile()
	b.answer(&fault.Error{Class: fault.Invalid, Op: "resize", Err: errors.New("3 is too big")})
	c := b.reconcile()
	b.Expect(c.Reason).To(Equal("Invalid"))
	b.Expect(c.Message).To(ContainSubstring("3 is too big"))
	b.Expect(b.reconcile().Reason).To(Equal("Busy"), "then it is tried again")
	b.answer(nil)
}

// The spec changes while a change runs: the next one isn't begun beside it, and its answer isn't taken for that of the next.
func TestBehind_isOneAtATime(t *testing.T) {
	t.Parallel()
	b := changedBehind(t)
	b.reconcile()
	b.Eventually(b.begun).Should(Equal(1))
	b.size = 4
	b.Expect(b.reconcile().Reason).To(Equal("Busy"))
	b.Consistently(b.begun, 50*time.Millisecond).Should(Equal(1))
	b.answer(nil)
	b.Expect(b.reconcile().Reason).To(Equal("Busy"))
	b.Eventually(b.begun).Should(Equal(2))
	b.answer(nil)
	b.reconcile()
	b.Expect(b.reconcile().Reason).To(Equal("Ready"))
	b.Expect(b.service.things["id-1"].size).To(Equal(4))
}

// The service shows the change before it answers, so that nothing asks for the answer. It isn't that of a later, equal change.
func TestBehind_answerThatNothingAsksForIsForgotten(t *testing.T) {
	t.Parallel()
	b := changedBehind(t)
	b.reconcile()
	b.answer(nil)
	b.Expect(b.service.things["id-1"].size).To(Equal(3))
	b.Expect(b.reconcile().Reason).To(Equal("Ready"))
	b.service.things["id-1"].size = 0 // another client
	b.clock.Step(settle)
	b.Expect(b.reconcile().Reason).To(Equal("Busy"))
	b.answer(nil)
	b.Expect(b.service.things["id-1"].size).To(Equal(3))
}

// What is running when the process is killed is lost with it: the difference is still there, and is corrected again.
func TestBehind_isBegunAgainByTheNextProcess(t *testing.T) {
	t.Parallel()
	b := changedBehind(t)
	b.reconcile()
	b.Eventually(b.begun).Should(Equal(1))
	b.pool = &creates.Pool{Limit: 2}
	b.Expect(b.reconcile().Reason).To(Equal("Busy"))
	b.Eventually(b.begun).Should(Equal(2))
	b.answers <- errors.New("its client is gone")
	b.answers <- nil
	b.Eventually(func() string { return b.reconcile().Reason }).Should(Equal("Ready"))
}

// A manager that shuts down in order waits for it, and begins no other.
func TestBehind_isWaitedForAtTheEnd(t *testing.T) {
	t.Parallel()
	b := changedBehind(t)
	b.reconcile()
	b.Eventually(b.begun).Should(Equal(1))
	drained := make(chan struct{})
	go func() { b.pool.Drain(); close(drained) }()
	b.Consistently(drained, 50*time.Millisecond).ShouldNot(BeClosed())
	b.answers <- errors.New("503")
	b.Eventually(drained).Should(BeClosed())
	b.reconcile() // takes the answer
	b.Expect(b.reconcile().Message).To(ContainSubstring("waits for its turn"))
	b.Expect(b.begun()).To(Equal(1))
}

// A thing that isn't ready is changed before a remedy is tried, however long that takes; what came of it is seen.
func TestBehind_ofWhatIsNotReadyComesBeforeARemedy(t *testing.T) {
	t.Parallel()
	b := changedBehind(t)
	b.service.things["id-1"].broken = 1
	mends := func() *metav1.Condition {
		return b.reconcile(func(w *graph.Want[thing]) {
			w.Repair = &graph.Repair[thing]{
				Remedy: func(_ context.Context, t *thing) error { return b.service.remedy(t.id) }, Limits: graph.Limits{Most: mostRemedies},
			}
		})
	}
	for range 5 {
		b.Expect(mends().Reason).To(Equal("Busy"))
		b.clock.Step(settle)
	}
	b.Expect(b.service.called("remedy id-1")).To(BeZero())
	b.answer(errors.New("3 is too big"))
	b.Expect(mends().Message).To(ContainSubstring("3 is too big"))
	b.clock.Step(settle)
	mends()
	b.Expect(b.service.called("remedy id-1")).To(Equal(1))
}
