package operator_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// unclaimed is a DPUService that its controller hasn't seen yet.
func (f *fixture) unclaimed() *svcv1.DPUService {
	f.t.Helper()
	s := &svcv1.DPUService{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(f.t), Name: "new"}}
	s.Spec.HelmChart.Source = svcv1.ChartSource{RepoURL: "oci://example.com/charts", Chart: "c", Version: "1"}
	f.Expect(f.WithWatch.Create(f.t.Context(), s)).To(Succeed())
	f.t.Cleanup(func() { f.Expect(client.IgnoreNotFound(f.WithWatch.Delete(context.Background(), s))).To(Succeed()) })
	return s
}

// The controller deploys what it sees until its end. What it gives a finalizer then is never taken back.
func TestDelete_waitsForWhatItsControllerHasntSeenYet(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	service := f.unclaimed()
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settle()
	f.Expect(f.stranded).To(BeZero(), "services whose controller has gone before them")
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
		"delete DPUService "+service.Namespace+"/new first, while its controller is there"))
	f.Expect(f.WithWatch.Delete(t.Context(), service)).To(Succeed())
	f.delete()
}

// What is abandoned leaves users' services without a controller, and says so.
func TestDelete_abandonsWhatUsersHaveAndNamesIt(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	service := f.unclaimed()
	config := f.config()
	config.Annotations = map[string]string{operatorv1.AbandonAnnotation: "true"}
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	f.delete()
	f.Expect(f.events.Events).To(Receive(And(ContainSubstring("Warning Abandoned"),
		ContainSubstring("DPUService "+service.Namespace+"/new"))))
	f.network.moved = 0
}

// kept is an object in the DPU cluster that has the finalizer of an agent.
func (f *fixture) kept(kind, name, finalizer string) *unstructured.Unstructured {
	f.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(svcv1.GroupVersion.WithKind(kind))
	o.SetNamespace("apps")
	o.SetName(name)
	o.SetFinalizers([]string{finalizer})
	f.Expect(f.clusters[0].Client.Create(f.t.Context(), o)).To(Succeed())
	return o
}

// A chain that was abandoned is in its DPU cluster still. With its kind, the controllers that could let it go would be deleted.
func TestDelete_namesWhatWasAbandonedInADPUCluster(t *testing.T) {
	f := newFixture(t)
	f.clusters[0].Client = fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).Build()
	f.create()
	f.settle()
	set, chain := f.kept("ServiceChainSet", "c", svcv1.ServiceChainSetFinalizer), f.kept("ServiceChain", "c-n1", svcv1.ServiceChainFinalizer)
	dpus := f.clusters[0].Client
	f.Expect(dpus.Delete(t.Context(), chain)).To(Succeed())
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settleLate()
	f.Expect(f.objects()).To(ContainElement(HaveSuffix("DPUService servicechainset")), "it has the controller of the set, and its kind")
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(And(
		is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
			"delete ServiceChainSet apps/c in DPU cluster dpus/a first, while its controller is there"),
		HaveField("Message", ContainSubstring("ServiceChain apps/c-n1 in DPU cluster dpus/a is being deleted: if what takes them off is gone "+
			"for good, remove its finalizers there: svc.dpu.nvidia.com/servicechain"))))
	for _, o := range []*unstructured.Unstructured{set, chain} {
		f.Expect(dpus.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		o.SetFinalizers(nil)
		f.Expect(dpus.Update(t.Context(), o)).To(Succeed())
	}
	f.Expect(dpus.Delete(t.Context(), set)).To(Succeed())
	f.delete()
	f.Expect(f.objects()).To(BeEmpty())

	t.Log("or all of it is abandoned")
	f.create()
	f.settle()
	f.kept("ServiceInterface", "i-n1", svcv1.ServiceInterfaceFinalizer)
	config := f.config()
	config.Annotations = map[string]string{operatorv1.AbandonAnnotation: "true"}
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	f.delete()
	f.Expect(f.objects()).To(BeEmpty())
	f.network.moved = 0
}
