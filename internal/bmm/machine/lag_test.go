package machine_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// What is changed shows late, and an instance's status stays what it was: the same change isn't asked for again meanwhile.
func TestLag_aChangeIsAskedForOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, operation string
		change          func(*bmmtest.Fixture, *infrav1.NvidiaBMMCluster)
	}{
		{"VPC", "updateVpc", func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) {
			bmmtest.Change(f, c, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Labels = infrav1.ResourceLabels{"team": "b"} })
		}},
		{"group", "updateNetworkSecurityGroup", func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) {
			bmmtest.Change(f, c, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup.Rules[0].Name = "other" })
		}},
		{"instance", "updateInstance", func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) {
			users := f.MakeGroup("users")
			bmmtest.Change(f, c, func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: users}
			})
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, func(w *sim.Config) {
				lag := 16 * bmmtest.Poll * time.Duration(w.Speed) // longer than the slowest poll
				w.Times.ViewLag.Duration, w.Times.Freeze.Duration = lag, lag
			})
			vpc := infrav1.VPCSpec{NetworkSecurityGroup: group.DeepCopy()}
			switch row.name {
			case "VPC":
				vpc.NetworkSecurityGroup = nil
			case "instance":
				vpc.ID = f.MakeVPC("users", bmm.EthernetVirtualizer)
			}
			cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC = vpc })
			f.UntilReady(cluster)
			object := f.CreateMachine("demo", "worker-1", userData)
			f.UntilReady(object)

			row.change(f, cluster)
			changing := func() []string { return append(f.Events(cluster, "Changing"), f.Events(object, "Changing")...) }
			f.Eventually(changing).Should(ContainElement(ContainSubstring("is being changed"))) // a condition may be over too soon to be seen
			f.UntilReady(cluster)
			f.UntilReady(object)
			f.Expect(f.Called(row.operation)).To(Equal(1))
		})
	}
}
