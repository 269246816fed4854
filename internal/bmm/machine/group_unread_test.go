package machine_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// In a VPC of the user's own, the cluster's group is replaced by another one, which can't be read for now. The status still shows the old one.
// No new instance gets that: the group of the spec isn't known yet.
func TestGroup_thatLeftTheSpecIsAttachedToNoNewInstance(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	users, vpc := f.MakeGroup("users"), f.MakeVPC("users", bmm.EthernetVirtualizer)
	cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.ID, c.Spec.VPC.NetworkSecurityGroup = vpc, &group
	})
	f.UntilReady(cluster)
	old := cluster.Status.NetworkSecurityGroupID
	f.Refuse(http.StatusServiceUnavailable, "getNetworkSecurityGroup", "listNetworkSecurityGroups")
	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: users}
	})
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(cluster)).To(Succeed())
		c := meta.FindStatusCondition(cluster.Status.Conditions, infrav1.NSGReadyCondition)
		g.Expect(c.ObservedGeneration).To(Equal(cluster.Generation))
		g.Expect(c.Reason).To(Equal("Transient"), c.Message)
	}).Should(Succeed())
	f.CreateMachine("demo", "worker-1", userData)
	f.Consistently(func(g Gomega) {
		for _, i := range f.Sim.State().Instances {
			g.Expect(i.NetworkSecurityGroupID).NotTo(Equal(old), "it left the spec")
		}
	}, 5*time.Second).Should(Succeed())
}
