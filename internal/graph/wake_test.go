package graph_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
)

func TestChangedByOthers_sleepsThroughWhatTheEngineWrites(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*bmmv1.NvidiaBMMMachine)
		wakes  bool
	}{
		"a status":         {func(m *bmmv1.NvidiaBMMMachine) { m.Status.InstanceID, m.ResourceVersion = "x", "2" }, false},
		"a ledger":         {func(m *bmmv1.NvidiaBMMMachine) { m.Annotations[graph.LedgerAnnotation] = "new" }, false},
		"a lost ledger":    {func(m *bmmv1.NvidiaBMMMachine) { delete(m.Annotations, graph.LedgerAnnotation) }, true},
		"a spec":           {func(m *bmmv1.NvidiaBMMMachine) { m.Generation++ }, true},
		"a deletion":       {func(m *bmmv1.NvidiaBMMMachine) { m.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, true},
		"a label":          {func(m *bmmv1.NvidiaBMMMachine) { m.Labels = map[string]string{"a": "b"} }, true},
		"a pause":          {func(m *bmmv1.NvidiaBMMMachine) { m.Annotations["cluster.x-k8s.io/paused"] = "" }, true},
		"an owner at last": {func(m *bmmv1.NvidiaBMMMachine) { m.OwnerReferences = []metav1.OwnerReference{{Name: "m"}} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &bmmv1.NvidiaBMMMachine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{graph.LedgerAnnotation: "old"}}}
			after := before.DeepCopy()
			row.change(after)
			woken := graph.ChangedByOthers().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
			NewWithT(t).Expect(woken).To(Equal(row.wakes))
		})
	}
}
