package provider_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// What the existing provider gets wrong with clusters, and what is wrong with the service.

func TestTrap_whatIsFoundByNameIsNeverDeleted(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	own := f.MakeOwn()
	before := f.Cloud.State()
	c := f.CreateCluster("demo", ownNames)
	f.UntilReady(c)
	f.Expect(c.Status.VPC).To(Equal(&infrav1.ResourceReference{ID: own.VPC}))
	f.Expect(c.Status.LoadBalancers["own-balancer"].ControllerCreated).To(BeFalse())
	f.Expect(f.Called("vpc.createSecurityGroupRule")).To(Equal(1), "none in the group of the user's own, not even for a while")
	f.Delete(c)
	f.UntilGone(c)
	f.Eventually(f.Moving).Should(BeEmpty())
	f.Expect(f.Cloud.State()).To(Equal(before))
}

func TestTrap_aSubnetOfAnotherVPCWithThatNameIsNotUsed(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	own := f.MakeOwn()
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "own-subnet"}}
		c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "own-balancer"}}
	})
	f.UntilReady(c)
	f.Expect(c.Status.VPCSubnet["own-subnet"]).To(And(HaveField("ID", Not(Equal(own.Subnet))), HaveField("ControllerCreated", true)))
	f.Expect(c.Status.LoadBalancers["own-balancer"]).To(And(HaveField("ID", Not(Equal(own.Balancer))), HaveField("ControllerCreated", true)))
}

func TestTrap_aFailedListMakesNoSecondGateway(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	gateway, err := f.API().CreateTransitGateway(t.Context(), ibm.TransitGatewayRequest{
		Name: "shared", Location: powervstest.Region, ResourceGroupID: sim.DefaultResourceGroupID,
	})
	f.Expect(err).NotTo(HaveOccurred())
	heal := f.Refuse(http.StatusInternalServerError, "transit.listTransitGateways")
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { c.Spec.TransitGateway = &infrav1.TransitGateway{Name: "shared"} })
	f.UntilReason(c, infrav1.TransitGatewayReadyCondition, "Transient", "list transit gateways")
	f.Expect(f.Called("transit.createTransitGateway")).To(Equal(1), "the user's own")
	heal()
	f.UntilReady(c)
	f.Expect(c.Status.TransitGateway).To(And(HaveField("ID", gateway.ID), HaveField("ControllerCreated", false)))
	f.Expect(f.Called("transit.createTransitGateway")).To(Equal(1))
}

func TestTrap_aCreateThatIsAnsweredWithAnErrorHasWorked(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	for _, operation := range []string{
		"power.createDHCPServer", "vpc.createLoadBalancer", "resourceController.createResourceKey", "vpc.createSecurityGroupRule",
		"resourceController.createResourceInstance", "transit.createTransitGatewayConnection", "cos.createBucket",
	} {
		f.Fault(simulator.Fault{Operation: operation, Kind: simulator.FaultStatusAfter, Status: http.StatusInternalServerError})
	}
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { ignition(c, "boot", "demo-boot") })
	f.UntilReady(c)
	for kind, count := range map[sim.Kind]int{
		sim.KindDHCPServer: 1, sim.KindLoadBalancer: 1, sim.KindResourceKey: 1, sim.KindInstance: 2, sim.KindConnection: 2, sim.KindBucket: 1,
		sim.KindSecurityRule: 3, // two came with the VPC
	} {
		f.Expect(f.Made(kind)).To(HaveLen(count), string(kind))
	}
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.Cloud.State().Empty()).To(BeTrue())
}

func TestTrap_aRuleIsRetriedAndMadeOnce(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	heal := f.Refuse(http.StatusBadRequest, "vpc.createSecurityGroupRule")
	c := f.CreateCluster("demo")
	f.UntilReason(c, infrav1.VPCReadyCondition, "Invalid", "create security group rule")
	heal()
	f.UntilReady(c)
	calls := f.Called("vpc.createSecurityGroupRule")
	reconciles := f.Reconciles.Count()
	f.Eventually(f.Reconciles.Count).Should(BeNumerically(">", reconciles+3))
	f.Expect(f.Called("vpc.createSecurityGroupRule")).To(Equal(calls))
	f.Expect(f.Made(sim.KindSecurityRule)).To(HaveLen(3), "two came with the VPC")
}

func TestTrap_aLoadBalancerThatIsPendingIsNotReady(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	own := f.MakeOwn()
	f.Expect(f.Cloud.SetStatus(sim.Status{ID: own.Balancer, Status: "create_pending"})).To(Succeed())
	c := f.CreateCluster("demo", ownNames)
	f.UntilReason(c, infrav1.LoadBalancerReadyCondition, "Waiting", "load balancer own-balancer is in status create_pending")
	f.UntilTrue(c, infrav1.TransitGatewayReadyCondition)
	f.Expect(c.Status.Initialization.Provisioned).To(BeNil())
	f.Expect(c.Spec.ControlPlaneEndpoint.Host).To(BeEmpty())
	f.Expect(f.Cloud.SetStatus(sim.Status{ID: own.Balancer})).To(Succeed())
	f.UntilReady(c)
	f.Expect(c.Spec.ControlPlaneEndpoint.Host).To(Equal(c.Status.LoadBalancers["own-balancer"].Hostname))
}

func TestTrap_aNetworkWithoutADHCPServerIsEnough(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.ServiceInstance = &infrav1.IBMPowerVSResourceReference{ID: powervstest.WorkspaceID}
		c.Spec.Network = &infrav1.IBMPowerVSResourceReference{ID: powervstest.NetworkID}
	})
	f.UntilReady(c)
	f.Expect(c.Status.Network).To(Equal(&infrav1.ResourceReference{ID: powervstest.NetworkID}))
	f.Expect(c.Status.DHCPServer).To(BeNil())
	f.Expect(f.Made(sim.KindDHCPServer)).To(BeEmpty())
}

func TestTrap_aWorkspaceThatIsGoneIsNoObstacle(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo")
	f.UntilReady(c)
	heal := f.Refuse(http.StatusInternalServerError, "resourceController.deleteResourceInstance")
	f.Delete(c)
	f.UntilReason(c, infrav1.WorkspaceReadyCondition, "Transient", "delete")
	f.Expect(f.Cloud.Vanish(c.Status.ServiceInstance.ID)).To(Succeed())
	heal()
	f.UntilGone(c)
	f.Expect(f.Cloud.State().Empty()).To(BeTrue())
}

func TestTrap_noConditionIsFalseBecauseItIsReady(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo")
	f.Eventually(func(g Gomega) bool {
		g.Expect(f.Read(c)).To(Succeed())
		for _, condition := range c.Status.Conditions {
			if condition.Status == metav1.ConditionFalse {
				f.Expect(condition.Reason).NotTo(Equal("Ready"), condition.Type)
			}
		}
		return meta.IsStatusConditionTrue(c.Status.Conditions, graph.ReadyCondition)
	}).Should(BeTrue())
	f.Expect(f.Called("iam.createToken")).To(Equal(1), "one login for all reconciles")
}

// A create that isn't answered holds up what comes after it, and nothing else.
func TestTrap_aCreateThatHangsHoldsUpItsBranchOnly(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	f.Fault(simulator.Fault{Operation: "power.createDHCPServer", Kind: simulator.FaultHang, Times: -1})
	c := f.CreateCluster("demo")
	f.UntilTrue(c, infrav1.LoadBalancerReadyCondition)
	f.UntilTrue(c, infrav1.TransitGatewayReadyCondition)
	f.UntilReason(c, infrav1.NetworkReadyCondition, "Creating", "still creating the network")
	f.Cloud.ClearFaults()
	f.UntilReady(c)
	f.Expect(f.Made(sim.KindDHCPServer)).To(HaveLen(1))
}
