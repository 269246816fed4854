package actuator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/machineapi"
)

func TestMachine_becomesAnInstanceAndGoes(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.ready("worker-1")
	f.untilPhase(m, machinev1.PhaseProvisioned)
	i := f.instances()["worker-1"]
	f.Expect(m.Spec.ProviderID).To(HaveValue(Equal("nvidia-bmm://" + sim.DefaultSiteID + "/" + i.ID)))
	f.Expect(m.Status.Addresses).To(ConsistOf(
		corev1.NodeAddress{Type: corev1.NodeHostName, Address: "worker-1"},
		corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "worker-1"}, // OpenShift approves certificates by it
		corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: i.Interfaces[0].IPAddresses[0]}))
	f.Expect(m.Annotations).To(HaveKeyWithValue(machineapi.InstanceStateAnnotation, "Ready"))
	f.Expect(m.Labels).To(And(HaveKeyWithValue(machineapi.RegionLabel, "zurich"),
		HaveKeyWithValue(machineapi.ZoneLabel, "site-1"), HaveKeyWithValue(machineapi.InstanceTypeLabel, "cpu.large")))
	status := statusOf(m)
	f.Expect(status.Kind).To(Equal("NvidiaBMMMachineProviderStatus"))
	f.Expect(status).To(And(HaveField("InstanceID", i.ID), HaveField("InstanceState", "Ready"), HaveField("MachineID", i.MachineID)))
	f.Expect(f.Rack.Started()).To(ConsistOf(HaveField("UserData", MatchJSON(ignition))))

	f.Delete(m)
	f.UntilGone(m)
	f.Expect(f.instances()).To(BeEmpty())
	f.Expect(f.Sim.State().Releases).To(ConsistOf(HaveField("MachineHealthIssue", BeNil())))
}
