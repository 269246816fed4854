package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// Its status was written, and not its provider ID. Then a ledger from before the virtual machine was put back.
func TestMachine_withoutAProviderIDIsDeletedWithAnOlderLedger(t *testing.T) {
	t.Parallel()
	for name, vanished := range map[string]bool{"while it exists": false, "when it is gone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := powervstest.StartCloud(t, powervstest.WithWorkspace)
			stop := run(f)
			f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
			made := f.CreateMachine("demo", "worker-1", userData)
			f.UntilProvisioned(made)
			stop()
			ledger := f.Ledger(made)
			powervstest.Change(f, made, func(m *infrav1.IBMPowerVSMachine) { m.Finalizers = nil })
			f.Delete(made)
			machine := made.DeepCopy()
			machine.UID, machine.ResourceVersion, machine.Spec.ProviderID = "", "", ""
			machine.Finalizers = []string{infrav1.MachineFinalizer}
			f.Create(machine)
			machine.Status = infrav1.IBMPowerVSMachineStatus{InstanceID: made.Status.InstanceID}
			f.Expect(f.Client.Status().Update(t.Context(), machine)).To(Succeed())
			ledger.Spec.Entries, ledger.OwnerReferences[0].UID = nil, machine.UID
			f.Expect(f.Client.Update(t.Context(), ledger)).To(Succeed())
			if vanished {
				f.Expect(f.Cloud.Vanish(made.Status.InstanceID)).To(Succeed())
			}
			f.Delete(machine)
			run(f)
			f.UntilGone(machine)
			f.Expect(servers(f)).To(BeEmpty())
		})
	}
}
