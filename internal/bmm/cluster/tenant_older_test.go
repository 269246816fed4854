package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// An update of the manager, whose earlier version has recorded the site under its name only. The spec is the same, so the answer is kept,
// also while it can't be looked up.
func TestTenant_ofAnOlderLedgerIsNotLookedUpAgain(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo")
	f.UntilReady(object)
	site := object.Status.SiteID
	whilePaused(f, object, func() {
		l := f.Ledger(object)
		l.Entry("site").Title = object.Spec.SiteRef.Name
		f.Expect(f.Client.Update(t.Context(), l)).To(Succeed())
		f.Fault(simulator.Fault{Operation: "getCurrentTenant", Times: -1, Kind: simulator.FaultStatus, Status: 503})
	})
	f.Consistently(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.SiteID).To(Equal(site), "%+v", object.Status.Conditions)
		g.Expect(f.Ledger(object).Entry("site")).NotTo(BeNil())
	}, "5s").Should(Succeed())
}
