package hostnetwork_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
)

// What looks like a copy, but isn't ours, stays, and isn't waited for.
func TestMove_aCopyOfOthersHoldsUpNoWayBack(t *testing.T) {
	t.Parallel()
	theirs := configMap("ovnkube-config-dpf", "a", "b")
	w := newWorld(t, append(ocp(), theirs)...)
	before := snapshot(t.Context(), w.g, w)
	for range 20 {
		w.between()
		_, err := w.move().Reconcile(t.Context(), w.config, w.awake)
		if err != nil {
			w.g.Expect(err).To(MatchError(ContainSubstring("ovnkube-config-dpf exists and isn't ours: rename or delete it")))
		}
	}
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	w.until("restored", done)
	w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before))
}

// The operator goes on as long as something is left: the last thing is the journal.
func TestLeft_namesTheJournalUntilItIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.until("moved", done)
	w.config.Spec.HostNetworkConfiguration = nil
	for {
		left, err := w.move().Left(t.Context())
		w.g.Expect(err).NotTo(HaveOccurred())
		if len(left) == 0 {
			break
		}
		_, err = w.reconcile()
		w.g.Expect(err).NotTo(HaveOccurred())
	}
	var maps corev1.ConfigMapList
	w.g.Expect(w.List(t.Context(), &maps, client.HasLabels{"dpu.nvidia.com/network-journal"})).To(Succeed())
	w.g.Expect(maps.Items).To(BeEmpty())
}

// A backup may bring the journal of another cluster. Its originals must not get into this one, neither there nor back.
func TestMove_aJournalOfAnotherClusterChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.until("moved", done)
	var journal corev1.ConfigMapList
	w.g.Expect(w.List(t.Context(), &journal, client.HasLabels{"dpu.nvidia.com/network-journal"})).To(Succeed())
	objects := ocp()
	objects[0].(*configv1.ClusterVersion).UID = "uid-of-another"
	for i := range journal.Items {
		journal.Items[i].ResourceVersion = ""
		objects = append(objects, &journal.Items[i])
	}
	other := newWorld(t, objects...)
	before := snapshot(t.Context(), other.g, other)
	for _, deleted := range []*metav1.Time{nil, {Time: w.now}} {
		other.config.DeletionTimestamp = deleted
		for range 5 {
			result, err := other.reconcile()
			other.g.Expect(err).NotTo(HaveOccurred())
			other.g.Expect(result.Done).To(BeFalse())
			other.g.Expect(result.Condition).To(And(HaveField("Reason", "Failure"), HaveField("Message", ContainSubstring("the journal is of another cluster"))))
		}
	}
	other.g.Expect(other.log).To(BeEmpty())
	other.g.Expect(snapshot(t.Context(), other.g, other)).To(Equal(before))
	for i := range journal.Items {
		other.g.Expect(other.Delete(t.Context(), &journal.Items[i])).To(Or(Succeed(), MatchError(apierrors.IsNotFound, "gone")))
		other.g.Expect(client.IgnoreNotFound(other.Get(t.Context(), client.ObjectKeyFromObject(&journal.Items[i]), &journal.Items[i]))).To(Succeed())
		journal.Items[i].Finalizers = nil
		other.g.Expect(client.IgnoreNotFound(other.Update(t.Context(), &journal.Items[i]))).To(Succeed())
	}
	other.config.DeletionTimestamp = nil
	other.until("moved without it", done)
}

// The provisioners take the addresses of a host that isn't listed any more: without the way back it would have no network.
func TestMove_aHostThatIsTakenOutOfTheSpecGetsItsNetworkBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := snapshot(t.Context(), w.g, w)
	w.until("moved", done)
	w.config.Spec = config("ocp-worker-3").Spec
	w.config.Generation++
	back := []string{"ocp-worker-1 Restored", "ocp-worker-2 Restored", "ocp-worker-3 Ready"}
	w.until("back", func(r hostnetwork.Result) bool {
		busy := slices.DeleteFunc(phases(r), func(phase string) bool { return phase[len("ocp-worker-1 "):] != "RollingBack" })
		w.g.Expect(len(busy)).To(BeNumerically("<=", 1), "maxUnavailable")
		return slices.Equal(phases(r), back)
	})
	w.reconcileUntilQuiet()
	result, err := w.reconcile()
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(result.Condition.Message).To(ContainSubstring("nodes with a DPU have no entry in hosts: ocp-worker-1, ocp-worker-2"))
	for _, name := range []string{"ocp-worker-1", "ocp-worker-2"} {
		key := `Node null "` + name + `"`
		w.g.Expect(snapshot(t.Context(), w.g, w)[key]).To(Equal(before[key]))
	}
	w.config.Spec = config(workers...).Spec
	w.config.Generation++
	w.until("moved again", done)
}

// One that failed, and that the spec doesn't list any more, holds up nothing.
func TestMove_aFailedHostCanBeTakenOutOfTheSpec(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broken["ocp-worker-2"] = true
	w.until("switching", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 Switching") })
	w.now = w.now.Add(16 * time.Minute)
	w.until("failed", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 Failed") })
	node := &corev1.Node{}
	w.g.Expect(w.Get(t.Context(), client.ObjectKey{Name: "ocp-worker-2"}, node)).To(Succeed())
	delete(node.Labels, "feature.node.kubernetes.io/dpu-enabled")
	w.g.Expect(w.Update(t.Context(), node)).To(Succeed())
	w.config.Spec = config("ocp-worker-1", "ocp-worker-3").Spec
	w.config.Generation++
	w.until("the others are moved", done)
}

// Neither a pause nor a time without an operator makes a node late.
func TestMove_aNodeIsntLateForATimeWithoutAnOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.until("isolated", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-1 Isolated") })
	w.now = w.now.Add(time.Hour)
	w.awake = w.now
	w.until("moved", func(r hostnetwork.Result) bool {
		w.g.Expect(phases(r)).NotTo(ContainElement(HaveSuffix("RollingBack")))
		return r.Done
	})
}

// A taint that others put on one node restarts no Pod, and keeps none from coming back: a node that is moved has no other network.
func TestMove_aTaintOfOthersRestartsNoPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.until("moved", done)
	w.log = nil
	node := w.node("ocp-worker-2")
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "example.com/drained", Effect: corev1.TaintEffectNoSchedule})
	w.g.Expect(w.Update(t.Context(), node)).To(Succeed())
	for range 3 {
		result, err := w.reconcile()
		w.g.Expect(err).NotTo(HaveOccurred())
		w.g.Expect(result.Done).To(BeTrue())
	}
	w.g.Expect(w.log).To(BeEmpty(), "a template that changes restarts the Pods of all nodes")
	w.g.Expect(client.IgnoreNotFound(w.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: ovnNamespace, Name: "ovnkube-node-dpf-on-ocp-worker-2"}}))).To(Succeed())
	w.settle()
	w.g.Expect(w.nodesOf("ovnkube-node-dpf")).To(ContainElement("ocp-worker-2"))
}

// Nothing of the provisioner is left on a node before its own ovn-kubernetes is back; and where the clean-up doesn't end, that is told, and
// holds up nothing for longer than other things.
func TestMove_cleansUpAfterTheProvisioner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := snapshot(t.Context(), w.g, w)
	w.until("moved", done)
	w.unclean = map[string]bool{"ocp-worker-2": true}
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	w.until("rolling back", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 RollingBack") })
	for range 10 {
		result, err := w.reconcile()
		w.g.Expect(err).NotTo(HaveOccurred())
		w.g.Expect(phases(result)).To(ContainElement("ocp-worker-2 RollingBack"))
	}
	w.g.Expect(w.node("ocp-worker-2").Labels).To(And(HaveKey(operatorv1.NetworkMovedLabel), HaveKey(operatorv1.NetworkCleanUpLabel)))
	w.g.Expect(w.node("ocp-worker-3").Labels).NotTo(HaveKey(operatorv1.NetworkCleanUpLabel))
	w.now = w.now.Add(16 * time.Minute)
	result := w.until("restored", done)
	w.g.Expect(result.Condition).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", Equal("the network is as it was before; "+
		"node ocp-worker-2 has everything back, but it isn't known whether the address and the route of the host network provisioner are gone: "+
		"reboot it, or look there"))))
	w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before))
}

// A node that failed is cleaned up, too; one whose clean-up didn't end is reported when all is taken back.
func TestMove_reportsANodeThatFailedAndWasntCleanedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broken["ocp-worker-1"], w.unclean = true, map[string]bool{"ocp-worker-1": true}
	w.until("switching", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-1 Switching") })
	w.now = w.now.Add(16 * time.Minute)
	w.until("rolling back", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-1 RollingBack") })
	w.now = w.now.Add(16 * time.Minute)
	w.until("failed", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-1 Failed") })
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	result := w.until("restored", done)
	w.g.Expect(result.Reports).To(ConsistOf(HavePrefix("node ocp-worker-1: it isn't known whether")))
}

func (w *world) node(name string) *corev1.Node {
	node := &corev1.Node{}
	w.g.Expect(w.Get(w.t.Context(), client.ObjectKey{Name: name}, node)).To(Succeed())
	return node
}
