package graph_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Where all workers are busy, owners come later than their turn is kept. If each of them lost it to the next one, which is
// too late as well, nothing would ever be created.
func TestTurn_goesToSomebodyWhereAllComeLate(t *testing.T) {
	t.Parallel()
	withTenants(t, 1, func(ts *tenants) {
		ts.Expect(ts.reconcile("a", "one", "large")).To(Equal("Creating"))
		ts.Expect(ts.reconcile("b", "one", "large")).To(Equal("Queued"))
		ts.Expect(ts.reconcile("c", "one", "large")).To(Equal("Queued"))
		ts.answer("a", nil)
		ts.Eventually(ts.site.working).Should(BeEmpty())
		time.Sleep(500 * time.Millisecond)
		var reasons []string
		for _, late := range []string{"b", "c", "b", "c"} { // each of them half a second after the end of its turn
			time.Sleep(2 * time.Second)
			reasons = append(reasons, ts.reconcile(late, "one", "large"))
		}
		ts.Expect(reasons).To(ContainElement("Creating"))
		for _, name := range ts.site.working() {
			ts.answer(name, nil)
		}
	})
}

// A tenant whose creates hang gets as many turns as another one whose creates are answered at once, but not all of them at
// the same time.
func TestTurn_isNotTakenByCreatesThatHangWhereOthersWait(t *testing.T) {
	t.Parallel()
	withTenants(t, 2, func(ts *tenants) {
		for n := range 2 {
			ts.Expect(ts.reconcile(fmt.Sprintf("hangs-%d", n), "slow", "")).To(Equal("Creating"))
		}
		for n := 2; n < 4; n++ {
			ts.Expect(ts.reconcile(fmt.Sprintf("hangs-%d", n), "slow", "")).To(Equal("Queued"))
		}
		for n := range 2 {
			ts.Expect(ts.reconcile(fmt.Sprintf("quick-%d", n), "quick", "")).To(Equal("Queued"))
		}
		ts.answer("hangs-0", nil)
		for n := range 2 { // the other turn of the two hangs all the time
			name := fmt.Sprintf("quick-%d", n)
			quick := func() string { return ts.reconcile(name, "quick", "") }
			ts.Eventually(quick).WithTimeout(1500*time.Millisecond).Should(Equal("Creating"), name)
			ts.answer(name, nil)
		}
		ts.answer("hangs-1", nil)
	})
}

// An owner that was deleted while it waited has nothing outside, and is released without a graph.
func TestTurn_isNotKeptForAnOwnerThatWasLetGo(t *testing.T) {
	t.Parallel()
	withTenants(t, 1, func(ts *tenants) {
		ts.Expect(ts.reconcile("a", "one", "large")).To(Equal("Creating"))
		for _, name := range []string{"b", "c", "d"} {
			ts.Expect(ts.reconcile(name, "one", "large")).To(Equal("Queued"))
		}
		for _, name := range []string{"b", "c"} {
			gone := ts.all[name]
			ts.Expect(gone.client.Delete(ts.t.Context(), gone.owner())).To(Succeed())
			ts.Expect(gone.engine().Release(ts.t.Context(), gone.owner(), finalizer)).To(Succeed())
		}
		ts.answer("a", nil)
		ts.Eventually(func() string { return ts.reconcile("d", "one", "large") }).WithTimeout(1500 * time.Millisecond).Should(Equal("Creating"))
		ts.answer("d", nil)
	})
}
