package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// site is an endpoint that counts the running creates, and answers when the test says so.
type site struct {
	mu       sync.Mutex
	creating []string
	answers  map[string]chan error
	end      chan struct{}
}

func (s *site) working() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.creating)
}

// create is a call that lasts until it is answered.
func (s *site) create(ctx context.Context, name string) error {
	s.mu.Lock()
	answer := make(chan error, 1)
	s.creating = append(s.creating, name)
	s.answers[name] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.creating = slices.DeleteFunc(s.creating, func(other string) bool { return other == name })
	}()
	select {
	case err := <-answer:
		return err
	case <-s.end:
		return errors.New("the test is over")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer a create, once it has come.
func (ts *tenants) answer(name string, err error) {
	ts.t.Helper()
	ts.Eventually(ts.site.working).Should(ContainElement(name))
	ts.site.mu.Lock()
	defer ts.site.mu.Unlock()
	ts.site.answers[name] <- err
}

// tenants are owners of one thing each at the same endpoint, whose graph has a lock and credentials.
type tenants struct {
	*fixture
	site *site
	all  map[string]*fixture
}

// withTenants runs a test in simulated time, for a turn is kept for seconds only.
func withTenants(t *testing.T, limit int, test func(*tenants)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := inMemory(t)
		f.pool = &creates.Pool{Limit: limit}
		s := &site{answers: map[string]chan error{}, end: make(chan struct{})}
		defer close(s.end)
		test(&tenants{fixture: f, site: s, all: map[string]*fixture{}})
	})
}

// reconcile lets an owner ask for its thing, and returns the reason of its condition.
func (ts *tenants) reconcile(name, credentials, lock string) string {
	ts.t.Helper()
	f, known := ts.all[name]
	if !known {
		f = inMemoryAs(ts.t, name)
		f.pool, f.service = ts.pool, ts.service
		ts.all[name] = f
	}
	kind := f.service.kind()
	kind.Service = &graph.Service{Endpoint: "the site"}
	owner := f.owner()
	g, err := f.engine().New(ts.t.Context(), owner, []string{credentials}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	want := f.want("thing")
	want.Lock = func() string { return lock }
	create := want.Create
	want.Create = func(ctx context.Context, key graph.Key) (graph.Call[thing], error) {
		call, err := create(ctx, key)
		return func(ctx context.Context) (*thing, error) {
			if err := ts.site.create(ctx, name); err != nil {
				return nil, err
			}
			return call(ctx)
		}, err
	}
	graph.Add(g, kind, want)
	_, _ = g.Reconcile(ts.t.Context()) // a refusal is in the condition too
	for _, c := range owner.Status.Conditions {
		if c.Type == "thingReady" {
			if c.Status == metav1.ConditionTrue {
				return "Ready"
			}
			return c.Reason
		}
	}
	return ""
}

// settles waits until an owner has its thing.
func (ts *tenants) settles(name, credentials, lock string) {
	ts.t.Helper()
	ts.Eventually(func() string { return ts.reconcile(name, credentials, lock) }).Should(Equal("Ready"))
}

func TestTurn_createsWithOneLockGoOneAfterTheOtherWhateverTheirCredentials(t *testing.T) {
	t.Parallel()
	withTenants(t, 10, func(ts *tenants) {
		ts.Expect(ts.reconcile("a", "one", "large")).To(Equal("Creating"))
		ts.Expect(ts.reconcile("b", "two", "large")).To(Equal("Queued"))
		ts.Expect(ts.reconcile("c", "one", "small")).To(Equal("Creating"))
		ts.Expect(ts.reconcile("d", "one", "")).To(Equal("Creating"))
		ts.Expect(ts.reconcile("e", "one", "")).To(Equal("Creating"))
		ts.Eventually(ts.site.working).Should(ConsistOf("a", "c", "d", "e"))
		before := ts.service.called("find")
		ts.Expect(ts.reconcile("b", "two", "large")).To(Equal("Queued"))
		ts.Expect(ts.service.called("find")).To(Equal(before), "who has to wait asks nothing")

		ts.answer("a", nil)
		ts.Eventually(func() string { return ts.reconcile("b", "two", "large") }).Should(Equal("Creating"))
		ts.settles("a", "one", "large")
		for _, name := range []string{"b", "c", "d", "e"} {
			ts.answer(name, nil)
		}
		ts.settles("b", "two", "large")
	})
}

// The next one starts when the answer is there, not at its next poll.
func TestTurn_wakesWhoIsNextAtOnce(t *testing.T) {
	t.Parallel()
	withTenants(t, 1, func(ts *tenants) {
		queue := ts.woken()
		ts.Expect(ts.reconcile("a", "one", "")).To(Equal("Creating"))
		ts.Expect(ts.reconcile("b", "one", "")).To(Equal("Queued"))
		ts.answer("a", nil)
		ts.Eventually(queue.Len).Should(Equal(2), "the owner of the answer, and the next one")
	})
}

// One tenant with many objects doesn't hold up another one at the same endpoint.
func TestTurn_goesRoundTheCredentials(t *testing.T) {
	t.Parallel()
	withTenants(t, 1, func(ts *tenants) {
		ts.Expect(ts.reconcile("many-0", "many", "")).To(Equal("Creating"))
		for n := 1; n < 6; n++ {
			ts.Expect(ts.reconcile(fmt.Sprintf("many-%d", n), "many", "")).To(Equal("Queued"))
		}
		ts.Expect(ts.reconcile("single", "other", "")).To(Equal("Queued"))
		ts.answer("many-0", nil)
		ts.Eventually(func() string { return ts.reconcile("single", "other", "") }).Should(Equal("Creating"))
		ts.answer("single", nil)
		ts.settles("single", "other", "")
	})
}

// An owner that is deleted, or never comes back, doesn't keep the others waiting.
func TestTurn_isNotKeptForAnOwnerThatIsGone(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*tenants){
		"deleted":          func(ts *tenants) { ts.all["b"].delete() },
		"without a reason": func(*tenants) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withTenants(t, 1, func(ts *tenants) {
				ts.Expect(ts.reconcile("a", "one", "")).To(Equal("Creating"))
				ts.Expect(ts.reconcile("b", "one", "")).To(Equal("Queued"))
				ts.Expect(ts.reconcile("c", "one", "")).To(Equal("Queued"))
				queue := ts.woken()
				leave(ts)
				ts.answer("a", nil)
				ts.Eventually(queue.Len, 10*time.Second).Should(BeNumerically(">=", 2))
				ts.Eventually(func() string { return ts.reconcile("c", "one", "") }, 10*time.Second).Should(Equal("Creating"))
				ts.answer("c", nil)
			})
		})
	}
}

// Fewer creates run at an endpoint that doesn't answer, or says that there were too many; more again when it does.
func TestTurn_limitFollowsWhatTheEndpointCanDo(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"no answer": fmt.Errorf("no answer in time: %w", context.DeadlineExceeded),
		"too many":  &fault.Error{Class: fault.Busy, Op: "create thing", Overloaded: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withTenants(t, 4, func(ts *tenants) {
				for n := range 4 {
					ts.Expect(ts.reconcile(fmt.Sprintf("first-%d", n), "one", "")).To(Equal("Creating"))
				}
				ts.Eventually(ts.site.working).Should(HaveLen(4))
				for n := range 4 {
					ts.answer(fmt.Sprintf("first-%d", n), failure)
				}
				ts.Eventually(ts.site.working).Should(BeEmpty())
				ts.Eventually(func() string { return ts.reconcile("second", "one", "") }).Should(Equal("Creating"))
				ts.Expect(ts.reconcile("third", "one", "")).To(Equal("Queued"), "one at a time now")
				ts.Eventually(ts.site.working).Should(ConsistOf("second"))
				ts.answer("second", nil)
				ts.settles("second", "one", "")
				ts.Eventually(func() string { return ts.reconcile("third", "one", "") }).Should(Equal("Creating"))
				ts.Expect(ts.reconcile("fourth", "one", "")).To(Equal("Creating"), "after a good answer two")
				ts.Expect(ts.reconcile("fifth", "one", "")).To(Equal("Queued"))
				ts.Eventually(ts.site.working).Should(ConsistOf("third", "fourth"))
				ts.answer("third", nil)
				ts.answer("fourth", nil)
			})
		})
	}
}

// When it shuts down, the manager starts nothing and interrupts nothing.
func TestDrain_waitsForCreatesAtWorkAndLetsNoneBegin(t *testing.T) {
	t.Parallel()
	withTenants(t, 2, func(ts *tenants) {
		ts.Expect(ts.reconcile("a", "one", "")).To(Equal("Creating"))
		ts.Eventually(ts.site.working).Should(ConsistOf("a"))
		stop, ended := context.WithCancel(ts.t.Context())
		drained := make(chan struct{})
		go func() { defer close(drained); _ = ts.pool.Start(stop) }()
		ended()
		synctest.Wait() // the pool has heard of it
		ts.Expect(ts.reconcile("b", "one", "")).To(Equal("Queued"))
		ts.Consistently(drained, 200*time.Millisecond).ShouldNot(BeClosed())
		ts.answer("a", nil)
		ts.Eventually(drained).Should(BeClosed())
		ts.Expect(ts.reconcile("b", "one", "")).To(Equal("Queued"))
		ts.Expect(ts.service.keys()).To(Equal([]string{"thing"}))
	})
}

// A process that was suspended after it had written the intention doesn't send the create when it continues: by then
// another one may have found nothing, settled the attempt and made its own.
func TestCreate_isNotSentAfterItsDeadline(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createTimeout = settle / 3
	suspended := 0
	f.write = func() error {
		suspended++
		f.clock.Step(settle / 3) // the write goes through, and then nothing runs
		return nil
	}
	owner, err := f.reconcile()
	f.Expect(err).To(MatchError(ContainSubstring("not sent")))
	f.Expect(suspended).To(BeNumerically(">", 0))
	f.Expect(f.service.keys()).To(BeEmpty())
	f.expectCondition(owner, "netReady", metav1.ConditionUnknown, "Transient", "held up for more than 4s: it is tried again")

	f.write = nil
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(ContainElement("net"), "it is known that nothing was made, so nothing has to settle")
}

func TestCreate_endsAtItsDeadline(t *testing.T) {
	t.Parallel()
	withTenants(t, 1, func(ts *tenants) {
		ts.createTimeout = 100 * time.Millisecond
		ts.all["a"] = ts.fixture
		ts.Expect(ts.reconcile("a", "one", "")).To(Equal("Creating"))
		ts.Eventually(ts.site.working).Should(BeEmpty())
		ts.Eventually(func() string { return ts.reconcile("a", "one", "") }).Should(Equal("Settling"))
	})
}
