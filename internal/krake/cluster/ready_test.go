package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
)

// see what an observer does: a state, and a condition that says why.
func see(t *testing.T, f *kraketest.Fixture, c *krakev1.Cluster, state krakev1.ClusterState, seen metav1.Condition) {
	f.Eventually(func() error {
		if err := f.Read(c); err != nil {
			return err
		}
		c.Status.State = state
		meta.SetStatusCondition(&c.Status.Conditions, seen)
		return f.Client.Status().Update(t.Context(), c)
	}).Should(Succeed())
}

// Ready is what a user may rely on: the cluster is made, and its observer sees it ONLINE.
func TestReady_isForAClusterThatIsONLINE(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	reachable := func(is metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: krakev1.ReachableCondition, Status: is, Reason: reason, Message: message}
	}
	f.UntilReason(c, krakev1.ReadyCondition, "Connecting", "hasn't answered yet")
	see(t, f, c, krakev1.StateOnline, reachable(metav1.ConditionTrue, "Online", ""))
	f.UntilTrue(c, krakev1.ReadyCondition)
	see(t, f, c, krakev1.StateOffline, reachable(metav1.ConditionFalse, "Offline", "the API server doesn't answer"))
	f.UntilReason(c, krakev1.ReadyCondition, "Offline", "the API server doesn't answer")
	see(t, f, c, krakev1.StateNotReady, reachable(metav1.ConditionTrue, "NodesNotReady", ""))
	see(t, f, c, krakev1.StateNotReady, metav1.Condition{
		Type: krakev1.NodesHealthyCondition, Status: metav1.ConditionFalse, Reason: "NodesNotReady", Message: "1 of 2 nodes not ready",
	})
	f.UntilReason(c, krakev1.ReadyCondition, "NodesNotReady", "1 of 2 nodes")
	f.Expect(c.Status.State).To(Equal(krakev1.StateNotReady), "whose it is")
}
