package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// A ledger that names nothing (an older one) is written before the sweep, for its home or its finalizer: if it were closed then, the
// next reconcile would take that for the proof that all is gone.
func TestLedger_isNotClosedBeforeTheSweep(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ledgerv1.Ledger){
		"another home":  func(l *ledgerv1.Ledger) { l.Spec.Home = "elsewhere" },
		"no finalizer":  func(l *ledgerv1.Ledger) { l.Finalizers = nil },
		"no references": func(l *ledgerv1.Ledger) { l.OwnerReferences = nil },
		"nothing else":  func(*ledgerv1.Ledger) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
			f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil; change(l) })
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			f.service.before = func(call string) error {
				if call == "find" {
					return &fault.Error{Class: fault.Transient, Op: call, Err: errors.New("503")}
				}
				return nil
			}
			// as a controller does: internal/bmm/machine/controller.go, reconcile
			look := func() (over bool) {
				owner := f.owner()
				if f.ownsNothing(owner) {
					over, err := f.engine().NothingToLookFor(t.Context(), owner)
					f.Expect(err).NotTo(HaveOccurred())
					if over {
						return true
					}
				}
				g, _ := f.graphOf(owner)
				over, _, _ = g.Delete(t.Context())
				return over
			}
			for range 3 {
				f.Expect(look()).To(BeFalse(), "the finalizer goes, and this is left: %v", f.service.keys())
			}
		})
	}
}
