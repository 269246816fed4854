package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Tag of the owner, but without a key.
func TestSweep_takesWhatHasLostItsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("net")} })
	f.service.mustFind("lonely").tag.Key = ""
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	owner, done := f.deletes()
	f.Expect(done).To(BeTrue(), "%v; left: %q", owner.Status.Conditions, f.service.keys())
}

// A deletion with an older ledger, while one of two services is down: what was created at the other one is deleted all
// the same.
func TestSweep_goesOnWhileOneServiceIsDown(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("lonely")} })
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	other := newService()
	other.before = func(string) error {
		return &fault.Error{Class: fault.Transient, Op: "connect", Err: errors.New("refused")}
	}
	for range 6 {
		down := other.kind()
		down.Name, down.Service = "other", &graph.Service{Endpoint: "down"} // before "thing"
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, f.service.kind(), down)
		f.Expect(err).NotTo(HaveOccurred())
		_, _, err = g.Delete(t.Context())
		t.Log(err)
		f.service.finish()
	}
	f.Expect(f.service.keys()).To(BeEmpty())
}

// "--yours: the resource is your own: Bedplate never changes or deletes it." It carries our tag.
func TestSweep_leavesWhatAnOperatorHasCalledTheUsers(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("left")} })
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "net", Kind: "thing", ID: "id-1", Own: false})).To(Succeed())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.deletes()
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.calls)
}
