package graph_test

import (
	"context"
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
			ts := newTenants(t, 2)
			ts.Expect(ts.reconcile("bad", "one", "")).To(Equal("Creating"))
			ts.answer("bad", failure)
			ts.Eventually(ts.site.working).Should(BeEmpty())
			ts.Eventually(func() string { return ts.reconcile("good-0", "other", "") }).Should(Equal("Creating"))
			ts.Expect(ts.reconcile("good-1", "other", "")).To(Equal("Creating"))
			ts.answer("good-0", nil)
			ts.answer("good-1", nil)
		})
	}
}
