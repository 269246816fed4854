package cluster_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// A load balancer whose create wasn't answered is in the subnets that leave. It is searched for, although new ones wait for these.
func TestSubnets_waitForTheRangeOfOneThatAnUnansweredLoadBalancerIsIn(t *testing.T) {
	t.Parallel()
	f := powervstest.StartCloud(t)
	f.RunProvider(powervstest.Poll, 8*time.Second)
	f.Fault(simulator.Fault{
		Operation: "vpc.createLoadBalancer", Kind: simulator.FaultCommitLate,
		Hold: metav1.Duration{Duration: 100 * time.Second}, Delay: metav1.Duration{Duration: 12000 * time.Second},
	})
	c := f.CreateCluster("demo")
	f.Eventually(func() int { return f.Called("vpc.createLoadBalancer") }).Should(Equal(1))
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "ranged", Zone: "us-south-1", Ipv4CidrBlock: "10.240.0.128/25"}, {Name: "free"}}
	})
	f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("free", "ranged"))
	f.UntilReady(c)
	f.Expect(f.Called("vpc.createLoadBalancer")).To(Equal(1))
}

// A load balancer stays in the subnets that leave while a new one is missing. They aren't deleted under it, poll by poll.
func TestSubnets_stayWhileTheLoadBalancerIsInThem(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo")
	f.UntilReady(c)
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "free"}, {ID: "0717-00000000-0000-4000-8000-00000000dead"}}
	})
	f.UntilReason(c, infrav1.VPCSubnetReadyCondition, "NotFound", "")
	f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ContainElement("free"))
	f.Consistently(func() int { return f.Called("vpc.deleteSubnet") }, "1s").Should(BeZero())
}

// A subnet of the user's own isn't deleted when it leaves the spec: nothing waits for that.
func TestSubnets_doNotWaitForTheRangeOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	own := f.MakeOwn()
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPC.ID, c.Spec.VPCSubnets = own.VPC, []infrav1.Subnet{{ID: own.Subnet}}
	})
	f.UntilReady(c)
	old, err := f.API().Subnet(t.Context(), powervstest.Region, own.Subnet)
	f.Expect(err).NotTo(HaveOccurred())
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "ranged", Zone: "us-south-1", Ipv4CidrBlock: old.CIDR}}
	})
	f.UntilReason(c, infrav1.VPCSubnetReadyCondition, "Invalid", "")
}

// A load balancer of the user's own is where the user has put it. It doesn't come after the new subnets, so that no old one is kept for it.
func TestSubnets_leaveBesideALoadBalancerOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"ID", "name"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			f := powervstest.Start(t)
			own := f.MakeOwn()
			c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
				c.Spec.VPC.ID, c.Spec.LoadBalancers = own.VPC, []infrav1.VPCLoadBalancerSpec{{ID: own.Balancer}}
				if by == "name" {
					c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "own-balancer"}}
				}
			})
			f.UntilReady(c)
			old, err := f.API().Subnet(t.Context(), powervstest.Region, c.Status.VPCSubnet["demo-vpcsubnet-us-south-1"].ID)
			f.Expect(err).NotTo(HaveOccurred())
			powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
				c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "ranged", Zone: "us-south-1", Ipv4CidrBlock: old.CIDR}}
			})
			f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("own-subnet", "ranged"))
			f.UntilReady(c)
		})
	}
}

// A new subnet with a range that the service refuses waits for no old one. The load balancer leaves those as if it did: they can't be
// deleted under it.
func TestSubnets_leaveBesideOneWithARangeThatIsRefused(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "one"}, {Name: "two"}}
	})
	f.UntilReady(c)
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "one"}, {Name: "ranged", Zone: "us-south-1", Ipv4CidrBlock: "192.168.9.0/24"}}
	})
	f.UntilReason(c, infrav1.VPCSubnetReadyCondition, "Invalid", "")
	f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("one"))
	f.Expect(f.Called("vpc.deleteSubnet")).To(Equal(1))
}

// A load balancer whose create has made nothing is in no subnet.
func TestSubnets_waitForNoLoadBalancerThatWasNotMade(t *testing.T) {
	t.Parallel()
	f := powervstest.StartCloud(t)
	f.RunProvider(powervstest.Poll, powervstest.Settle)
	f.Fault(simulator.Fault{
		Operation: "vpc.createLoadBalancer", Kind: simulator.FaultHang, Hold: metav1.Duration{Duration: 100 * time.Second},
	})
	c := f.CreateCluster("demo")
	f.Eventually(func() int { return f.Called("vpc.createLoadBalancer") }).Should(Equal(1))
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "ranged", Zone: "us-south-1", Ipv4CidrBlock: "10.240.0.128/25"}}
	})
	f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("ranged"))
	f.UntilReady(c)
}
