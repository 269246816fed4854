package orphans_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/orphans"
)

// The ledger of an object that lives says that the user has kept what carries its tag: released, or named while it may have been attempted.
// docs of the package: what may be the user's own isn't listed as an orphan.
func TestFind_whatALedgerHasReleasedIsNoOrphan(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ledgerv1.Ledger){
		"released": func(l *ledgerv1.Ledger) {
			l.Spec.Entries, l.Spec.Released = l.Spec.Entries[1:], []string{"box box-1"}
		},
		"named, and attempted again": func(l *ledgerv1.Ledger) {
			l.Spec.Entries[0] = ledgerv1.Entry{Key: "box", Kind: "box", State: ledgerv1.Bound, ID: "box-9"}
			l.Spec.Released = []string{"box box-1"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := &shop{boxes: map[string]toy{"box-1": {id: "box-1", owner: living}, "box-9": {id: "box-9", owner: living}}, toys: map[string]toy{}, parts: map[string]toy{}}
			if name == "released" {
				delete(s.boxes, "box-9")
			}
			c := management(g)
			l := &ledgerv1.Ledger{}
			g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "red", Name: ledgerv1.Name("ConfigMap", "lives")}, l)).To(Succeed())
			change(l)
			g.Expect(c.Update(t.Context(), l)).To(Succeed())
			report, err := orphans.Find(t.Context(), c, s.system(), orphans.Options{Owners: []string{living}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.Delete(t.Context(), c)).To(Succeed())
			g.Expect(s.boxes).To(HaveKey("box-1"), "the user's own: %+v", report.Orphans)
		})
	}
}
