package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// As TestGroup_thatIsPendingHoldsNoMachineUpAndOneInErrorDoes: none is made while the group is gone, either.
func TestGroup_thatIsGoneHoldsMachinesUp(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc, users := f.MakeVPC("users", bmm.EthernetVirtualizer), f.MakeGroup("users")
	cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC = infrav1.VPCSpec{ID: vpc, NetworkSecurityGroup: &infrav1.NetworkSecurityGroupSpec{ID: users}}
	})
	f.UntilReady(cluster)
	f.Expect(f.Sim.Vanish(users)).To(Succeed())
	f.UntilReason(cluster, infrav1.NSGReadyCondition, "Missing", "name another one in the spec")
	late := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReason(late, infrav1.ClusterReadyCondition, "Waiting", "NvidiaBMMCluster demo isn't ready yet")
	f.Expect(f.Called("createInstance")).To(BeZero())
}
