package capi_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/capi"
)

// What clusterctl deletes because it has moved it lives on elsewhere, whatever its Cluster says. Without clients: such an
// object isn't written any more either.
func TestPaused_leavesAloneWhatHasMoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := &infrav1.NvidiaBMMCluster{}
	object.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
	g.Expect(capi.Paused(t.Context(), nil, nil, object)).To(BeTrue())
}

// Without clients: most objects are never paused, and a write for each to say so would be one of a dozen.
func TestPaused_saysInMemoryThatANewObjectIsNotPaused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := &infrav1.NvidiaBMMCluster{}
	g.Expect(capi.Paused(t.Context(), nil, nil, object)).To(BeFalse())
	g.Expect(object.Status.Conditions).To(ConsistOf(And(
		HaveField("Type", "Paused"), HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "NotPaused"),
	)))
}

func TestPaused_writesThatAnObjectIsPausedBeforeItIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]func(*clusterv1.Cluster, *infrav1.NvidiaBMMCluster){
		"its Cluster is": func(c *clusterv1.Cluster, _ *infrav1.NvidiaBMMCluster) { c.Spec.Paused = ptr.To(true) },
		"it is itself": func(_ *clusterv1.Cluster, o *infrav1.NvidiaBMMCluster) {
			o.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cluster, object := &clusterv1.Cluster{}, &infrav1.NvidiaBMMCluster{}
			object.Namespace, object.Name = "default", "demo"
			pause(cluster, object)
			scheme := runtime.NewScheme()
			g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
			c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(object).WithObjects(object).Build()
			g.Expect(capi.Paused(t.Context(), c, cluster, object)).To(BeTrue())
			stored := &infrav1.NvidiaBMMCluster{}
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), stored)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(stored.Status.Conditions, "Paused")).To(BeTrue())
		})
	}
}

// A Cluster that was taken away wasn't unpaused by its user: the ledger of another management cluster isn't ours for that.
func TestPaused_takesNothingOverBecauseTheClusterIsGone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := &infrav1.NvidiaBMMCluster{}
	object.DeletionTimestamp = ptr.To(metav1.Now())
	object.Status.Conditions = []metav1.Condition{{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason}}
	g.Expect(capi.Paused(t.Context(), nil, nil, object)).To(BeFalse())
	g.Expect(object.Annotations).NotTo(HaveKey(ledgerv1.TakeOverAnnotation))
}

// The Cluster that owns an object counts before the one that its label names, as everywhere in Cluster API.
func TestLivePause_asksForTheClusterThatCounts(t *testing.T) {
	t.Parallel()
	owned := []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "busy"}}
	resting := map[string]string{clusterv1.ClusterNameLabel: "resting"}
	for name, row := range map[string]struct {
		object metav1.ObjectMeta
		paused bool
	}{
		"nothing says":                {metav1.ObjectMeta{}, false},
		"it is itself":                {metav1.ObjectMeta{Annotations: map[string]string{clusterv1.PausedAnnotation: ""}, OwnerReferences: owned}, true},
		"its label's Cluster is":      {metav1.ObjectMeta{Labels: resting}, true},
		"its owner isn't":             {metav1.ObjectMeta{Labels: resting, OwnerReferences: owned}, false},
		"its label's Cluster is gone": {metav1.ObjectMeta{Labels: map[string]string{clusterv1.ClusterNameLabel: "gone"}}, false},
		"it is of a Machine": {metav1.ObjectMeta{
			Labels: resting, OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "busy"}},
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
			busy := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "busy"}}
			rests := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "resting"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(busy, rests).Build()
			row.object.Namespace = "default"
			g.Expect(capi.LivePause(c)(t.Context(), &infrav1.NvidiaBMMCluster{ObjectMeta: row.object})).To(Equal(row.paused))
		})
	}
}
