package actuator_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/machineapi"
)

// others plays those controllers of OpenShift that the machine controller works with: for MachineSets, for
// MachineHealthChecks, and the one that finds the Node of a Machine. Each does the least that is true of the real one.
func (f *fixture) others() {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			f.replicate(ctx)
			f.linkNodes(ctx)
			f.remediate(ctx)
		}, 20*time.Millisecond)
	})
	f.t.Cleanup(func() { stop(); running.Wait() })
}

func (f *fixture) machines(ctx context.Context) (all []machinev1.Machine) {
	list := &machinev1.MachineList{}
	_ = f.Client.List(ctx, list, client.InNamespace(f.Namespace))
	return list.Items
}

// replicate makes as many Machines as each MachineSet has replicas. Those that go already don't count.
func (f *fixture) replicate(ctx context.Context) {
	sets := &machinev1.MachineSetList{}
	_ = f.Client.List(ctx, sets, client.InNamespace(f.Namespace))
	for _, set := range sets.Items {
		var mine []machinev1.Machine
		for _, m := range f.machines(ctx) {
			if metav1.IsControlledBy(&m, &set) && m.DeletionTimestamp == nil {
				mine = append(mine, m)
			}
		}
		for n := len(mine); n < int(*set.Spec.Replicas); n++ {
			_ = f.Client.Create(ctx, &machinev1.Machine{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: f.Namespace, GenerateName: set.Name + "-", Labels: set.Spec.Template.Labels,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&set, machinev1.GroupVersion.WithKind("MachineSet"))},
				},
				Spec: set.Spec.Template.Spec,
			})
		}
		for n := int(*set.Spec.Replicas); n < len(mine); n++ {
			_ = f.Client.Delete(ctx, &mine[n])
		}
	}
}

// linkNodes makes the Nodes that kubelets would register, and writes into Machines which Node is theirs.
func (f *fixture) linkNodes(ctx context.Context) {
	for _, m := range f.machines(ctx) {
		if m.Status.NodeRef != nil || m.DeletionTimestamp != nil || ptr.Deref(m.Status.Phase, "") != machinev1.PhaseProvisioned {
			continue
		}
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: f.Namespace + "-" + m.Name}, Spec: corev1.NodeSpec{ProviderID: *m.Spec.ProviderID},
		}
		if f.Client.Create(ctx, n) == nil {
			f.t.Cleanup(func() { _ = f.Client.Delete(context.Background(), n) })
			_ = f.tell(ctx, n, corev1.ConditionTrue)
		}
		before := m.DeepCopy()
		m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: n.Name}
		_ = f.Client.Status().Patch(ctx, &m, client.MergeFrom(before))
	}
}

// tell whether a Node is ready.
func (f *fixture) tell(ctx context.Context, n *corev1.Node, ready corev1.ConditionStatus) error {
	n.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, Reason: "NodeStatus" + string(ready), Message: "Kubelet stopped posting node status.",
	}}
	return f.Client.Status().Update(ctx, n)
}

// remediate deletes the Machines that a MachineHealthCheck selects and whose Nodes aren't ready.
func (f *fixture) remediate(ctx context.Context) {
	checks := &machinev1.MachineHealthCheckList{}
	_ = f.Client.List(ctx, checks, client.InNamespace(f.Namespace))
	for _, check := range checks.Items {
		selector, _ := metav1.LabelSelectorAsSelector(&check.Spec.Selector)
		selected := &machinev1.MachineList{}
		_ = f.Client.List(ctx, selected, client.InNamespace(f.Namespace), client.MatchingLabelsSelector{Selector: selector})
		for _, m := range selected.Items {
			if m.DeletionTimestamp == nil && f.isUnhealthy(ctx, &m) {
				_ = f.Client.Delete(ctx, &m)
			}
		}
	}
}

func (f *fixture) isUnhealthy(ctx context.Context, m *machinev1.Machine) bool {
	n := &corev1.Node{}
	if m.Status.NodeRef == nil || f.Client.Get(ctx, client.ObjectKey{Name: m.Status.NodeRef.Name}, n) != nil {
		return false
	}
	return len(n.Status.Conditions) > 0 && n.Status.Conditions[0].Status != corev1.ConditionTrue
}

// untilRunning waits until so many Machines run, each with the instance of its name, and nothing else is there.
func (f *fixture) untilRunning(machines int) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		all := f.machines(f.t.Context())
		g.Expect(all).To(HaveLen(machines))
		instances := f.instances()
		g.Expect(instances).To(HaveLen(machines))
		for _, m := range all {
			g.Expect(m.Status.Phase).To(HaveValue(Equal(machinev1.PhaseRunning)), m.Name)
			g.Expect(m.Spec.ProviderID).To(HaveValue(Equal("nvidia-bmm://" + sim.DefaultSiteID + "/" + instances[m.Name].ID)))
		}
	}).Should(Succeed())
}

func TestMachineSet_scalesUpAndDown(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	f.run(40 * bmmtest.Poll) // so long a site's subnets are remembered
	f.others()
	set := f.machineSet("workers", 2)
	f.Create(set)
	f.untilRunning(2)
	scale := func(replicas int32) {
		bmmtest.Change(f.Fixture, set, func(s *machinev1.MachineSet) { s.Spec.Replicas = &replicas })
		f.untilRunning(int(replicas))
	}
	scale(5)
	scale(1)
	scale(0)
	f.Expect(f.Sim.State().Releases).To(And(HaveLen(5), HaveEach(HaveField("MachineHealthIssue", BeNil()))), "none of them was ill")
	f.Expect(f.Called("createInstance")).To(Equal(5))
	f.Expect(f.Called("listSubnets")).To(BeNumerically("<=", 5), "not one for each reconcile")
}

// Controllers come and go while Machines do: nothing is made twice, nothing stays behind.
func TestMachineSet_survivesRestartsOfTheController(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	f.others()
	set := f.machineSet("workers", 4)
	f.Create(set)
	for n := range 4 {
		f.run(bmmtest.Poll)
		f.Eventually(func() int { return f.Called("createInstance") }).Should(BeNumerically(">", n))
		f.stopping()
	}
	f.run(bmmtest.Poll)
	f.untilRunning(4)
	f.Expect(f.Called("createInstance")).To(Equal(4))
	f.Delete(set)
	for _, m := range f.machines(t.Context()) {
		f.Delete(&m)
	}
	f.untilRunning(0)
}

// A bad image makes all Nodes unready. None of their hosts is the site's to repair.
func TestMachineHealthCheck_takesNoHostOutOfTheSitesPool(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.others()
	f.Create(f.machineSet("workers", 2))
	f.untilRunning(2)
	ill := f.machines(t.Context())[0]
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ill.Status.NodeRef.Name}}
	f.Eventually(func() error {
		_ = f.Client.Get(t.Context(), client.ObjectKeyFromObject(n), n)
		return f.tell(t.Context(), n, corev1.ConditionUnknown)
	}).Should(Succeed())
	f.Create(&machinev1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "workers"},
		Spec: machinev1.MachineHealthCheckSpec{
			Selector:            metav1.LabelSelector{MatchLabels: f.machineSet("workers", 0).Spec.Selector.MatchLabels},
			UnhealthyConditions: []machinev1.UnhealthyCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}},
		},
	})
	f.UntilGone(&ill)
	f.Eventually(func() error { return f.Read(n) }).ShouldNot(Succeed(), "its Node goes too")
	f.untilRunning(2)
	f.Expect(f.Sim.State().Releases).To(ConsistOf(HaveField("MachineHealthIssue", BeNil())))

	second := f.machines(t.Context())[0]
	f.Expect(f.Sim.SetStatus(sim.Status{ID: statusOf(&second).MachineID, Status: "Maintenance", Message: "a fan is dead"})).To(Succeed())
	f.Eventually(func() error {
		n := &corev1.Node{}
		_ = f.Client.Get(t.Context(), client.ObjectKey{Name: second.Status.NodeRef.Name}, n)
		return f.tell(t.Context(), n, corev1.ConditionUnknown)
	}).Should(Succeed())
	f.UntilGone(&second)
	f.Expect(f.Sim.State().Releases).To(ConsistOf(HaveField("MachineHealthIssue", BeNil()), HaveField("MachineHealthIssue", Equal(&bmm.MachineHealthIssue{
		Category: bmm.IssueOther, Summary: "the Node isn't ready: NodeStatusUnknown",
		Details: "BMM says: a fan is dead\nKubelet stopped posting node status.",
	}))), "but where the site itself knows")
}

// nodeReads counts how often Nodes are read past the cache.
type nodeReads struct {
	client.Reader
	n atomic.Int32
}

func (r *nodeReads) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*corev1.Node); ok {
		r.n.Add(1)
	}
	return r.Reader.Get(ctx, key, o, options...)
}

// Its Node is asked about when the instance is given back, and not as long as that takes.
func TestHealth_isLookedAtOnce(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	reads := &nodeReads{}
	f.Run(bmmtest.Poll, bmmtest.Settle, func(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, o controller.Options) error {
		reads.Reader = engine.Live
		engine.Live = reads
		return actuator.Setup(ctx, mgr, engine, bmm.Paced(bmmtest.Poll, 0, 0, egress.Policy{Loopback: true}), o)
	})
	f.others()
	m := f.createMachine("worker-1")
	f.untilRunning(1)
	f.Expect(f.Sim.SetStatus(sim.Status{ID: f.instances()["worker-1"].ID, Status: "Terminating"})).To(Succeed())
	bmmtest.Change(f.Fixture, m, func(m *machinev1.Machine) { // so that nothing but the health asks for the Node
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, machineapi.ExcludeNodeDrainingAnnotation, "")
	})
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(m)).To(Succeed())
		g.Expect(statusOf(m).InstanceState).To(Equal("Terminating"))
	}).Should(Succeed())
	f.Delete(m)
	f.untilPhase(m, machinev1.PhaseDeleting)
	lists := f.Called("listInstances")
	f.Eventually(func() int { return f.Called("listInstances") }).Should(BeNumerically(">", lists+5))
	f.Expect(reads.n.Load()).To(BeZero())

	f.Expect(f.Sim.Vanish(f.instances()["worker-1"].ID)).To(Succeed())
	f.UntilGone(m)
	f.Expect(reads.n.Load()).To(BeEquivalentTo(1), "to delete it")
}

// Another instance may have registered under the same name.
func TestHealth_isNotThatOfAnotherInstancesNode(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.ready("worker-1")
	f.untilPhase(m, machinev1.PhaseProvisioned)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: f.Namespace + "-worker-1"}, Spec: corev1.NodeSpec{ProviderID: *m.Spec.ProviderID + "x"},
	}
	f.Create(n)
	t.Cleanup(func() { _ = f.Client.Delete(context.Background(), n) })
	f.Expect(f.tell(t.Context(), n, corev1.ConditionUnknown)).To(Succeed())
	bmmtest.ChangeStatus(f.Fixture, m, func(m *machinev1.Machine) { m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: n.Name} })
	f.Delete(m)
	f.UntilGone(m)
	f.Expect(f.Sim.State().Releases).To(ConsistOf(HaveField("MachineHealthIssue", BeNil())))
}

func TestHealth_aPersonKnowsMore(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]bmm.MachineHealthIssueCategory{"Hardware": bmm.IssueHardware, "burnt": bmm.IssueOther} {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			m := f.ready("worker-1")
			bmmtest.Change(f.Fixture, m, func(m *machinev1.Machine) {
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.HealthIssueAnnotation, annotation)
			})
			f.Delete(m)
			f.UntilGone(m)
			f.Expect(f.Sim.State().Releases).To(ConsistOf(HaveField("MachineHealthIssue", Equal(&bmm.MachineHealthIssue{
				Category: want, Summary: fmt.Sprint("reported with the annotation ", infrav1.HealthIssueAnnotation),
			}))))
		})
	}
}

// Another client may set a Machine that has an instance to Failed.
func TestHealth_aFailedMachine(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.ready("worker-1")
	f.untilPhase(m, machinev1.PhaseProvisioned)
	bmmtest.ChangeStatus(f.Fixture, m, func(m *machinev1.Machine) {
		m.Status.Phase, m.Status.ErrorMessage = ptr.To(machinev1.PhaseFailed), ptr.To("it burns")
	})
	f.Expect(f.Sim.SetStatus(sim.Status{ID: statusOf(m).MachineID, Status: "Maintenance", Message: "smoke"})).To(Succeed())
	f.Delete(m)
	f.UntilGone(m)
	f.Expect(f.Sim.State().Releases).To(ConsistOf(HaveField("MachineHealthIssue", Equal(&bmm.MachineHealthIssue{
		Category: bmm.IssueOther, Summary: "the Machine is Failed", Details: "BMM says: smoke\nit burns",
	}))))
}
