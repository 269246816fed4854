package cluster_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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
			changesDuringItsCreate(t, "vpc.createLoadBalancer", infrav1.LoadBalancerReadyCondition, "load balancer front was made by an entry",
				func(c *infrav1.IBMPowerVSCluster) {
					c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "left", Zone: "us-south-1"}, {Name: "right", Zone: "us-south-2"}}
					c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "front"}}
				},
				func(c *infrav1.IBMPowerVSCluster) { change(&c.Spec.LoadBalancers[0]) })
		})
	}
}

// Admission refuses another zone or another range only when the status shows the subnet.
func TestSubnet_isComparedWithASpecThatChangedDuringItsCreate(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(*infrav1.Subnet){
		"(zone: us-south-1 → us-south-2)":       func(s *infrav1.Subnet) { s.Zone = "us-south-2" },
		"(cidr: 10.240.1.0/24 → 10.240.2.0/24)": func(s *infrav1.Subnet) { s.Ipv4CidrBlock = "10.240.2.0/24" },
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			changesDuringItsCreate(t, "vpc.createSubnet", infrav1.VPCSubnetReadyCondition, "subnet left can't be changed "+says+": put back what it was",
				func(c *infrav1.IBMPowerVSCluster) {
					c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "left", Zone: "us-south-1", Ipv4CidrBlock: "10.240.1.0/24"}}
				},
				func(c *infrav1.IBMPowerVSCluster) { change(&c.Spec.VPCSubnets[0]) })
		})
	}
}

// Admission refuses another DHCP server, or other routing, only when the status shows what was made.
func TestNetworkAndGateway_areComparedWithASpecThatChangedDuringTheirCreates(t *testing.T) {
	t.Parallel()
	example := func(global *bool) func(*infrav1.IBMPowerVSCluster) {
		return func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.DHCPServer = &infrav1.DHCPServer{Cidr: "192.168.77.0/24"}
			c.Spec.TransitGateway = &infrav1.TransitGateway{Name: "gate", GlobalRouting: global}
		}
	}
	const server, gateway = "power.createDHCPServer", "transit.createTransitGateway"
	for name, row := range map[string]struct {
		create, condition, says string
		change                  func(*infrav1.IBMPowerVSCluster)
		global                  *bool
	}{
		"DNS server": {server, infrav1.NetworkReadyCondition, "DHCP server demo was made by a spec.dhcpServer that was changed meanwhile",
			func(c *infrav1.IBMPowerVSCluster) { c.Spec.DHCPServer.DNSServer = "9.9.9.9" }, nil},
		"range": {server, infrav1.NetworkReadyCondition, "DHCP server demo was made by a spec.dhcpServer that was changed meanwhile",
			func(c *infrav1.IBMPowerVSCluster) { c.Spec.DHCPServer.Cidr = "192.168.78.0/24" }, nil},
		"SNAT": {server, infrav1.NetworkReadyCondition, "DHCP server demo was made by a spec.dhcpServer that was changed meanwhile",
			func(c *infrav1.IBMPowerVSCluster) { c.Spec.DHCPServer.Snat = ptr.To(false) }, nil},
		"routing": {gateway, infrav1.TransitGatewayReadyCondition, "transit gateway gate was made by a spec.transitGateway.globalRouting",
			func(c *infrav1.IBMPowerVSCluster) { c.Spec.TransitGateway.GlobalRouting = ptr.To(true) }, nil},
		"routing, no longer given": {gateway, infrav1.TransitGatewayReadyCondition, "transit gateway gate was made by a spec.transitGateway.globalRouting",
			func(c *infrav1.IBMPowerVSCluster) { c.Spec.TransitGateway.GlobalRouting = nil }, ptr.To(true)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changesDuringItsCreate(t, row.create, row.condition, row.says, example(row.global), row.change)
		})
	}
}

// The default load balancer is the same when it is written out, and when it is taken out again.
func TestLoadBalancer_staysWhenTheDefaultOneIsWrittenOut(t *testing.T) {
	t.Parallel()
	none, written := []infrav1.VPCLoadBalancerSpec(nil), []infrav1.VPCLoadBalancerSpec{{Name: "demo-loadbalancer"}} // public: true by the API
	for name, lists := range map[string][2][]infrav1.VPCLoadBalancerSpec{"written out": {none, written}, "taken out": {written, none}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := powervstest.Start(t)
			c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { c.Spec.LoadBalancers = lists[0] })
			f.UntilReady(c)
			before := c.Status.LoadBalancers
			powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.LoadBalancers = lists[1] })
			f.Eventually(func(g Gomega) {
				g.Expect(f.Read(c)).To(Succeed())
				ready := meta.FindStatusCondition(c.Status.Conditions, infrav1.LoadBalancerReadyCondition)
				g.Expect(ready).To(And(HaveField("ObservedGeneration", c.Generation), HaveField("Reason", "Ready")), "%+v", ready)
			}).Should(Succeed())
			f.Expect(c.Status.LoadBalancers).To(Equal(before))
			f.Expect(f.Called("vpc.createLoadBalancer")).To(Equal(1))
			f.Expect(f.Called("vpc.updateLoadBalancer") + f.Called("vpc.deleteLoadBalancer")).To(BeZero())
		})
	}
}

// changesDuringItsCreate changes the spec of a cluster while a part of it is created. The condition says so until the spec is put back.
func changesDuringItsCreate(t *testing.T, create, condition, says string, example, change func(*infrav1.IBMPowerVSCluster)) {
	f := powervstest.StartCloud(t)
	f.RunProvider(powervstest.Poll, 8*time.Second)
	f.Fault(simulator.Fault{ // it is made after the change, and before it is settled that it won't be
		Operation: create, Kind: simulator.FaultCommitLate,
		Hold: metav1.Duration{Duration: 100 * time.Second}, Delay: metav1.Duration{Duration: 12000 * time.Second},
	})
	c := f.CreateCluster("demo", example)
	f.Eventually(func() int { return f.Called(create) }).Should(Equal(1))
	f.Expect(f.Read(c)).To(Succeed())
	before := c.Spec.DeepCopy()
	powervstest.Change(f, c, change)
	f.UntilReason(c, condition, "Invalid", says)
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		before.ControlPlaneEndpoint = c.Spec.ControlPlaneEndpoint
		c.Spec = *before
	})
	f.UntilReady(c)
	f.Expect(f.Called(create)).To(Equal(1))
}
