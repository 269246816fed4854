package actuator_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/waiting"
)

// The metrics say of Machines what they say of Bedplate's own kinds.
func TestConditions_areCounted(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	f.Create(f.machine("new"))
	status := bmmv1.NvidiaBMMMachineProviderStatus{Conditions: []metav1.Condition{
		{Type: bmmv1.UserDataReadyCondition, Status: metav1.ConditionFalse, Reason: "Waiting", LastTransitionTime: metav1.Now()},
	}}
	for name, change := range map[string]func(*machinev1.Machine){
		"waits":   func(*machinev1.Machine) {},
		"foreign": func(m *machinev1.Machine) { m.Spec.ProviderSpec.Value.Raw = []byte(`{"apiVersion":"a/v1","kind":"A"}`) },
	} {
		m := f.machine(name)
		change(m)
		f.Create(m)
		m.Status.ProviderStatus = raw(status)
		f.Expect(f.Client.Status().Update(t.Context(), m)).To(Succeed())
	}
	collector := waiting.New(client.NewNamespacedClient(f.Client, f.Namespace), &machinev1.MachineList{})
	collector.Conditions = actuator.Conditions
	f.Expect(testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP bedplate_objects_waiting Objects that don't meet a condition, by the reason that it gives.
# TYPE bedplate_objects_waiting gauge
bedplate_objects_waiting{condition="UserDataReady",kind="Machine",reason="Waiting"} 1
`), "bedplate_objects_waiting")).To(Succeed())
}
