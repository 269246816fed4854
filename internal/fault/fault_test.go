package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

func TestQuestionsAboutAnError(t *testing.T) {
	t.Parallel()
	wrapped := func(e *fault.Error) error { return fmt.Errorf("reconcile: %w", e) }
	for name, row := range map[string]struct {
		err       error
		class     fault.Class
		notFound  bool
		ambiguous bool
		otherID   string
	}{
		"no error":                 {},
		"an unclassified error":    {err: errors.New("?"), class: fault.Transient, ambiguous: true},
		"a passed deadline":        {err: context.DeadlineExceeded, class: fault.Transient, ambiguous: true},
		"a proven absence":         {err: wrapped(&fault.Error{Class: fault.NotFound}), class: fault.NotFound, notFound: true},
		"a conflict":               {err: wrapped(&fault.Error{Class: fault.Conflict, OtherID: "x"}), class: fault.Conflict, otherID: "x"},
		"a clear refusal":          {err: wrapped(&fault.Error{Class: fault.Invalid}), class: fault.Invalid},
		"a lost answer":            {err: wrapped(&fault.Error{Class: fault.Transient, Ambiguous: true}), class: fault.Transient, ambiguous: true},
		"a failure before sending": {err: wrapped(&fault.Error{Class: fault.Transient}), class: fault.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(fault.ClassOf(row.err)).To(Equal(row.class))
			g.Expect(fault.IsNotFound(row.err)).To(Equal(row.notFound))
			g.Expect(fault.IsAmbiguous(row.err)).To(Equal(row.ambiguous))
			g.Expect(fault.OtherID(row.err)).To(Equal(row.otherID))
		})
	}
}

func TestError_namesTheOperationAndKeepsTheCause(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cause := errors.New("409 Conflict: name in use")
	err := &fault.Error{Class: fault.Conflict, Op: "create VPC", Err: cause}
	g.Expect(err).To(MatchError("create VPC: 409 Conflict: name in use"))
	g.Expect(errors.Is(err, cause)).To(BeTrue())
}
