package graph_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// slow makes creates of things last until the returned function is called.
func (f *fixture) slow() (answer func()) {
	gate := make(chan struct{})
	f.slowly = func() { <-gate }
	f.t.Cleanup(func() { f.slowly = nil })
	return func() { close(gate) }
}

// woken starts to listen for owners that the pool wakes.
func (f *fixture) woken() workqueue.TypedRateLimitingInterface[reconcile.Request] {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	f.t.Cleanup(queue.ShutDown)
	f.Expect(f.pool.Woken(&bmmv1.NvidiaBMMCluster{}).Start(f.t.Context(), queue)).To(Succeed())
	return queue
}

func TestPool_holdsUpNoReconcileAndWakesTheOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pool = &creates.Pool{Limit: 10}
	queue := f.woken()
	answer := f.slow()

	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Creating", "the service is still creating the thing")
	f.expectCondition(owner, "lonelyReady", metav1.ConditionFalse, "Creating", "")
	owner, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Creating", "")
	f.Expect(queue.Len()).To(BeZero())

	answer()
	f.Eventually(queue.Len).Should(Equal(1))
	f.Eventually(func() int { return len(f.service.keys()) }).Should(Equal(2))
	f.Eventually(func() error {
		_, err := f.reconcile()
		f.Expect(err).NotTo(HaveOccurred())
		if got := f.service.keys(); len(got) != len(everything) {
			return errors.New("not all there")
		}
		return nil
	}).Should(Succeed())
	f.Expect(f.service.keys()).To(Equal(everything))
	f.Expect(f.service.called("find")).To(BeNumerically("==", 6), "each is looked for twice, but for the first one, and not when it was answered")
}

func TestPool_letsNoMoreCreatesBeAtWorkThanItMayAndWakesWhoeverIsNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a turn is kept for two seconds, and then it is the other's
		f := inMemory(t)
		f.pool = &creates.Pool{Limit: 1}
		queue := f.woken()
		answer := f.slow()

		owner, err := f.reconcile()
		f.Expect(err).NotTo(HaveOccurred())
		f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Creating", "")
		f.expectCondition(owner, "lonelyReady", metav1.ConditionFalse, "Queued", "concurrent create limit reached; queued")
		f.Expect(f.ledger().Entry("lonely")).To(BeNil(), "nothing is intended before its turn")

		other := inMemoryAs(t, "other")
		other.pool, other.service = f.pool, f.service
		owner, err = other.reconcile()
		f.Expect(err).NotTo(HaveOccurred())
		f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Queued", "")

		answer()
		f.Eventually(queue.Len).Should(Equal(1), "the owner itself, once: its own turn and its own answer")
	})
}

func TestPool_isPatientWithAQuickService(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pool = &creates.Pool{Limit: 1, Patience: time.Minute}
	queue := f.woken()
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "Ready", metav1.ConditionTrue, "Ready", "")
	f.Consistently(queue.Len, 100*time.Millisecond).Should(BeZero(), "who has the answer needn't be woken")
}

func TestPool_deletesWhatItIsAtWorkOnAfterwards(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pool = &creates.Pool{Limit: 10}
	f.below = nil
	answer := f.slow()
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.clock.Step(2 * settle)
	owner, done := f.delete()
	f.Expect(done).To(BeFalse(), "however long it takes")
	f.expectCondition(owner, "netReady", metav1.ConditionFalse, "Creating", "which is deleted afterwards")
	answer()
	f.Eventually(func() bool {
		_, done := f.delete()
		f.service.finish()
		return done
	}).Should(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
}
