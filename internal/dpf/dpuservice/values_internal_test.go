package dpuservice

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

// The peer edits the labels of one object, and another one has them, too.
func TestValues_shareNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	shared := map[string]string{"a": "b"}
	service := func(id string) *svcv1.DPUService {
		return &svcv1.DPUService{ObjectMeta: metav1.ObjectMeta{Namespace: "n"}, Spec: svcv1.DPUServiceSpec{ServiceID: id,
			ServiceDaemonSet: &svcv1.ServiceDaemonSet{
				Labels: shared, NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}},
				UpdateStrategy: &appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
			}, HelmChart: svcv1.HelmChart{Values: &runtime.RawExtension{Raw: []byte(
				`{"i":1,"f":1.5,"serviceDaemonSet":{"labels":{"a":"chart's","c":"d"},` +
					`"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{}},"x":1}}`)}}}}
	}
	one, err := valuesOf(service("one"), nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	two, err := valuesOf(service("two"), nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shared).To(Equal(map[string]string{"a": "b"}))
	g.Expect(one).To(HaveKeyWithValue("serviceDaemonSet", Equal(map[string]any{
		"labels":         map[string]any{"a": "b", "c": "d", "svc.dpu.nvidia.com/service": "one"},
		"nodeSelector":   map[string]any{"nodeSelectorTerms": []any{map[string]any{}}},
		"updateStrategy": map[string]any{"type": "OnDelete"}, "x": int64(1),
	})))
	label, _, _ := unstructured.NestedString(two, "serviceDaemonSet", "labels", "svc.dpu.nvidia.com/service")
	g.Expect(label).To(Equal("two"))
	g.Expect(one).To(And(HaveKeyWithValue("i", int64(1)), HaveKeyWithValue("f", 1.5)), "as the API server has them")

	bare, err := valuesOf(&svcv1.DPUService{}, nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bare).To(BeEmpty())
	wrong := svcv1.HelmChart{Values: &runtime.RawExtension{Raw: []byte(`{"serviceDaemonSet":1}`)}}
	_, err = valuesOf(&svcv1.DPUService{Spec: svcv1.DPUServiceSpec{HelmChart: wrong}}, nil, nil)
	g.Expect(err).To(MatchError(ContainSubstring("has to be an object")))
}

// Argo CD's status is of the spec that it has seen: the peer takes the one of the spec before.
func TestApplication_isReadyForTheSpecThatItHas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	service := &svcv1.DPUService{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
	service.Spec.HelmChart.Source = svcv1.ChartSource{RepoURL: "https://example.com", Path: "p", Version: "1"}
	a := Config{Namespace: "argo"}.application(service, types.NamespacedName{Namespace: "d", Name: "c"}, map[string]any{"a": int64(1)})
	g.Expect(problemOf(a)).To(ContainSubstring("hasn't compared"))
	report := func(sync, health string) {
		a.Object["status"] = map[string]any{
			"sync": map[string]any{"status": sync,
				"comparedTo": map[string]any{"source": runtime.DeepCopyJSON(a.Object)["spec"].(map[string]any)["source"]}},
			"health": map[string]any{"status": health, "message": "2 of 3"}, "conditions": []any{map[string]any{"message": "no such chart"}},
		}
	}
	report("Synced", "Healthy")
	g.Expect(problemOf(a)).To(BeEmpty())
	report("Synced", "Progressing")
	g.Expect(problemOf(a)).To(HaveSuffix("its health is Progressing: 2 of 3"))
	report("Unknown", "Healthy")
	g.Expect(problemOf(a)).To(HaveSuffix("it isn't synced: no such chart"))
	report("Synced", "Healthy")
	g.Expect(unstructured.SetNestedField(a.Object, "2", "spec", "source", "targetRevision")).To(Succeed())
	g.Expect(problemOf(a)).To(ContainSubstring("hasn't compared"))
	g.Expect(problemOf(&unstructured.Unstructured{Object: map[string]any{}})).NotTo(BeEmpty())
}
