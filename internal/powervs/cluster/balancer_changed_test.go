package cluster_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// Admission refuses a change only when the status shows the load balancer.
func TestLoadBalancer_isComparedWithASpecThatChangedDuringItsCreate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*infrav1.VPCLoadBalancerSpec){
		"subnets": func(b *infrav1.VPCLoadBalancerSpec) { b.Subnets = []infrav1.VPCResource{{Name: "right"}} },
		"listener": func(b *infrav1.VPCLoadBalancerSpec) {
			b.AdditionalListeners = []infrav1.AdditionalListenerSpec{{Port: 443, Protocol: infrav1.LoadBalancerProtocolTCP}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := powervstest.StartCloud(t)
			f.RunProvider(powervstest.Poll, 8*time.Second)
			f.Fault(simulator.Fault{ // it is made after the change, and before it is settled that it won't be
				Operation: "vpc.createLoadBalancer", Kind: simulator.FaultCommitLate,
				Hold: metav1.Duration{Duration: 100 * time.Second}, Delay: metav1.Duration{Duration: 12000 * time.Second},
			})
			c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
				c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "left", Zone: "us-south-1"}, {Name: "right", Zone: "us-south-2"}}
				c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "front"}}
			})
			f.Eventually(func() int { return f.Called("vpc.createLoadBalancer") }).Should(Equal(1))
			f.Expect(f.Read(c)).To(Succeed())
			before := c.Spec.LoadBalancers[0]
			powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { change(&c.Spec.LoadBalancers[0]) })
			f.UntilReason(c, infrav1.LoadBalancerReadyCondition, "Invalid", "load balancer front was made by an entry")
			powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.LoadBalancers[0] = before })
			f.UntilReady(c)
			f.Expect(f.Called("vpc.createLoadBalancer")).To(Equal(1))
		})
	}
}
