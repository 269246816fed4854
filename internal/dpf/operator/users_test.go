package operator_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
