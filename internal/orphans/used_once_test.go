package orphans_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/orphans"
)

// The object that lives has used what was made for another one, and doesn't any more. That other one is gone: what it has left is an orphan, and
// nothing uses it.
func TestFind_whatAnotherHasUsedOnceIsAnOrphan(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &shop{boxes: map[string]toy{"box-1": {id: "box-1", owner: living}, "box-2": {id: "box-2", owner: gone}}, toys: map[string]toy{}, parts: map[string]toy{}}
	c := management(g)
	l := &ledgerv1.Ledger{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "red", Name: ledgerv1.Name("ConfigMap", "lives")}, l)).To(Succeed())
	l.Spec.Released = []string{"box box-2"}
	g.Expect(c.Update(t.Context(), l)).To(Succeed())
	report, err := orphans.Find(t.Context(), c, s.system(), orphans.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range report.LeftOut {
		t.Log(o.ID, o.Why)
	}
	g.Expect(report.Orphans).To(ContainElement(HaveField("ID", "box-2")))
}
