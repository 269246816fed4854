package pods

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestRestarted_countsContainersThatWereStartedAgain(t *testing.T) {
	t.Parallel()
	g, r := NewWithT(t), &Runtime{parts: map[string]parts{}}
	seen := func(group string, uid types.UID, counts ...int32) int {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		for _, n := range counts {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{RestartCount: n})
		}
		return r.restarted(group, pod)
	}
	g.Expect(seen("blue", "a", 3, 1)).To(BeZero(), "what was before isn't known")
	g.Expect(seen("blue", "a", 3, 1)).To(BeZero(), "any other event")
	g.Expect(seen("blue", "a", 4, 2)).To(Equal(2))
	g.Expect(seen("blue", "a", 3, 1)).To(BeZero(), "old news")
	g.Expect(seen("blue", "a", 4, 2)).To(BeZero(), "after old news")
	g.Expect(seen("blue", "b")).To(BeZero(), "a Pod that takes another's place")
	g.Expect(seen("blue", "b", 0, 1)).To(Equal(1))
	g.Expect(seen("red", "c", 9)).To(BeZero(), "another group")
}
