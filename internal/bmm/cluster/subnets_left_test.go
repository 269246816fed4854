package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// As TestOwnVPC_isReplacedByAnotherWhenItIsGone, and the subnets of ours are still there: they lie in the VPC that is gone. The cluster isn't
// ready with them.
func TestOwnVPC_isReplacedAndTheSubnetsAreStillInTheOtherOne(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc, other := f.MakeVPC("users", bmm.EthernetVirtualizer), f.MakeVPC("another", bmm.EthernetVirtualizer)
	object := f.CreateCluster("demo", in(vpc))
	f.UntilReady(object)
	f.Expect(f.Sim.Vanish(vpc)).To(Succeed())
	f.UntilReason(object, infrav1.VPCReadyCondition, "Missing", "VPC "+vpc+" does not exist: name another one in the spec")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.ID = other }) // the remedy that the condition names
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.VPCID).To(Equal(other))
	}).Should(Succeed())
	f.UntilReason(object, infrav1.SubnetsReadyCondition, "Invalid", "can't be changed (VPC: "+vpc+" → "+other+"): remove it, and add one with another name")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.Subnets[0].Name = "another" })
	f.UntilReady(object)
	f.Expect(f.Sim.State().Subnets).To(ConsistOf(HaveField("VPCID", other)))
	f.Delete(object)
	f.UntilGone(object)
}
