package machineapi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/machineapi"
)

func TestMachine_goesThroughItsPhases(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	held := false
	f.cloud.at = func(_ context.Context, point string, _ *machinev1.Machine) {
		if point == "before Create" {
			held = len(f.machine().Finalizers) == 1
		}
	}
	f.Expect(f.reconcile().RequeueAfter).To(Equal(poll), "as the actuator asked")
	f.Expect(held).To(BeTrue(), "the finalizer is there before anything is made")
	f.Expect(f.machine().Finalizers).To(ConsistOf(machinev1.MachineFinalizer))
	f.expectPhase(machinev1.PhaseProvisioning)
	f.expectCondition(machinev1.InstanceExistsCondition, corev1.ConditionFalse, machinev1.InstanceNotCreatedReason, "")

	f.Expect(f.reconcile().RequeueAfter).To(BeZero(), "the Node comes as a change of the Machine")
	f.expectPhase(machinev1.PhaseProvisioned)
	f.expectCondition(machinev1.InstanceExistsCondition, corev1.ConditionTrue, "", "")
	f.expectCondition(machinev1.MachineDrainable, corev1.ConditionTrue, "", "")
	f.expectCondition(machinev1.MachineTerminable, corev1.ConditionTrue, "", "")
	machine := f.machine()
	f.Expect(machine.Spec.ProviderID).To(HaveValue(Equal(providerIDOf(machine))))
	f.Expect(machine.Status.Addresses).To(HaveLen(1))
	f.Expect(string(machine.Status.ProviderStatus.Raw)).To(MatchJSON(`{"instanceState":"Ready"}`))
	f.Expect(machine.Annotations).To(HaveKeyWithValue(machineapi.InstanceStateAnnotation, "Ready"))
	f.Expect(machine.Labels).To(HaveKeyWithValue(machineapi.ZoneLabel, "zone-a"))
	f.Expect(machine.Status.LastUpdated.Time).To(BeTemporally("~", time.Now(), time.Minute))

	f.join()
	f.reconcile()
	f.expectPhase(machinev1.PhaseRunning)
	running := f.machine()
	f.reconcile()
	f.Expect(f.machine()).To(Equal(running), "what hasn't changed isn't written")
	f.Expect(f.cloud.called("Create")).To(Equal(1))
}

// Exists never swallows an error: what isn't known is neither made nor given up.
func TestExists_notKnownIsAStateOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, phase string
		until       func(*fixture)
	}{
		{"new", "", func(*fixture) {}},
		{"provisioning", machinev1.PhaseProvisioning, func(f *fixture) {
			f.cloud.set("Create", errDown)
			_, err := f.try(f.t.Context())
			f.Expect(err).To(MatchError(errDown))
		}},
		{"provisioned", machinev1.PhaseProvisioned, func(f *fixture) { f.reconcile(); f.reconcile() }},
		{"running", machinev1.PhaseRunning, func(f *fixture) { f.reconcile(); f.reconcile(); f.join(); f.reconcile() }},
		{"deleting", machinev1.PhaseDeleting, func(f *fixture) { f.reconcile(); f.reconcile(); f.delete() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			row.until(f)
			before := f.machine()
			creates := f.cloud.called("Create")
			f.cloud.set("Exists", errDown)
			_, err := f.try(t.Context())
			f.Expect(err).To(MatchError(errDown), "so that it is tried again")
			f.Expect(ptr.Deref(f.machine().Status.Phase, "")).To(Equal(row.phase))
			f.expectCondition(machinev1.InstanceExistsCondition, corev1.ConditionUnknown, machinev1.ErrorCheckingProviderReason, errDown.Error())
			f.Expect(f.machine().Spec.ProviderID).To(Equal(before.Spec.ProviderID))
			f.Expect(f.machine().Finalizers).To(ConsistOf(machinev1.MachineFinalizer))
			f.Expect(f.cloud.called("Create")).To(Equal(creates))

			f.cloud.set("Exists", &machineapi.RequeueAfterError{After: time.Minute})
			f.Expect(f.reconcile().RequeueAfter).To(Equal(time.Minute))
		})
	}
}

func TestVanished_isFailedAndNeverMadeAgain(t *testing.T) {
	t.Parallel()
	f := newRunning(t)
	f.cloud.end(f.machine())
	f.reconcile()
	f.expectPhase(machinev1.PhaseFailed)
	f.expectCondition(machinev1.InstanceExistsCondition, corev1.ConditionFalse, machinev1.InstanceMissingReason, "")
	machine := f.machine()
	f.Expect(machine.Status.ErrorMessage).To(HaveValue(Equal("can't find created instance")))
	f.Expect(machine.Status.ErrorReason).To(BeNil())
	f.Expect(machine.Annotations).To(HaveKeyWithValue(machineapi.InstanceStateAnnotation, "Unknown"))
	f.Expect(f.events.Events).To(Receive(ContainSubstring("can't find created instance")))

	calls := f.cloud.called("Exists")
	f.reconcile()
	f.Expect(f.machine()).To(Equal(machine))
	f.Expect(f.cloud.called("Exists")).To(Equal(calls), "a Failed Machine isn't reconciled")
	f.Expect(f.cloud.made).To(Equal(1))

	f.delete()
	f.cloud.at = func(_ context.Context, point string, machine *machinev1.Machine) {
		if point == "before Delete" {
			f.Expect(machine.Status.ErrorMessage).NotTo(BeNil(), "the actuator is told why it was Failed")
		}
	}
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
}

func TestInvalidConfiguration_isFailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cloud.set("Create", machineapi.InvalidConfiguration(errors.New("network.subnetName: there is no subnet x")))
	f.reconcile()
	f.expectPhase(machinev1.PhaseFailed)
	f.Expect(f.machine().Status.ErrorReason).To(HaveValue(Equal(machinev1.InvalidConfigurationMachineError)))
	f.Expect(f.machine().Status.ErrorMessage).To(HaveValue(Equal("network.subnetName: there is no subnet x")))
	f.cloud.set("Create", nil)
	f.reconcile()
	f.Expect(f.cloud.called("Create")).To(Equal(1))
	f.delete()
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
}

func TestUpdate_anErrorKeepsThePhase(t *testing.T) {
	t.Parallel()
	f := newRunning(t)
	f.cloud.set("Update", errDown)
	_, err := f.try(t.Context())
	f.Expect(err).To(MatchError(errDown))
	f.expectPhase(machinev1.PhaseRunning)
	f.expectCondition(machinev1.InstanceExistsCondition, corev1.ConditionTrue, "", "")
}

// Update's RequeueAfterError is no failure: phases continue.
func TestUpdate_mayAskToLookAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reconcile()
	f.cloud.at = func(_ context.Context, point string, _ *machinev1.Machine) {
		if point == "before Update" {
			f.cloud.set("Update", &machineapi.RequeueAfterError{After: time.Minute})
		}
	}
	f.reconcile()
	f.Expect(f.reconcile().RequeueAfter).To(Equal(time.Minute))
	f.expectPhase(machinev1.PhaseProvisioned)
	f.cloud.set("Update", &machineapi.RequeueAfterError{After: time.Minute, Priority: ptr.To(creates.Urgent)})
	f.Expect(f.reconcile()).To(Equal(ctrl.Result{RequeueAfter: time.Minute, Priority: ptr.To(creates.Urgent)}))
}

func TestMachine_withoutTheClusterLabelWaitsForIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(m *machinev1.Machine) { m.Labels = nil })
	f.reconcile()
	f.Expect(f.cloud.calls).To(BeEmpty())
	f.Expect(f.machine().Finalizers).To(BeEmpty())
	f.Expect(f.events.Events).To(Receive(ContainSubstring(machinev1.MachineClusterIDLabel)))
}

func TestMachine_ofAnotherProviderIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(m *machinev1.Machine) {
		m.Spec.ProviderSpec.Value.Raw = []byte(`{"kind":"Other"}`)
		m.Finalizers = []string{machinev1.MachineFinalizer}
	})
	before := f.machine()
	f.reconcile()
	f.Expect(f.machine()).To(Equal(before))
	f.delete()
	f.reconcile()
	f.Expect(f.machine().Finalizers).To(ConsistOf(machinev1.MachineFinalizer))
	f.Expect(f.cloud.calls).To(BeEmpty())
	f.change(func(m *machinev1.Machine) { m.Finalizers = nil })
}

// A change by another client during a reconcile is neither overwritten nor an error.
func TestConflict_isLookedAtAgain(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"before Create", "after Update"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			changed := false
			f.cloud.at = func(_ context.Context, at string, _ *machinev1.Machine) {
				if at == point && !changed {
					changed = true
					f.changeStatus(func(m *machinev1.Machine) {
						m.Status.Conditions = append(m.Status.Conditions, machinev1.Condition{
							Type: "Synchronized", Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
						})
					})
				}
			}
			var result ctrl.Result
			for !changed {
				result = f.reconcile()
			}
			f.Expect(result.RequeueAfter).To(Equal(time.Second))
			f.reconcile()
			f.reconcile()
			f.expectPhase(machinev1.PhaseProvisioned)
			f.expectCondition("Synchronized", corev1.ConditionTrue, "", "")
			f.Expect(f.cloud.made).To(Equal(1))
		})
	}
}

// What a reconcile has seen is written even if the manager shuts down.
func TestReconcile_thatIsStoppedWritesWhatItHasSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reconcile()
	ctx, stop := context.WithCancel(t.Context())
	f.cloud.at = func(_ context.Context, point string, _ *machinev1.Machine) {
		if point == "after Update" {
			stop()
		}
	}
	_, err := f.try(ctx)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.machine().Spec.ProviderID).To(HaveValue(Equal(providerIDOf(f.machine()))))
	f.expectPhase(machinev1.PhaseProvisioned)
}

// An API server that doesn't take the status is an error, not silence.
func TestWrite_anErrorIsReturned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.writer = interceptor.NewClient(f.client, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errDown
		},
	})
	_, err := f.try(t.Context())
	f.Expect(err).To(MatchError(errDown))
}
