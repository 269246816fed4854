package v1alpha1_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// The peer lets an interface go that a service has.
func TestPolicy_keepsInterfacesInUse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	testenv.Kubectl(t, "apply", "-f", "../../../../config/dpf/admission/interfaces_policy.yaml", "--warnings-as-errors")
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	used, free := ifc(), ifc()
	used.Name, used.Namespace, free.Name, free.Namespace = "used", namespace, "free", namespace
	used.Annotations = map[string]string{UsedByAnnotation: "hbn"}
	g.Expect(c.Create(t.Context(), used)).To(Succeed())
	g.Expect(c.Create(t.Context(), free)).To(Succeed())
	g.Eventually(func() error { return c.Delete(t.Context(), used, client.DryRunAll) }, 30*time.Second).
		Should(MatchError(ContainSubstring("DPUService hbn has this interface")))
	g.Expect(c.Delete(t.Context(), free)).To(Succeed())
	g.Expect(c.Delete(t.Context(), used)).To(MatchError(ContainSubstring("DPUService hbn has this interface")))
	used.Annotations = nil
	g.Expect(c.Update(t.Context(), used)).To(Succeed())
	g.Expect(c.Delete(t.Context(), used)).To(Succeed())
}
