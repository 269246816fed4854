package machineapi

import (
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestChangedByOthers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		what   string
		change func(*machinev1.Machine)
		wakes  bool
	}{
		{"phase", func(m *machinev1.Machine) { setPhase(m, machinev1.PhaseRunning) }, false},
		{"condition", func(m *machinev1.Machine) { setTrue(m, machinev1.InstanceExistsCondition, "") }, false},
		{"time", func(m *machinev1.Machine) { m.Status.LastUpdated = ptr.To(metav1.Now()) }, false},
		{"spec", func(m *machinev1.Machine) { m.Generation++ }, true},
		{"deletion", func(m *machinev1.Machine) { m.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
		{"annotation", func(m *machinev1.Machine) { m.Annotations[ExcludeNodeDrainingAnnotation] = "" }, true},
		{"Node", func(m *machinev1.Machine) { m.Status.NodeRef = &corev1.ObjectReference{Name: "n"} }, true},
		{"authority", func(m *machinev1.Machine) { m.Status.AuthoritativeAPI = machinev1.MachineAuthorityMigrating }, true},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			before := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "1"}}}
			after := before.DeepCopy()
			row.change(after)
			NewWithT(t).Expect(changedByOthers().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(row.wakes))
		})
	}
}
