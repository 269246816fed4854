package patch_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/bedplate/bedplate/internal/patch"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestStatus_writesOfALongListWhatDiffers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	size := 0
	c := interceptor.NewClient(testenv.Client(t), interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		data, err := p.Data(o)
		g.Expect(err).NotTo(HaveOccurred())
		size = len(data)
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	g.Expect(c.Create(t.Context(), pod)).To(Succeed())
	write := func(change func(*corev1.PodStatus)) (err error) {
		before := pod.DeepCopy()
		change(&pod.Status)
		size = 0
		wanted := pod.Status.DeepCopy()
		if err = patch.Status(t.Context(), c, before, pod); err == nil {
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(pod.Status.Conditions).To(Equal(wanted.Conditions))
			g.Expect(pod.Status.Message).To(Equal(wanted.Message))
		}
		return err
	}
	condition := func(n int) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprintf("example.com/%d", n)), Status: corev1.ConditionTrue, Message: "a"}
	}
	g.Expect(write(func(s *corev1.PodStatus) {
		for n := range 2000 {
			s.Conditions = append(s.Conditions, condition(n))
		}
	})).To(Succeed())
	g.Expect(size).To(BeNumerically(">", 100_000))
	for name, change := range map[string]func(*corev1.PodStatus){
		"one item":     func(s *corev1.PodStatus) { s.Conditions[1000].Message = "b" },
		"a field":      func(s *corev1.PodStatus) { s.Message = "of ~ and /" },
		"no such one":  func(s *corev1.PodStatus) { s.Message = "" },
		"the last one": func(s *corev1.PodStatus) { s.Conditions = s.Conditions[:len(s.Conditions)-1] },
		"another one":  func(s *corev1.PodStatus) { s.Conditions = append(s.Conditions, condition(2000)) },
	} {
		g.Expect(write(change)).To(Succeed(), name)
		g.Expect(size).To(BeNumerically("<", 500), name)
	}
	g.Expect(write(func(*corev1.PodStatus) {})).To(Succeed())
	g.Expect(size).To(BeZero())
	g.Expect(write(func(s *corev1.PodStatus) { s.Conditions = s.Conditions[1:] })).To(Succeed(), "all of them differ")

	stale := pod.DeepCopy()
	g.Expect(write(func(s *corev1.PodStatus) { s.Message = "of another client" })).To(Succeed())
	changed := stale.DeepCopy()
	changed.Status.Message = "too late"
	g.Expect(patch.Status(t.Context(), c, stale, changed)).To(MatchError(apierrors.IsConflict, "a conflict"))
	g.Expect(c.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	changed.ResourceVersion = pod.ResourceVersion
	g.Expect(patch.Status(t.Context(), c, stale, changed)).To(Succeed(), "it is gone")
}

// A cache may not have the last own write yet: the same is taken away once more.
func TestStatus_ofAnOlderObjectIsAConflict(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	g.Expect(c.Create(t.Context(), pod)).To(Succeed())
	before := pod.DeepCopy()
	pod.Status.Conditions = []corev1.PodCondition{{Type: "a", Status: "True", Message: "it waits for its turn"}}
	g.Expect(patch.Status(t.Context(), c, before, pod)).To(Succeed())
	cached := pod.DeepCopy()
	step := func() error {
		now := cached.DeepCopy()
		now.Status.Conditions[0].Message = ""
		return patch.Status(t.Context(), c, cached, now)
	}
	g.Expect(step()).To(Succeed())
	g.Expect(step()).To(MatchError(apierrors.IsConflict, "a conflict"))
}
