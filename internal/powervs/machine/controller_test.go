package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var userData = []byte("#cloud-config\nhostname: worker-1\n")

func TestMachine_becomesAVirtualMachineAndIsDeleted(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	machine := f.CreateMachine("demo", "worker-1", userData)
	f.UntilProvisioned(machine)

	server := f.Cloud.State()[sim.KindServer][0]
	f.Expect(server.Name).To(Equal("worker-1"))
	f.Expect(machine.Spec.ProviderID).To(Equal("ibmpowervs://dal/dal10/" + powervstest.WorkspaceID + "/" + server.ID))
	status := machine.Status
	f.Expect(status.InstanceID).To(Equal(server.ID))
	f.Expect([]string{status.InstanceState, status.Health, status.Fault}).To(Equal([]string{"ACTIVE", "OK", ""}))
	f.Expect([]string{status.Region, status.Zone}).To(Equal([]string{"dal", "dal10"}))
	f.Expect(status.Ready).To(BeTrue())
	f.Expect(status.Addresses).To(ConsistOf(
		clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: "worker-1"},
		clusterv1.MachineAddress{Type: clusterv1.MachineInternalDNS, Address: "worker-1"},
		clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: "192.168.200.3"},
	))

	f.Delete(machine)
	f.UntilGone(machine)
	f.Expect(f.Made(sim.KindServer)).To(BeEmpty())
}

// A cluster for which nothing is created needs to name neither: its machines may.
func TestMachine_namesItsOwnWorkspaceAndNetwork(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.ServiceInstance, c.Spec.Network = nil, nil
	}))
	machine := f.CreateMachine("demo", "worker-1", userData, func(m *infrav1.IBMPowerVSMachine) {
		m.Spec.ServiceInstance = &infrav1.IBMPowerVSResourceReference{ID: powervstest.WorkspaceID}
		m.Spec.Network = &infrav1.IBMPowerVSResourceReference{RegEx: "^no"}
	})
	f.UntilProvisioned(machine)
	f.Expect(machine.Spec.ProviderID).To(ContainSubstring(powervstest.WorkspaceID))

	lost := f.CreateMachine("demo", "worker-2", userData)
	f.UntilReason(lost, infrav1.ClusterReadyCondition, "Waiting", "set spec.serviceInstance of the cluster")
}

// address that a machine shows in its network.
func address(m *infrav1.IBMPowerVSMachine) string {
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineInternalIP {
			return a.Address
		}
	}
	return ""
}
