package provider_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// plain runs a provider with a cluster for which nothing is created.
func plain(t *testing.T, change ...func(*sim.Config)) *powervstest.Fixture {
	f := powervstest.Start(t, append([]func(*sim.Config){powervstest.WithWorkspace}, change...)...)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	return f
}

var cloudConfig = []byte("#cloud-config\n")

func servers(f *powervstest.Fixture) func() []string {
	return func() []string { return f.Made(sim.KindServer) }
}

// fromImport has a machine boot from an image that is imported for it.
func fromImport(m *infrav1.IBMPowerVSMachine) {
	m.Spec.Image, m.Spec.ImageRef = nil, &infrav1.LocalObjectReference{Name: "rhcos"}
}

// The peer removes the finalizer of a machine that has no instance ID yet.
func TestTrap_aMachineDeletedBeforeItsIDWasSavedLeavesNoVM(t *testing.T) {
	t.Parallel()
	f := plain(t)
	f.Fault(simulator.Fault{Operation: "power.createServer", Kind: simulator.FaultLoseAnswer})
	machine := f.CreateMachine("demo", "worker-1", cloudConfig)
	f.Eventually(servers(f)).Should(ConsistOf("worker-1"))
	f.Delete(machine)
	f.UntilGone(machine)
	f.Expect(servers(f)()).To(BeEmpty())
}

func TestTrap_aVMThatWasMadeInSpiteOfAnErrorIsFoundByItsTag(t *testing.T) {
	t.Parallel()
	f := plain(t)
	f.Fault(simulator.Fault{Operation: "power.createServer", Kind: simulator.FaultStatusAfter, Status: http.StatusInternalServerError})
	machine := f.CreateMachine("demo", "worker-1", cloudConfig)
	f.UntilProvisioned(machine)
	f.Expect(servers(f)()).To(ConsistOf("worker-1"))
	f.Expect(f.Called("power.createServer")).To(Equal(1))
}

// The peer never gets rid of a machine whose VM is gone.
func TestTrap_aVMThatIsGoneIsNoObstacle(t *testing.T) {
	t.Parallel()
	f := plain(t)
	missing := f.CreateMachine("demo", "missing", cloudConfig)
	f.UntilProvisioned(missing)
	f.Expect(f.Cloud.Vanish(missing.Status.InstanceID)).To(Succeed())
	f.Delete(missing)
	f.UntilGone(missing)

	gone := f.CreateMachine("demo", "gone", cloudConfig)
	f.UntilProvisioned(gone)
	f.Expect(f.Cloud.Vanish(gone.Status.InstanceID)).To(Succeed())
	heal := f.Refuse(http.StatusGone, "power.getServer", "power.deleteServer")
	f.Delete(gone)
	f.UntilGone(gone)
	heal()
}

// A workspace that doesn't answer isn't one whose VMs are gone.
func TestTrap_anOutageIsNoProofThatAVMIsGone(t *testing.T) {
	t.Parallel()
	f := plain(t)
	machine := f.CreateMachine("demo", "worker-1", cloudConfig)
	f.UntilProvisioned(machine)
	heal := f.Refuse(http.StatusServiceUnavailable, "power.getServer", "power.listServers", "power.deleteServer")
	f.Delete(machine)
	f.Consistently(func() error { return f.Read(machine) }, "500ms").Should(Succeed())
	f.Expect(servers(f)()).To(ConsistOf("worker-1"))
	heal()
	f.UntilGone(machine)
	f.Expect(servers(f)()).To(BeEmpty())
}

// The peer adds members to pools and never removes them.
func TestTrap_membersOfPoolsAreRemoved(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	f.CreateCluster("demo")
	f.CreateImage("demo", "rhcos")
	var machines []*infrav1.IBMPowerVSMachine
	for _, name := range []string{"control-1", "control-2"} { // each makes the load balancer busy for the other
		machine := f.NewMachine(powervstest.ControlPlane, "demo", name, cloudConfig, fromImport)
		f.Create(machine)
		machines = append(machines, machine)
	}
	for _, machine := range machines {
		f.UntilProvisioned(machine)
	}
	f.Expect(f.Made(sim.KindMember)).To(HaveLen(2))
	f.Delete(machines[0])
	f.UntilGone(machines[0])
	f.Expect(f.Made(sim.KindMember)).To(HaveLen(1))
	f.Expect(servers(f)()).To(ConsistOf("control-2"))
}

// The peer wants a DHCP server's ID for a network that is given by its ID, and looks for an address once.
func TestTrap_anAddressIsFoundLateAndWithoutTheIDOfADHCPServer(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace, func(c *sim.Config) { c.Times.Lease.Duration = 15 * time.Hour })
	in := ibm.Workspace{Zone: sim.DefaultZone, ID: powervstest.WorkspaceID}
	dhcp, err := f.API().CreateDHCPServer(t.Context(), in, ibm.DHCPServerRequest{Name: "theirs"})
	f.Expect(err).NotTo(HaveOccurred())
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.Network = &infrav1.IBMPowerVSResourceReference{ID: dhcp.Network.ID}
	}))
	machine := f.CreateMachine("demo", "worker-1", cloudConfig)
	f.UntilReason(machine, infrav1.AddressReadyCondition, "Waiting", "has no address yet")
	f.Expect(meta.IsStatusConditionTrue(machine.Status.Conditions, infrav1.InstanceReadyCondition)).To(BeTrue())
	f.UntilProvisioned(machine)
	f.Expect(machine.Status.Addresses).To(ContainElement(HaveField("Type", clusterv1.MachineInternalIP)))
}

// The peer gets a token and new clients for each reconcile.
func TestTrap_machinesShareAToken(t *testing.T) {
	t.Parallel()
	f := plain(t)
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		f.UntilProvisioned(f.CreateMachine("demo", name, cloudConfig))
	}
	f.Expect(f.Called("iam.createToken")).To(Equal(1))
}

// To the peer "too many requests" is an error like any other.
func TestTrap_tooManyRequestsAreRepeatedLater(t *testing.T) {
	t.Parallel()
	f := plain(t)
	f.Fault(simulator.Fault{Operation: "power.createServer", Kind: simulator.FaultStatus, Status: http.StatusTooManyRequests, Times: 3})
	machine := f.CreateMachine("demo", "worker-1", cloudConfig)
	f.UntilProvisioned(machine)
	f.Expect(servers(f)()).To(ConsistOf("worker-1"))
}

// The peer's URL isn't signed, and answers 403. That of a machine works, for an hour: see package machine.
func TestTrap_aMachineThatNeedsASignedURLWaitsForTheKey(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	f.UntilReady(f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { ignition(c, "demo-cos", "demo-bucket") }))
	f.UntilReady(f.CreateImage("demo", "rhcos"))
	heal := f.Refuse(http.StatusServiceUnavailable, "resourcecontroller.getResourceKey")
	f.CreateBootstrapData("worker-1", "ignition", []byte(`{"ignition": {"version": "2.3.0"}}`))
	machine := f.NewMachine(func(m *clusterv1.Machine) {
		m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: ptr.To("worker-1-bootstrap")}
	}, "demo", "worker-1", nil, fromImport)
	f.Create(machine)
	f.UntilReason(machine, infrav1.InstanceReadyCondition, "Transient", "")
	f.Expect(servers(f)()).To(BeEmpty())
	heal()
	f.UntilProvisioned(machine)
	f.Expect(string(f.UserData(machine.Status.InstanceID))).To(ContainSubstring("X-Amz-Signature="))
}
