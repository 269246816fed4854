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

// Admission refuses another zone or another range only when the status shows the subnet.
func TestSubnet_isComparedWithASpecThatChangedDuringItsCreate(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(*infrav1.Subnet){
		"(zone: us-south-1 → us-south-2)":       func(s *infrav1.Subnet) { s.Zone = "us-south-2" },
		"(cidr: 10.240.1.0/24 → 10.240.2.0/24)": func(s *infrav1.Subnet) { s.Ipv4CidrBlock = "10.240.2.0/24" },
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			f := powervstest.StartCloud(t)
			f.RunProvider(powervstest.Poll, 8*time.Second)
			f.Fault(simulator.Fault{ // it is made after the change, and before it is settled that it won't be
				Operation: "vpc.createSubnet", Kind: simulator.FaultCommitLate,
				Hold: metav1.Duration{Duration: 100 * time.Second}, Delay: metav1.Duration{Duration: 12000 * time.Second},
			})
			c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
				c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "left", Zone: "us-south-1", Ipv4CidrBlock: "10.240.1.0/24"}}
			})
			f.Eventually(func() int { return f.Called("vpc.createSubnet") }).Should(Equal(1))
			f.Expect(f.Read(c)).To(Succeed())
			before := c.Spec.VPCSubnets[0]
			powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { change(&c.Spec.VPCSubnets[0]) })
			f.UntilReason(c, infrav1.VPCSubnetReadyCondition, "Invalid", "subnet left can't be changed "+says+": put back what it was")
			powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets[0] = before })
			f.UntilReady(c)
			f.Expect(f.Called("vpc.createSubnet")).To(Equal(1))
		})
	}
}
