package observer_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

// seen is a cluster that is observed with this answer, once it has a state.
func seen(t *testing.T, state krakev1.ClusterState, limit int32, answer http.HandlerFunc) (*fixture, *krakev1.Cluster) {
	t.Helper()
	f := start(t)
	f.secret("demo", serve(t, answer).kubeconfig(f))
	return f, f.becomes(f.register("demo", limit), state)
}

func (f *fixture) expect(c *krakev1.Cluster, kind string, status metav1.ConditionStatus, reason, message string) {
	f.t.Helper()
	f.Expect(condition(c, kind)).To(HaveValue(And(
		HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message)),
	)), kind)
}

func TestStateONLINE_isOfAClusterWhoseNodesAreReady(t *testing.T) {
	t.Parallel()
	f, c := seen(t, krakev1.StateOnline, -1, nodes("a", "b"))
	f.expect(c, krakev1.ReachableCondition, metav1.ConditionTrue, "Online", "")
	f.expect(c, krakev1.NodesHealthyCondition, metav1.ConditionTrue, "Online", "")
	f.expect(c, krakev1.ReadyCondition, metav1.ConditionTrue, "Online", "")
	f.Expect(c.Status.Reason).To(BeNil())
}

func TestStateNOTREADY_isOfAClusterWithANodeThatIsNot(t *testing.T) {
	t.Parallel()
	f, c := seen(t, krakev1.StateNotReady, -1, nodes("a", "lost"))
	f.expect(c, krakev1.ReachableCondition, metav1.ConditionTrue, "NodesNotReady", "")
	f.expect(c, krakev1.NodesHealthyCondition, metav1.ConditionFalse, "NodesNotReady", "lost")
	f.expect(c, krakev1.ReadyCondition, metav1.ConditionFalse, "NodesNotReady", "lost")
}

func TestStateUNHEALTHY_isOfAClusterWithANodeUnderPressure(t *testing.T) {
	t.Parallel()
	f, c := seen(t, krakev1.StateUnhealthy, -1, nodes("a", "DiskPressure"))
	f.expect(c, krakev1.ReachableCondition, metav1.ConditionTrue, "NodesUnhealthy", "")
	f.expect(c, krakev1.NodesHealthyCondition, metav1.ConditionFalse, "NodesUnhealthy", "DiskPressure")
}

func TestStateDEGRADED_isAsLongAsThereAreRetries(t *testing.T) {
	t.Parallel()
	f, c := seen(t, krakev1.StateDegraded, -1, refuse(http.StatusInternalServerError))
	f.expect(c, krakev1.ReachableCondition, metav1.ConditionFalse, "Degraded", "HTTP 500")
	f.expect(c, krakev1.NodesHealthyCondition, metav1.ConditionUnknown, "Degraded", "HTTP 500")
	f.Expect(c.Status.Reason).To(HaveValue(HaveField("Code", krakev1.ReasonRetrieveFailed)))
	f.Eventually(func() int32 { return f.get(c).Status.Retries }).Should(BeNumerically(">", 3))
	f.Expect(c.Status.State).To(Equal(krakev1.StateDegraded))
}

func TestStateOFFLINE_isAfterTheLastRetry(t *testing.T) {
	t.Parallel()
	f, c := seen(t, krakev1.StateOffline, 2, refuse(http.StatusInternalServerError))
	f.expect(c, krakev1.ReachableCondition, metav1.ConditionFalse, "Offline", "HTTP 500")
	f.Expect(c.Status.Retries).To(BeNumerically(">", 2))
}
