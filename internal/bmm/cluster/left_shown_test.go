package cluster_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
)

// A subnet and a group leave the spec, and no reconcile gets as far as deleting them: they stay in the status, from which an older ledger
// would find them. It shows them until they are gone.
func TestStatus_showsWhatLeftTheSpecUntilItIsGone(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.Subnets = append(c.Spec.Subnets, infrav1.SubnetSpec{Name: "leaves", PrefixLength: c.Spec.Subnets[0].PrefixLength})
		withGroup(c)
	})
	f.UntilReady(object)
	group, subnets := object.Status.NetworkSecurityGroupID, object.Status.Subnets
	f.Expect(group).NotTo(BeEmpty())
	f.Expect(subnets).To(HaveLen(2))
	heal := f.Refuse(http.StatusServiceUnavailable, "getVpc", "listVpcs")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.Subnets, c.Spec.VPC.NetworkSecurityGroup = c.Spec.Subnets[:1], nil
	})
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		vpc := meta.FindStatusCondition(object.Status.Conditions, infrav1.VPCReadyCondition)
		g.Expect(vpc.ObservedGeneration).To(Equal(object.Generation))
		g.Expect(vpc.Reason).To(Equal("Transient"))
	}).Should(Succeed())
	f.Expect(object.Status.NetworkSecurityGroupID).To(Equal(group))
	f.Expect(object.Status.Subnets).To(Equal(subnets))
	heal()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.NetworkSecurityGroupID).To(BeEmpty())
		g.Expect(object.Status.Subnets).To(Equal(subnets[:1]))
	}).Should(Succeed())
	f.Expect(f.Sim.State().NetworkSecurityGroups).To(BeEmpty())
	f.Expect(f.Sim.State().Subnets).To(HaveLen(1))
	f.UntilReady(object)
}
