package machineapi_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/machineapi"
)

var hook = []machinev1.LifecycleHook{{Name: "Backup", Owner: "test/backup"}}

// First the hooks before the drain, then the drain, then the hooks before the end, the instance, its Node, the Machine.
func TestDelete_inOrder(t *testing.T) {
	t.Parallel()
	f := newRunning(t, func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks = machinev1.LifecycleHooks{PreDrain: hook, PreTerminate: hook}
	})
	f.expectCondition(machinev1.MachineDrainable, corev1.ConditionFalse, machinev1.MachineHookPresent, "Backup of test/backup")
	f.expectCondition(machinev1.MachineTerminable, corev1.ConditionFalse, machinev1.MachineHookPresent, "Backup of test/backup")
	f.cloud.slow = true

	f.delete()
	f.Expect(f.reconcile()).To(BeZero(), "who removes a hook changes the Machine")
	f.expectPhase(machinev1.PhaseDeleting)
	f.Expect(f.node().Spec.Unschedulable).To(BeFalse())

	f.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = nil })
	f.Expect(f.reconcile()).To(BeZero())
	f.Expect(f.node().Spec.Unschedulable).To(BeTrue())
	f.expectCondition(machinev1.MachineDrainable, corev1.ConditionTrue, "", "")
	f.expectCondition(machinev1.MachineDrained, corev1.ConditionTrue, "", "Drain finished successfully")
	f.Expect(f.cloud.called("Delete")).To(BeZero())

	f.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil })
	f.Expect(f.reconcile().RequeueAfter).To(Equal(poll))
	f.Expect(f.cloud.state(f.name)).To(Equal("Terminating"))
	f.Expect(f.machine().Finalizers).To(ConsistOf(machinev1.MachineFinalizer), "terminating is not gone")
	f.Expect(f.nodeIsGone()).To(BeFalse(), "the Node goes after its instance")

	f.cloud.end(f.machine())
	f.reconcile()
	f.Expect(f.nodeIsGone()).To(BeTrue())
	f.Expect(f.isGone()).To(BeTrue())
}

func TestDelete_neverWaitsForReadiness(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		until func(*fixture)
	}{
		{"before anything was made", func(f *fixture) {
			f.cloud.set("Create", errDown)
			_, err := f.try(f.t.Context())
			f.Expect(err).To(HaveOccurred())
		}},
		{"while it is made", func(f *fixture) { f.reconcile() }},
		{"before its Node has come", func(f *fixture) { f.reconcile(); f.reconcile() }},
		{"when its Node is gone already", func(f *fixture) {
			f.reconcile()
			f.reconcile()
			f.join()
			f.Expect(f.client.Delete(f.t.Context(), f.node())).To(Succeed())
		}},
		{"when it has lost its label", func(f *fixture) {
			f.reconcile()
			f.change(func(m *machinev1.Machine) { m.Labels = nil })
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			row.until(f)
			f.delete()
			f.reconcile()
			f.Expect(f.isGone()).To(BeTrue())
			f.Expect(f.cloud.instances).To(BeEmpty())
		})
	}
}

// While Delete has an error or something to wait for, the finalizer stays, whatever Exists says.
func TestDelete_holdsTheMachineUntilItIsDone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reconcile()
	f.cloud.end(f.machine())
	f.delete()
	f.cloud.set("Delete", errDown)
	_, err := f.try(t.Context())
	f.Expect(err).To(MatchError(errDown))
	f.cloud.set("Delete", machineapi.InvalidConfiguration(errDown))
	_, err = f.try(t.Context())
	f.Expect(err).To(MatchError(errDown))
	f.cloud.set("Delete", &machineapi.RequeueAfterError{After: time.Minute})
	f.Expect(f.reconcile().RequeueAfter).To(Equal(time.Minute))
	f.Expect(f.machine().Finalizers).To(ConsistOf(machinev1.MachineFinalizer))

	f.cloud.set("Delete", nil)
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
}

// Another instance may have registered under the same name.
func TestDelete_leavesTheNodeOfAnotherInstance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reconcile()
	f.reconcile()
	f.join(func(n *corev1.Node) { n.Spec.ProviderID = "toy://another" })
	f.delete()
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
	f.Expect(f.nodeIsGone()).To(BeFalse())
}

// Something that was begun while the Machine was released is not lost: the release is under a lock.
func TestDelete_releasesUnderALock(t *testing.T) {
	t.Parallel()
	f := newRunning(t)
	f.delete()
	f.cloud.at = func(_ context.Context, point string, _ *machinev1.Machine) {
		if point == "after Delete" {
			f.cloud.at = func(context.Context, string, *machinev1.Machine) {}
			f.change(func(m *machinev1.Machine) { m.Annotations["new"] = "ledger" })
		}
	}
	f.Expect(f.reconcile().RequeueAfter).NotTo(BeZero())
	f.Expect(f.machine().Finalizers).To(ConsistOf(machinev1.MachineFinalizer))
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
}
