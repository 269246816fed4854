package status_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/status"
)

func TestReady_isAboutTheObjectAsItIsNow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := &svcv1.DPUService{}
	o.Generation = 1
	status.Sum(o, "A", "B")
	g.Expect(status.IsReady(o)).To(BeFalse(), "nothing is known")
	status.Done(o, "A", svcv1.ReasonPending, nil)
	status.Done(o, "B", svcv1.ReasonFailure, strings.Fields(strings.Repeat("x ", 12)))
	status.Sum(o, "A", "B")
	ready := meta.FindStatusCondition(o.Status.Conditions, "Ready")
	g.Expect(ready.Reason).To(Equal(svcv1.ReasonFailure))
	g.Expect(ready.Message).To(HaveSuffix("x; and 2 more"))
	status.Done(o, "B", svcv1.ReasonFailure, nil)
	status.Sum(o, "A", "B")
	g.Expect(status.IsReady(o)).To(BeTrue())

	o.Generation = 2
	g.Expect(status.IsReady(o)).To(BeFalse(), "the condition is about another generation")
	status.Set(o, "A", svcv1.ReasonSuccess, "")
	status.Sum(o, "A", "B")
	g.Expect(status.IsReady(o)).To(BeFalse(), "so is one that it sums up")
	status.Set(o, "B", svcv1.ReasonError, strings.Repeat("ä", 3000))
	g.Expect(len(meta.FindStatusCondition(o.Status.Conditions, "B").Message)).To(BeNumerically("<", 2100))
}
