package hostnetwork_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
)

func phases(r hostnetwork.Result) (all []string) {
	for _, node := range r.Nodes {
		all = append(all, node.Name+" "+string(node.Phase))
	}
	return all
}

func TestMove_goesThereInOrderAndBackInReverse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := snapshot(t.Context(), w.g, w)
	result := w.until("moved", done)
	w.g.Expect(phases(result)).To(Equal([]string{"ocp-worker-1 Ready", "ocp-worker-2 Ready", "ocp-worker-3 Ready"}))
	w.g.Expect(result.Condition).To(And(HaveField("Type", "HostNetworkConfigured"), HaveField("Status", metav1.ConditionTrue)))
	w.g.Expect(result.RequeueAfter).To(BeZero())

	changes := slices.DeleteFunc(slices.Clone(w.log), func(line string) bool { return strings.Contains(line, "dpf-journal") })
	w.g.Expect(changes).To(Equal([]string{
		"patch version", "patch network-operator", "delete network-node-identity.openshift.io", "patch ovnkube-node",
		"create ovnkube-config-dpf", "create ovnkube-script-lib-dpf", "create ovnkube-node-dpf",
		"patch ocp-worker-1", "patch ocp-worker-1", "patch ocp-worker-1",
		"patch ocp-worker-2", "patch ocp-worker-2", "patch ocp-worker-2",
		"patch ocp-worker-3", "patch ocp-worker-3", "patch ocp-worker-3",
	}))
	for i, line := range w.log {
		if i == 0 || line == "patch version" {
			w.g.Expect(w.log[0]).To(Equal("create dpf-journal-cluster"), "before the first change")
		}
	}
	after := snapshot(t.Context(), w.g, w)
	for _, plain := range []string{"ocp-plain-1", "ocp-plain-2"} {
		key := `Node null "` + plain + `"`
		w.g.Expect(after[key]).To(Equal(before[key]))
	}
	var node corev1.Node
	w.g.Expect(w.Get(t.Context(), client.ObjectKey{Name: "ocp-worker-1"}, &node)).To(Succeed())
	w.g.Expect(node.Labels).To(And(HaveKey(operatorv1.NetworkMovedLabel), HaveKey(operatorv1.NetworkPreconfigReadyLabel)))
	w.g.Expect(node.Annotations).To(And(Not(HaveKey(operatorv1.ChassisIDAnnotation)), HaveKey("example.com/kept")))
	w.g.Expect(node.Spec.Taints).To(HaveLen(1))

	writes := w.writes.Load()
	for range 5 {
		_, err := w.reconcile()
		w.g.Expect(err).NotTo(HaveOccurred())
	}
	w.g.Expect(w.writes.Load()).To(Equal(writes), "at rest nothing is written")

	w.log = nil
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	result = w.until("restored", done)
	w.g.Expect(result.Reports).To(BeEmpty())
	w.g.Expect(result.Condition).To(And(HaveField("Type", "Restored"), HaveField("Status", metav1.ConditionTrue)))
	changes = slices.DeleteFunc(slices.Clone(w.log), func(line string) bool { return strings.Contains(line, "dpf-journal") })
	w.g.Expect(changes).To(Equal([]string{
		"patch ocp-worker-3", "patch ocp-worker-3", "patch ocp-worker-3",
		"patch ocp-worker-2", "patch ocp-worker-2", "patch ocp-worker-2",
		"patch ocp-worker-1", "patch ocp-worker-1", "patch ocp-worker-1",
		"delete ovnkube-node-dpf", "delete ovnkube-config-dpf", "delete ovnkube-script-lib-dpf",
		"patch ovnkube-node", "create network-node-identity.openshift.io", "patch network-operator", "patch version",
	}))
	w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before))
}

func TestMove_deletedAtAnyStepLeavesNothing(t *testing.T) {
	t.Parallel()
	for steps := 0; ; steps++ {
		w := newWorld(t)
		before := snapshot(t.Context(), w.g, w)
		over := false
		for range steps {
			result, err := w.reconcile()
			w.g.Expect(err).NotTo(HaveOccurred())
			over = over || result.Done
		}
		if steps%2 == 0 {
			w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
		} else {
			w.config.Spec.HostNetworkConfiguration = nil
		}
		w.until("restored", done)
		w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before), "after %d steps", steps)
		if over {
			t.Logf("deleted after each of %d steps", steps)
			return
		}
	}
}

func TestMove_killedAtEveryWriteComesToTheSameEnd(t *testing.T) {
	t.Parallel()
	there := func(w *world) map[string]string {
		w.config.DeletionTimestamp = nil
		w.until("moved", done)
		return snapshot(t.Context(), w.g, w)
	}
	back := func(w *world) map[string]string {
		w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
		w.until("restored", done)
		return snapshot(t.Context(), w.g, w)
	}
	reference := newWorld(t)
	before := snapshot(t.Context(), reference.g, reference)
	moved := there(reference)
	onlyState(moved)
	middle := reference.writes.Load()
	back(reference)
	last := reference.writes.Load()

	points := 0
	for at := int64(1); at <= last; at++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			w.fail = func(n int64, _ string) (bool, bool) { return n == at && !after, n == at && after }
			state := there(w)
			onlyState(state)
			w.g.Expect(state).To(Equal(moved), "killed at write %d (after it: %v)", at, after)
			w.g.Expect(back(w)).To(Equal(before), "killed at write %d (after it: %v)", at, after)
			points++
		}
	}
	t.Logf("%d crash points: before and after each of %d writes there and %d back", points, middle, last-middle)
}

// onlyState takes out of a snapshot when something was.
func onlyState(s map[string]string) {
	for key := range s {
		if strings.Contains(key, "dpf-journal") {
			delete(s, key)
		}
	}
}

func TestMove_aNodeThatNeverGetsReadyGetsItsNetworkBackAndTheRollStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := snapshot(t.Context(), w.g, w)
	w.broken["ocp-worker-2"] = true
	failed := func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 Failed") }
	w.until("switching", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 Switching") })
	w.reconcileUntilQuiet()
	w.now = w.now.Add(16 * time.Minute)
	w.until("failed", failed)
	result, err := w.reconcile()
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(phases(result)).To(Equal([]string{"ocp-worker-1 Ready", "ocp-worker-2 Failed", "ocp-worker-3 Pending"}))
	w.g.Expect(result.Condition).To(And(HaveField("Reason", "Failure"), HaveField("Message", ContainSubstring(
		"node ocp-worker-2 failed: Switching for longer than 15m0s: its Pod of ovnkube-node-dpf isn't ready"))))
	key := `Node null "ocp-worker-2"`
	w.g.Expect(snapshot(t.Context(), w.g, w)[key]).To(Equal(before[key]), "it is as it was before")

	w.broken["ocp-worker-2"] = false
	w.config.Generation++
	w.until("moved once the spec has changed", done)
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	w.until("restored", done)
	w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before))
}

// reconcileUntilQuiet ends when nothing is written any more.
func (w *world) reconcileUntilQuiet() {
	for {
		writes := w.writes.Load()
		_, err := w.reconcile()
		w.g.Expect(err).NotTo(HaveOccurred())
		if w.writes.Load() == writes {
			return
		}
	}
}

func TestMove_nodesComeAndGoInMidRoll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dpuSide = func(host operatorv1.Host) (hostnetwork.Readiness, error) {
		return hostnetwork.Readiness{Ready: host.HostClusterNodeName != "ocp-worker-2", Why: "it boots"}, nil
	}
	w.until("provisioning", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 Provisioning") })
	w.reconcileUntilQuiet()
	result, err := w.reconcile()
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(result.Nodes[1].Message).To(Equal("it boots"))
	w.g.Expect(result.Nodes[2].Message).To(Equal("it waits for its turn"))

	w.g.Expect(w.Delete(t.Context(), worker("ocp-worker-2", true))).To(Succeed())
	w.g.Expect(w.Create(t.Context(), worker("ocp-worker-4", true))).To(Succeed())
	w.until("the others are moved", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-3 Ready") })
	w.reconcileUntilQuiet()
	result, err = w.reconcile()
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(phases(result)).To(ContainElements("ocp-worker-1 Ready", "ocp-worker-3 Ready", "ocp-worker-4 Pending"))
	w.g.Expect(result.Condition.Message).To(ContainSubstring("nodes with a DPU have no entry in hosts: ocp-worker-4"))

	w.config.Spec = config("ocp-worker-1", "ocp-worker-3", "ocp-worker-4").Spec
	w.config.Generation++
	result = w.until("the new one is moved", done)
	w.g.Expect(phases(result)).To(Equal([]string{"ocp-worker-1 Ready", "ocp-worker-3 Ready", "ocp-worker-4 Ready"}))

	again := worker("ocp-worker-1", true)
	w.g.Expect(w.Delete(t.Context(), again)).To(Succeed())
	again.UID, again.ResourceVersion = "another", ""
	w.g.Expect(w.Create(t.Context(), again)).To(Succeed())
	w.until("another node of the same name is moved", done)
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	w.until("restored", done)
}

func firstTerm(set *appsv1.DaemonSet) *corev1.NodeSelectorTerm {
	return &set.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
}

func TestMove_leavesAndReportsWhatOthersHaveChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.until("moved", done)
	var set appsv1.DaemonSet
	w.g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: ovnNamespace, Name: "ovnkube-node"}, &set)).To(Succeed())
	term := firstTerm(&set)
	term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: "theirs", Operator: "Exists"})
	w.g.Expect(w.Update(t.Context(), &set)).To(Succeed())
	w.g.Expect(w.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "network-node-identity.openshift.io"},
	})).To(Succeed())
	var operator appsv1.Deployment
	w.g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: netNamespace, Name: "network-operator"}, &operator)).To(Succeed())
	operator.Spec.Replicas = ptr.To[int32](2)
	w.g.Expect(w.Update(t.Context(), &operator)).To(Succeed())

	result, err := w.reconcile()
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(result.Condition.Message).To(ContainSubstring("was scaled up by others"))
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	result = w.until("restored", done)
	w.g.Expect(result.Reports).To(HaveLen(3))
	w.g.Expect(result.Condition.Message).To(And(
		ContainSubstring("affinity"), ContainSubstring("keeps their webhooks"), ContainSubstring("keeps its replicas")))
	w.g.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(&set), &set)).To(Succeed())
	w.g.Expect(asJSON(set.Spec.Template.Spec.Affinity)).To(And(ContainSubstring("theirs"), Not(ContainSubstring(operatorv1.NetworkMovedLabel))))
	w.g.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(&operator), &operator)).To(Succeed())
	w.g.Expect(*operator.Spec.Replicas).To(BeEquivalentTo(2))
	var version configv1.ClusterVersion
	w.g.Expect(w.Get(t.Context(), client.ObjectKey{Name: "version"}, &version)).To(Succeed())
	w.g.Expect(version.Spec.Overrides).To(HaveLen(1))
}

func TestMove_doesNothingWhereItWouldTakeChangedStateForTheOriginal(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change  func([]client.Object)
		message string
	}{
		"a node's label": {func(objects []client.Object) {
			objects[7].SetLabels(map[string]string{operatorv1.NetworkMovedLabel: "", operatorv1.DPUEnabledLabel: "true"})
		}, "node ocp-worker-1: it has the taint or a label of an earlier move"},
		"the affinity": {func(objects []client.Object) {
			firstTerm(objects[3].(*appsv1.DaemonSet)).MatchExpressions[0].Key = operatorv1.NetworkMovedLabel
		}, "the journal doesn't know of"},
		"no anchor in the script": {func(objects []client.Object) {
			objects[5].(*corev1.ConfigMap).Data["ovnkube-lib.sh"] = "#!/bin/bash"
		}, "ovnkube-lib.sh: it doesn't mention unix:${vswitch_dbsock}"},
		"no section in the configuration": {func(objects []client.Object) {
			objects[4].(*corev1.ConfigMap).Data["ovnkube.conf"] = "[default]"
		}, "it has no section [gateway]"},
		"another DaemonSet": {func(objects []client.Object) {
			objects[3].(*appsv1.DaemonSet).Spec.Template.Spec.Containers = nil
			objects[3].(*appsv1.DaemonSet).Spec.Template.Spec.Volumes = nil
		}, "no volume is of ConfigMap ovnkube-config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := ocp()
			row.change(objects)
			w := newWorld(t, objects...)
			before := snapshot(t.Context(), w.g, w)
			w.reconcileUntilQuiet()
			result, err := w.reconcile()
			w.g.Expect(err).NotTo(HaveOccurred())
			w.g.Expect(result.Condition).To(And(HaveField("Reason", "Failure"), HaveField("Message", ContainSubstring(row.message))))
			if name != "a node's label" {
				w.g.Expect(w.log).To(BeEmpty())
				w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before))
			}
			for _, line := range w.log {
				w.g.Expect(line).NotTo(ContainSubstring("worker"))
			}
		})
	}
}

func TestPlan_isWhatIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check := func() {
		t.Helper()
		steps, problem, err := w.move().Plan(t.Context(), w.config)
		w.g.Expect(err).NotTo(HaveOccurred())
		w.g.Expect(problem).To(BeEmpty())
		for i, step := range steps {
			w.settle()
			rest, _, err := w.move().Plan(t.Context(), w.config)
			w.g.Expect(err).NotTo(HaveOccurred())
			w.g.Expect(rest).To(Equal(steps[i:]), "%s", step)
			_, err = w.reconcile()
			w.g.Expect(err).NotTo(HaveOccurred())
		}
		t.Logf("%d steps", len(steps))
	}
	writes := w.writes.Load()
	steps, _, err := w.move().Plan(t.Context(), w.config)
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(w.writes.Load()).To(Equal(writes))
	w.g.Expect(steps[0].String()).To(ContainSubstring("upgrades of the cluster are blocked"))
	w.settle()
	check()
	w.until("moved", done)
	left, err := w.move().Left(t.Context())
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(left).To(HaveLen(7))
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	check()
	w.until("restored", done)
}
