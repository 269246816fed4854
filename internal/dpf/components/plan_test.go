package components_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/graph"
)

// The plan is what is done: what is new, as it is, another one, not wanted any more, and what is refused. It writes nothing.
func TestPlan_saysWhatApplyWouldDo(t *testing.T) {
	f := newFixture(t)
	object := func(name, value string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"key": value}}}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		o.SetNamespace(operatorv1.Namespace)
		o.SetName(name)
		return o
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: "foreign"}}
	f.Expect(f.Create(t.Context(), foreign)).To(Succeed())
	t.Cleanup(func() { f.Expect(f.Delete(context.Background(), foreign)).To(Succeed()) })
	plan := func(wanted ...*unstructured.Unstructured) map[string]graph.Action {
		reads := client.NewDryRunClient(f.WithWatch)
		steps, err := components.Set{Client: reads, Reader: reads, Owner: configuration()}.Plan(t.Context(), wanted)
		f.Expect(err).NotTo(HaveOccurred())
		actions := map[string]graph.Action{}
		for _, step := range steps {
			actions[step.Key] = step.Action
			if step.Action == graph.ActionFail {
				f.Expect(step.Why).To(ContainSubstring("there is one that isn't the operator's"))
			}
		}
		return actions
	}
	const in = "ConfigMap/" + operatorv1.Namespace + "/"
	f.Expect(plan(object("a", "1"))).To(Equal(map[string]graph.Action{in + "a": graph.ActionCreate}))
	f.Expect(f.members()).To(BeEmpty())
	_, err := f.apply(&writes{}, []*unstructured.Unstructured{object("a", "1"), object("b", "1"), object("c", "1")})
	f.Expect(err).NotTo(HaveOccurred())
	before := f.members()
	f.Expect(plan(object("a", "1"), object("b", "2"), object("d", "1"), object("foreign", "1"))).To(Equal(map[string]graph.Action{
		in + "a": graph.ActionKeep, in + "b": graph.ActionChange, in + "c": graph.ActionDelete, in + "d": graph.ActionCreate,
		in + "foreign": graph.ActionFail,
	}))
	f.Expect(f.members()).To(Equal(before))
}
