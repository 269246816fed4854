package machineapi_test

import (
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/machineapi"
)

// pod makes a Pod that runs on the Machine's Node. There is no kubelet: with a grace period it stays until endPod.
func (f *fixture) pod(name string, grace int64, change ...func(*corev1.Pod)) *corev1.Pod {
	f.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.name.Namespace, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeName: f.nodeName(), TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "web", Image: "web"}},
		},
	}
	for _, c := range change {
		c(pod)
	}
	f.Expect(f.client.Create(f.t.Context(), pod)).To(Succeed())
	pod.Status.Phase = corev1.PodRunning // a budget protects only these
	f.Expect(f.client.Status().Update(f.t.Context(), pod)).To(Succeed())
	return pod
}

func (f *fixture) podIsGone(pod *corev1.Pod) bool {
	return apierrors.IsNotFound(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}))
}

// endPod is what a kubelet does when a Pod has ended.
func (f *fixture) endPod(pod *corev1.Pod) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
}

// budget allows so many evictions of the Pods.
func (f *fixture) budget() (allow func(int32)) {
	f.t.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: f.name.Namespace},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	f.Expect(f.client.Create(f.t.Context(), budget)).To(Succeed())
	return func(disruptions int32) { // as the disruption controller does
		f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(budget), budget)).To(Succeed())
		budget.Status.ObservedGeneration = budget.Generation
		budget.Status.DisruptionsAllowed = disruptions
		f.Expect(f.client.Status().Update(f.t.Context(), budget)).To(Succeed())
	}
}

func TestDrain_waitsForPodsAndBudgetsWithoutHoldingAWorker(t *testing.T) {
	t.Parallel()
	f := newRunning(t)
	pod := f.pod("web-0", 30)
	allow := f.budget()
	allow(0)
	f.delete()

	atOnce := func() ctrl.Result {
		begun := time.Now()
		result := f.reconcile()
		f.Expect(time.Since(begun)).To(BeNumerically("<", 5*time.Second), "nothing was waited for")
		return result
	}
	result := atOnce()
	f.Expect(result.RequeueAfter).To(BeNumerically("~", 5*time.Second, time.Second))
	f.expectCondition(machinev1.MachineDrained, corev1.ConditionFalse, machinev1.MachineDrainError, "violate the pod's disruption budget")
	f.Expect(f.node().Spec.Unschedulable).To(BeTrue())

	allow(1)
	result = atOnce()
	f.Expect(result.RequeueAfter).To(BeNumerically("~", 5*time.Second, time.Second))
	f.expectCondition(machinev1.MachineDrained, corev1.ConditionFalse, "Draining", f.name.Namespace+"/web-0")
	f.Expect(f.podIsGone(pod)).To(BeFalse())
	f.Expect(f.cloud.called("Delete")).To(BeZero(), "the instance stays as long as the Pod runs")

	f.endPod(pod)
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
	f.Expect(f.nodeIsGone()).To(BeTrue())
}

// A budget may allow nothing for days: then it is asked ever more seldom, as a queue would.
func TestDrain_thatIsRefusedIsTriedEverMoreSeldom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reconcile()
	f.reconcile()
	f.join()
	f.pod("web-0", 30)
	f.budget()(0)
	f.delete()
	pauses := func(since time.Time, pause time.Duration) { // a condition's time is in seconds
		f.t.Helper()
		after := f.reconcile().RequeueAfter
		f.Expect(after).To(And(BeNumerically(">=", pause), BeNumerically("<=", pause+time.Since(since)+time.Second)))
	}
	pauses(time.Now(), 5*time.Second)
	for _, row := range []struct{ refused, pause time.Duration }{
		{15 * time.Second, 20 * time.Second}, {10 * time.Minute, 605 * time.Second}, {100 * time.Hour, 1000 * time.Second},
	} {
		now := time.Now()
		f.changeStatus(func(m *machinev1.Machine) {
			for i := range m.Status.Conditions {
				if c := &m.Status.Conditions[i]; c.Type == machinev1.MachineDrained {
					c.LastTransitionTime = metav1.NewTime(now.Add(-row.refused))
				}
			}
		})
		pauses(now, row.pause)
	}
}

// Another instance may have registered under the same name.
func TestDrain_leavesTheNodeOfAnotherInstance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.reconcile()
	f.reconcile()
	f.join(func(n *corev1.Node) { n.Spec.ProviderID = "toy://another" })
	pod := f.pod("web-0", 0)
	f.delete()
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
	f.Expect(f.podIsGone(pod)).To(BeFalse())
	f.Expect(f.node().Spec.Unschedulable).To(BeFalse())
}

// What belongs to the Node is deleted with it; what was drained once isn't drained again.
func TestDrain_leavesWhatBelongsToTheNode(t *testing.T) {
	t.Parallel()
	f := newRunning(t, func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreTerminate = hook })
	labels := map[string]string{"app": "agent"}
	daemons := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: f.name.Namespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent"}}},
			},
		},
	}
	f.Expect(f.client.Create(t.Context(), daemons)).To(Succeed())
	agent := f.pod("agent", 0, func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(daemons, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	})
	mirror := f.pod("etcd", 0, func(p *corev1.Pod) {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: f.nodeName(), UID: f.node().UID, Controller: ptr.To(true)}}
	})
	web := f.pod("web", 0, func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	})
	f.delete()
	f.reconcile()
	f.Expect(f.podIsGone(web)).To(BeTrue())
	f.reconcile()
	f.expectCondition(machinev1.MachineDrained, corev1.ConditionTrue, "", "Drain finished successfully")
	f.Expect(f.podIsGone(agent)).To(BeFalse())
	f.Expect(f.podIsGone(mirror)).To(BeFalse())

	late := f.pod("late", 0)
	f.reconcile()
	f.Expect(f.podIsGone(late)).To(BeFalse())
}

func TestDrain_isSkippedWhereItIsExcluded(t *testing.T) {
	t.Parallel()
	f := newRunning(t, func(m *machinev1.Machine) {
		m.Annotations = map[string]string{machineapi.ExcludeNodeDrainingAnnotation: ""}
		m.Spec.LifecycleHooks = machinev1.LifecycleHooks{PreDrain: hook, PreTerminate: hook}
	})
	pod := f.pod("web-0", 0)
	f.delete()
	f.reconcile()
	f.expectCondition(machinev1.MachineDrained, corev1.ConditionTrue, "", "skipped")
	f.Expect(f.podIsGone(pod)).To(BeFalse())
	f.Expect(f.node().Spec.Unschedulable).To(BeFalse())
	f.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil })
	f.reconcile()
	f.Expect(f.isGone()).To(BeTrue())
}

// A silent kubelet never says that a Pod has ended. Budgets count nevertheless.
func TestDrain_ofAnUnreachableNodeWaitsForNoPod(t *testing.T) {
	t.Parallel()
	f := newRunning(t)
	node := f.node()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	f.Expect(f.client.Status().Update(t.Context(), node)).To(Succeed())
	leaving := f.pod("web-1", 600)
	f.Expect(f.client.Delete(t.Context(), leaving)).To(Succeed())
	f.pod("web-0", 600)
	allow := f.budget()
	allow(0)
	f.delete()
	f.reconcile()
	f.expectCondition(machinev1.MachineDrained, corev1.ConditionFalse, machinev1.MachineDrainError, "disruption budget")

	allow(1)
	f.Eventually(func() bool { f.reconcile(); return f.isGone() }, 20*time.Second, 100*time.Millisecond).Should(BeTrue())
}

func TestDrain_ofControlPlaneNodesIsOneByOne(t *testing.T) {
	t.Parallel()
	var all []*fixture
	for range 3 {
		f := newFixture(t)
		f.reconcile()
		f.reconcile()
		f.join(func(n *corev1.Node) { n.Labels = map[string]string{"node-role.kubernetes.io/master": ""} })
		f.pod("web-0", 30)
		f.delete()
		all = append(all, f)
	}
	r := all[0].reconciler() // the workers of one controller
	var workers sync.WaitGroup
	for _, f := range all {
		workers.Go(func() {
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: f.name})
			f.Expect(err).NotTo(HaveOccurred())
		})
	}
	workers.Wait()
	cordoned := 0
	for _, f := range all {
		if f.node().Spec.Unschedulable {
			cordoned++
			f.expectCondition(machinev1.MachineDrained, corev1.ConditionFalse, "Draining", "")
		} else {
			f.expectCondition(machinev1.MachineDrained, corev1.ConditionFalse, machinev1.MachineDrainError, "one by one")
		}
	}
	all[0].Expect(cordoned).To(Equal(1))
}
