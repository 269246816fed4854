package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// The VPC is gone, and the user names one that doesn't exist, by mistake. No VPC is known then, so nothing is known of where subnets should
// be: they aren't to be removed from the spec.
func TestSubnets_areNotRefusedWhileNoVPCIsKnown(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	object := f.CreateCluster("demo", in(vpc))
	f.UntilReady(object)
	f.Expect(f.Sim.Vanish(vpc)).To(Succeed())
	f.UntilReason(object, infrav1.VPCReadyCondition, "Missing", "VPC "+vpc+" does not exist: name another one in the spec")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.ID = "0bc00000-0000-4000-8000-00000000000b" }) // the remedy that the condition names
	f.UntilReason(object, infrav1.VPCReadyCondition, "NotFound", object.Spec.VPC.ID)
	c := meta.FindStatusCondition(object.Status.Conditions, infrav1.SubnetsReadyCondition) // of the same reconcile
	f.Expect(c.Reason).NotTo(Equal("Invalid"), c.Message)
}
