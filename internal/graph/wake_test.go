package graph_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func TestChangedByOthers_sleepsThroughWhatTheEngineWrites(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*bmmv1.NvidiaBMMCluster)
		wakes  bool
	}{
		"a status":         {func(m *bmmv1.NvidiaBMMCluster) { m.Status.VPCID, m.ResourceVersion = "x", "2" }, false},
		"a held up move":   {func(m *bmmv1.NvidiaBMMCluster) { m.Annotations[clusterctlv1.BlockMoveAnnotation] = "true" }, false},
		"an annotation":    {func(m *bmmv1.NvidiaBMMCluster) { m.Annotations["a"] = "new" }, true},
		"a spec":           {func(m *bmmv1.NvidiaBMMCluster) { m.Generation++ }, true},
		"a deletion":       {func(m *bmmv1.NvidiaBMMCluster) { m.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, true},
		"a label":          {func(m *bmmv1.NvidiaBMMCluster) { m.Labels = map[string]string{"a": "b"} }, true},
		"a pause":          {func(m *bmmv1.NvidiaBMMCluster) { m.Annotations["cluster.x-k8s.io/paused"] = "" }, true},
		"an owner at last": {func(m *bmmv1.NvidiaBMMCluster) { m.OwnerReferences = []metav1.OwnerReference{{Name: "m"}} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &bmmv1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "old"}}}
			after := before.DeepCopy()
			row.change(after)
			woken := graph.ChangedByOthers().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
			NewWithT(t).Expect(woken).To(Equal(row.wakes))
		})
	}
}

// Thousands of machines wait for minutes: if changes come as events, they needn't be polled.
func TestPhase_thatIsAnnouncedIsLookedAtSlowly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	waiting := phases.Waiting("it boots")
	for _, c := range []struct {
		phase            phases.Phase
		soonest, slowest time.Duration
	}{{waiting, poll / 30, poll / 25}, {waiting.Announced(), 10 * poll, 12 * poll}} {
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, f.service.kind())
		f.Expect(err).NotTo(HaveOccurred())
		g.Gate("Booted", func() phases.Phase { return c.phase })
		result, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(result.RequeueAfter).To(BeNumerically("~", (c.soonest+c.slowest)/2, (c.slowest-c.soonest)/2))
	}
}

// What was begun is brought to its end before something else is begun.
func TestReconcile_thatHasBegunSomethingComesBackUrgently(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	g, err := f.engine().New(t.Context(), owner, []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	g.Gate("Prepared", func() phases.Phase { return phases.Waiting("not yet") })
	result, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(result.Priority).To(BeNil())

	result, err = f.reconcileObject(owner)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).NotTo(BeEmpty())
	f.Expect(result.Priority).To(HaveValue(Equal(creates.Urgent)))

	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	request := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
	}
	queue.Add(request("new"))
	creates.Urgently(queue, request("begun"))
	first, _ := queue.Get()
	f.Expect(first).To(Equal(request("begun")))
}
