package pods

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func of(group string) *corev1.Pod {
	p := &corev1.Pod{}
	if group != "" {
		p.ObjectMeta = metav1.ObjectMeta{Labels: map[string]string{groupLabel: group}}
	}
	return p
}

// Any client may change labels.
func TestEvents_areOfGroups(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(toolscache.ResourceEventHandler)
		tells   []string
	}{
		"added":           {func(h toolscache.ResourceEventHandler) { h.OnAdd(of("blue"), false) }, []string{"blue"}},
		"changed":         {func(h toolscache.ResourceEventHandler) { h.OnUpdate(of("blue"), of("blue")) }, []string{"blue"}},
		"label taken off": {func(h toolscache.ResourceEventHandler) { h.OnUpdate(of("blue"), of("")) }, []string{"blue"}},
		"another label":   {func(h toolscache.ResourceEventHandler) { h.OnUpdate(of("blue"), of("red")) }, []string{"blue", "red"}},
		"without a label": {func(h toolscache.ResourceEventHandler) { h.OnAdd(of(""), false) }, nil},
		"gone meanwhile": {
			func(h toolscache.ResourceEventHandler) {
				h.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: of("blue")})
			}, []string{"blue"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Runtime{news: workqueue.NewTyped[string]()}
			defer r.news.ShutDown()
			test.happens(r.events())
			var told []string
			for r.news.Len() > 0 {
				group, _ := r.news.Get()
				r.news.Done(group)
				told = append(told, group)
			}
			NewWithT(t).Expect(told).To(Equal(test.tells))
		})
	}
}
