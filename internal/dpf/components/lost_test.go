package components_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/testenv"
)

func (f *fixture) loseParent() {
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: components.ParentName}}
	f.Expect(f.Delete(f.t.Context(), parent)).To(Succeed())
}

// Without the parent it isn't known which kinds members are of, and there are members still.
func TestSet_isRemovedWithoutItsParent(t *testing.T) {
	f := newFixture(t)
	_, err := f.apply(&writes{}, render(f, configuration()))
	f.Expect(err).NotTo(HaveOccurred())
	f.loseParent()
	set := components.Set{Client: f.WithWatch, Reader: f.WithWatch, Owner: configuration()}
	going, err := set.Remove(t.Context(), svcv1.GroupVersion.WithKind("DPUService").GroupKind())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(going).To(ContainElement("DPUService dpf-operator-system/servicechain"))
	state, err := f.apply(&writes{}, nil)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(state.Going).To(ContainElement("ClusterRoleBinding dpf-dpuservice-controller"))
	f.releaseClaim()
	f.Expect(f.members()).To(BeEmpty())

	nothing := &writes{}
	_, err = f.apply(nothing, nil)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(nothing.n).To(BeZero())
}

func TestSet_isRepairedAndPrunedWithoutItsParent(t *testing.T) {
	f := newFixture(t)
	all := render(f, configuration())
	_, err := f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	f.loseParent()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: "dpf-dpuservice-controller"}}
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(d), d)).To(Succeed())
	was := *d.Spec.Replicas
	d.Spec.Replicas = ptr.To(was + 3)
	f.Expect(f.Update(t.Context(), d)).To(Succeed())
	f.Expect(components.Set{Client: f.WithWatch, Reader: f.WithWatch, Owner: configuration()}.Repair(t.Context(), all)).To(Succeed())
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(d), d)).To(Succeed())
	f.Expect(*d.Spec.Replicas).To(Equal(was))

	c := configuration()
	c.Spec.HostNetworkConfiguration = nil // so its kinds aren't wanted any more
	for range 2 {
		_, err = f.apply(&writes{}, render(f, c))
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.Expect(f.members()).To(Equal(wantedNames(render(f, c))))
}

// A copy in another namespace has the same name, and all labels and annotations.
func TestIsMember_notInAnotherNamespace(t *testing.T) {
	f := newFixture(t)
	state, err := f.apply(&writes{}, render(f, configuration()))
	f.Expect(err).NotTo(HaveOccurred())
	for _, kind := range []string{"ServiceAccount", "ClusterRoleBinding"} {
		f.Expect(components.IsMember(find(state.Objects, kind, "dpf-dpuservice-controller"))).To(BeTrue(), kind)
	}
	duplicate := find(state.Objects, "DPUService", "servicechain").DeepCopy()
	f.Expect(components.IsMember(duplicate)).To(BeTrue())
	duplicate.SetNamespace(testenv.Namespace(t))
	f.Expect(components.IsMember(duplicate)).To(BeFalse())
}
