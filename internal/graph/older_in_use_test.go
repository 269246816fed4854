package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// An older ledger was put back. What it lacks lies in what it has, so the service doesn't delete that.
func TestDelete_takesAwayWhatAnOlderLedgerLacksIfThatUsesTheRest(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("net")} })
	net := f.service.mustFind("net").id
	f.service.before = func(call string) error {
		if call == "delete "+net && len(f.service.things) > 1 {
			return &fault.Error{Class: fault.Conflict, Err: errors.New("it is in use")}
		}
		return nil
	}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	owner, done := f.deletes()
	f.Expect(done).To(BeTrue(), "%v %v", f.service.changes(), meta.FindStatusCondition(owner.Status.Conditions, "Ready"))
	f.Expect(f.service.things).To(BeEmpty())
}
