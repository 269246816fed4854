package capi_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Without clients: in a move that works the finalizers go right after the deletion, and nothing is to be written meanwhile.
func TestStop_saysNothingWhileClusterctlIsAtWork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	conventions := capi.Conventions{
		Engine:    &graph.Engine{Store: &ledgers.Store{}, Clock: clocktesting.NewFakePassiveClock(now), Poll: 30 * time.Second},
		Finalizer: infrav1.ClusterFinalizer, Condition: infrav1.VPCReadyCondition,
	}
	object := &infrav1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{
		Annotations:       map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""},
		DeletionTimestamp: &metav1.Time{Time: now.Add(-time.Second)}, Finalizers: []string{infrav1.ClusterFinalizer},
	}}
	stop, result, err := conventions.Stop(t.Context(), object, nil, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stop).To(BeTrue())
	g.Expect(result.RequeueAfter).To(Equal(29 * time.Second))
	g.Expect(object.Status.Conditions).To(BeEmpty())

	object.Finalizers = []string{"another's"}
	stop, result, err = conventions.Stop(t.Context(), object, nil, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stop).To(BeTrue())
	g.Expect(result.RequeueAfter).To(BeZero(), "it isn't held by us")
}

// Only Cluster API's contract for clusters knows the annotation.
func TestStop_anotherManagerManagesOnlyClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := &infrav1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusterv1.ManagedByAnnotation: ""}}}
	for managed := range map[bool]int{true: 0, false: 0} {
		stop, _, err := capi.Conventions{ManagedBy: managed}.Stop(t.Context(), object, nil, true)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(stop).To(Equal(managed))
	}
}
