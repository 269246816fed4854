package provider_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/soaktest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// patient is how long trouble may take to be overcome on a busy computer.
const patient = 4 * time.Minute

func simulated(seconds int) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(seconds) * time.Second}
}

// A fifth of all calls go wrong in every way there is, from the first call to the last one.
func TestTrouble_aFifthOfAllCallsFail(t *testing.T) {
	t.Parallel()
	_, seed := soaktest.Options(t, time.Second)
	f := powervstest.StartCloud(t)
	// Longer than any late commit, on a computer however busy: an attempt's time is written in whole seconds.
	f.RunProvider(2*powervstest.Poll, 6*time.Second)
	f.SetDefaultEventuallyTimeout(patient)
	f.Expect(f.Cloud.StartChaos(simulator.Chaos{Seed: seed, Rate: 0.2, Hold: simulated(300), Delay: simulated(3000)})).To(Succeed())
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { ignition(c, "boot", "demo-boot") })
	f.UntilReady(c)
	for kind, count := range map[sim.Kind]int{
		sim.KindInstance: 2, sim.KindDHCPServer: 1, sim.KindVPC: 1, sim.KindSubnet: 3, sim.KindSecurityRule: 3, sim.KindLoadBalancer: 1,
		sim.KindTransitGateway: 1, sim.KindConnection: 2, sim.KindBucket: 1, sim.KindResourceKey: 1,
	} {
		f.Expect(f.Made(kind)).To(HaveLen(count), string(kind))
	}
	f.Delete(c)
	f.UntilGone(c)
	f.Eventually(func() bool { return f.Cloud.State().Empty() }).Should(BeTrue())
}

func TestTrouble_twoClustersOfOneNameInOneAccount(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	first := f.CreateCluster("demo")
	f.UntilReady(first)
	before := f.Cloud.State()
	other := *f
	other.Namespace = testenv.Namespace(t)
	other.RunProvider(powervstest.Poll, powervstest.Settle)
	second := other.CreateCluster("demo")
	for condition, name := range map[string]string{
		infrav1.WorkspaceReadyCondition: "demo-serviceInstance", infrav1.VPCReadyCondition: "demo-vpc",
	} {
		other.UntilReason(second, condition, "Conflict", name)
	}
	other.Delete(second)
	other.UntilGone(second)
	f.Expect(f.Cloud.State()).To(Equal(before), "the first one's are as they were")

	// With names of its own it gets resources of its own.
	third := other.CreateCluster("other")
	other.UntilReady(third)
	f.Expect(f.Made(sim.KindVPC)).To(ConsistOf("demo-vpc", "other-vpc"))
}

func TestTrouble_aQuotaIsExhausted(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, func(c *sim.Config) { c.Quotas.LoadBalancers = 1 })
	own := f.MakeOwn()
	c := f.CreateCluster("demo")
	f.UntilReason(c, infrav1.LoadBalancerReadyCondition, "Quota", "quota")
	f.UntilTrue(c, infrav1.NetworkReadyCondition)
	f.Expect(f.API().DeleteLoadBalancer(t.Context(), powervstest.Region, own.Balancer)).To(Succeed())
	f.UntilReady(c)
}

func TestTrouble_aZoneWithoutAnEdgeRouter(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { c.Spec.Zone = "osa21" })
	f.UntilReason(c, infrav1.ZoneReadyCondition, "Invalid", "choose another spec.zone")
	f.Expect(f.Made(sim.KindInstance)).To(BeEmpty())
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.Zone = "nowhere1" })
	f.UntilReason(c, infrav1.ZoneReadyCondition, "Invalid", "correct spec.zone")
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.Zone = sim.DefaultZone })
	f.UntilReady(c)
}

func TestTrouble_theKeyIsDisabled(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo")
	f.UntilReady(c)
	before := f.Cloud.State()
	f.Expect(f.Cloud.DisableKey(sim.DefaultAPIKey, true)).To(Succeed())
	f.Cloud.ExpireTokens()
	f.UntilReason(c, infrav1.WorkspaceReadyCondition, "Credentials", "apiKey")
	f.Delete(c)
	f.UntilReason(c, infrav1.WorkspaceReadyCondition, "Deleting", "waits until connection/powervs")
	f.UntilReason(c, infrav1.TransitGatewayReadyCondition, "Credentials", "apiKey")
	f.Expect(f.Cloud.State()).To(Equal(before), "nothing is given up")
	f.Expect(f.Cloud.DisableKey(sim.DefaultAPIKey, false)).To(Succeed())
	f.UntilGone(c)
	f.Expect(f.Cloud.State().Empty()).To(BeTrue())
}

// A cluster is deleted when a create has just been sent, is lost, or is done late.
func TestTrouble_deletedInEachPhase(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	for i, operation := range []string{
		"resourcecontroller.createResourceInstance", "power.createDHCPServer", "vpc.createVPC", "vpc.createSubnet", "vpc.createLoadBalancer",
		"transit.createTransitGateway", "transit.createTransitGatewayConnection",
	} {
		f.Fault(simulator.Fault{Operation: operation, Kind: simulator.FaultLoseAnswer, Times: -1})
		called := f.Called(operation)
		c := f.CreateCluster(fmt.Sprintf("demo-%d", i))
		f.Eventually(func() int { return f.Called(operation) }).Should(BeNumerically(">", called), operation)
		f.Delete(c)
		f.UntilGone(c)
		f.Cloud.ClearFaults()
		f.Expect(f.Cloud.State().Empty()).To(BeTrue(), operation)
	}
}
