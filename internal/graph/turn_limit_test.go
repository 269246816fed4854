package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

// What one tenant asks for too early, or how its login is, says nothing of what the endpoint can do.
func TestTurn_limitIsNotLoweredByWhatATenantDoes(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"something of its own isn't ready": &fault.Error{Class: fault.Busy, Op: "create VPC peering"},
		"its login doesn't answer": &fault.Error{
			Class: fault.Transient, Op: "log in", Err: fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withTenants(t, 2, func(ts *tenants) {
				ts.Expect(ts.reconcile("bad", "one", "")).To(Equal("Creating"))
				ts.answer("bad", failure)
				ts.Eventually(ts.site.working).Should(BeEmpty())
				ts.Eventually(func() string { return ts.reconcile("good-0", "other", "") }).Should(Equal("Creating"))
				ts.Expect(ts.reconcile("good-1", "other", "")).To(Equal("Creating"))
				ts.answer("good-0", nil)
				ts.answer("good-1", nil)
			})
		})
	}
}

// An answer that isn't one says nothing of what the endpoint can do, either.
func TestTurn_limitGrowsWithGoodAnswersOnly(t *testing.T) {
	t.Parallel()
	withTenants(t, 2, func(ts *tenants) {
		ts.Expect(ts.reconcile("first", "one", "")).To(Equal("Creating"))
		ts.answer("first", &fault.Error{Class: fault.Busy, Op: "create thing", Overloaded: true})
		ts.Eventually(ts.site.working).Should(BeEmpty())
		for n := range 2 {
			name := fmt.Sprintf("down-%d", n)
			ts.Eventually(func() string { return ts.reconcile(name, "one", "") }).Should(Equal("Creating"))
			ts.answer(name, &fault.Error{Class: fault.Transient, Op: "create thing", Err: errors.New("connection refused")})
			ts.Eventually(ts.site.working).Should(BeEmpty())
		}
		ts.Eventually(func() string { return ts.reconcile("second", "one", "") }).Should(Equal("Creating"))
		ts.Expect(ts.reconcile("third", "one", "")).To(Equal("Queued"), "one at a time still")
		ts.answer("second", nil)
	})
}
