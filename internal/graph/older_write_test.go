package graph_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// What the sweep has found is in memory only. After a failed write it must count neither as gone nor as recorded.
func TestDelete_isNotDoneWhenAWriteFails(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]bool{"one thing": false, "several": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			back := func(kind *graph.Kind[thing]) { kind.GoneAfter = time.Hour }
			f.Expect(f.round(f.owner(), graph.Create(), back)).To(Succeed())
			if below {
				_, err := f.reconcile()
				f.Expect(err).NotTo(HaveOccurred())
			}
			f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			f.service.before = func(call string) error { // lists are behind
				if strings.HasPrefix(call, "get") {
					return &fault.Error{Class: fault.NotFound, Err: errors.New("404")}
				}
				return nil
			}
			f.write = func() error { return errors.New("connection reset") }
			g, _ := f.graphOf(f.owner(), back)
			done, _, _ := g.Delete(t.Context())
			f.Expect(done).To(BeFalse(), "the service may bring them back, and nothing of that is written")
		})
	}
}

// What an older ledger lacks is in memory only, until something is written.
func TestDelete_goesOnAfterAWriteOfAnOlderLedgerHasFailed(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	left := *ledger.Entry("left")
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{left} })
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	delete(f.service.things, left.ID)
	f.write = func() error { return errors.New("connection reset") }
	g, _ := f.graphOf(f.shown())
	f.Expect(func() { _, _, _ = g.Delete(t.Context()) }).NotTo(Panic())
	f.write = nil
	f.deleteAll(func() graph.Owner { return f.shown() })
}
