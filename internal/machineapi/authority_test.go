package machineapi_test

import (
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/machineapi"
)

func TestAuthority_clusterAPIsMachinesAreLeftToIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(m *machinev1.Machine) { m.Spec.AuthoritativeAPI = machinev1.MachineAuthorityClusterAPI })
	f.reconcile()
	f.Expect(f.machine().Status.AuthoritativeAPI).To(Equal(machinev1.MachineAuthorityClusterAPI))
	f.expectCondition(machineapi.PausedCondition, corev1.ConditionTrue, "AuthoritativeAPINotMachineAPI", "'ClusterAPI'")
	f.Expect(f.machine().Finalizers).To(BeEmpty())
	f.Expect(f.cloud.calls).To(BeEmpty())
}

func TestAuthority_goesThereAndBack(t *testing.T) {
	t.Parallel()
	f := newRunning(t)
	f.expectCondition(machineapi.PausedCondition, corev1.ConditionFalse, "AuthoritativeAPIMachineAPI", "'MachineAPI'")
	f.cloud.calls = map[string]int{}
	for _, authority := range []machinev1.MachineAuthority{machinev1.MachineAuthorityMigrating, machinev1.MachineAuthorityClusterAPI} {
		f.changeStatus(func(m *machinev1.Machine) { m.Status.AuthoritativeAPI = authority })
		f.reconcile()
		f.expectCondition(machineapi.PausedCondition, corev1.ConditionTrue, "AuthoritativeAPINotMachineAPI", string(authority))
	}
	f.delete()
	f.reconcile()
	f.Expect(f.cloud.calls).To(BeEmpty(), "not even for a deletion")
	f.expectPhase(machinev1.PhaseRunning)

	for _, authority := range []machinev1.MachineAuthority{machinev1.MachineAuthorityMigrating, machinev1.MachineAuthorityMachineAPI} {
		f.changeStatus(func(m *machinev1.Machine) { m.Status.AuthoritativeAPI = authority })
	}
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
}
