package actuator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmmorphans "github.com/bedplate/bedplate/internal/bmm/orphans"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/orphans"
)

// A hub on such Machines that runs the Cluster API provider too would else delete its own nodes.
func TestOrphans_areNotWhatMachinesHave(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.ready("worker-1")
	find := func() *orphans.Report {
		report, err := orphans.Find(t.Context(), f.Client, bmmorphans.System, orphans.Options{
			Secrets: []types.NamespacedName{{Namespace: f.Namespace, Name: "bmm"}}, Egress: egress.Policy{Loopback: true},
		})
		f.Expect(err).NotTo(HaveOccurred())
		for _, what := range report.Incomplete { // other tests lose ledgers
			f.Expect(what).To(And(ContainSubstring("its ledger is lost"), Not(ContainSubstring(f.Namespace))))
		}
		return report
	}
	report := find()
	f.Expect(report.Orphans).To(BeEmpty())
	f.Expect(report.LeftOut).NotTo(ContainElement(ContainSubstring(f.Namespace)), "other tests lose ledgers")

	owner := f.OwnerID(m)
	f.stopping()
	bmmtest.Change(f.Fixture, m, func(m *machinev1.Machine) { m.Finalizers = nil })
	f.Delete(m)
	f.UntilGone(m)
	f.Expect(find().Orphans).To(ConsistOf(And(HaveField("Kind", "instance"), HaveField("Owner", owner))))
}
