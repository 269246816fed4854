package paused_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/paused"
)

// Without clients: in a move that works the finalizers go right after the deletion, and nothing is to be written meanwhile.
func TestLeft_saysNothingWhileClusterctlIsAtWork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	left := paused.Left{
		Engine:    &graph.Engine{Store: &ledgers.Store{}, Clock: clocktesting.NewFakePassiveClock(now), Poll: 30 * time.Second},
		Finalizer: infrav1.ClusterFinalizer, Condition: infrav1.VPCReadyCondition,
	}
	object := &infrav1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{
		Annotations:       map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""},
		DeletionTimestamp: &metav1.Time{Time: now.Add(-time.Second)}, Finalizers: []string{infrav1.ClusterFinalizer},
	}}
	isLeft, result, err := left.Say(t.Context(), object, clusterctlv1.DeleteForMoveAnnotation)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(isLeft).To(BeTrue())
	g.Expect(result.RequeueAfter).To(Equal(29 * time.Second))
	g.Expect(object.Status.Conditions).To(BeEmpty())

	object.Finalizers = []string{"another's"}
	g.Expect(left.Say(t.Context(), object, clusterctlv1.DeleteForMoveAnnotation)).To(BeFalse(), "it isn't held by us")
}
