package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
)

// A rehearsal of a restore, as docs/backup.md has it: paused, and never unpaused. It is deleted again, its Cluster first, while the
// first management cluster continues with what the ledgers name.
func TestRehearsal_isTakenAwayWithoutWhatItsLedgersName(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)

	owner := &clusterv1.Cluster{}
	owner.Namespace, owner.Name = f.Namespace, "demo"
	bmmtest.Change(f, owner, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	f.UntilTrue(cluster, clusterv1.PausedCondition)
	f.UntilTrue(object, clusterv1.PausedCondition)
	for _, o := range []client.Object{cluster, object} { // as restored: of the first management cluster's objects
		ledger := f.Ledger(o)
		ledger.Spec.Home, ledger.Spec.OwnerUID, ledger.OwnerReferences[0].UID = "the-first", "of-the-first", "of-the-first"
		f.Expect(f.Client.Update(t.Context(), ledger)).To(Succeed())
	}
	before := writes(f)

	f.Delete(owner)
	f.UntilGone(owner)
	f.Delete(object)
	f.Delete(cluster)
	f.Consistently(func() map[string]int { return writes(f) }, 60*bmmtest.Poll).Should(Equal(before))
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Invalid", "is that of another management cluster")
	f.Consistently(func() map[string]int { return writes(f) }, 5*bmmtest.Poll).Should(Equal(before))
	f.Expect(f.Sim.State().Instances).To(ConsistOf(HaveField("Status", BeEquivalentTo("Ready"))))
}
