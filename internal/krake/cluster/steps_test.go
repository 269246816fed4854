package cluster_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/kubeconfig"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// connecting starts controllers with a Cluster that is made.
func connecting(t *testing.T, change ...func(*sim.Config)) (*kraketest.Fixture, *krakev1.Cluster) {
	t.Helper()
	f := kraketest.Start(t, change...)
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilState(c, krakev1.StateConnecting)
	return f, c
}

// three is the template with more machines.
var three = strings.Replace(kraketest.Template, "count: 1", "count: 2", 1)

// Any read of the state after the deletion would bring the record back for good.
func TestStep1_aDeletedClusterGoesWithItsInfrastructure(t *testing.T) {
	t.Parallel()
	f, c := connecting(t, func(c *sim.Config) { c.Times.Race = metav1.Duration{Duration: 10000 * time.Hour} })
	f.Expect(c.Finalizers).To(ContainElement(krakev1.ClusterFinalizer))
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.IM.State()).To(BeEmpty(), "also no record")
}

func TestStep1_aMissingProviderBlocksOnlyWhereSomethingIsOutThere(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	provider := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
	f.Delete(provider)
	kraketest.Change(f, provider, func(p *krakev1.InfrastructureProvider) { p.Finalizers = nil }) // by force: it is in use
	f.Delete(c)
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Invalid", "InfrastructureProvider "+f.Namespace+"/im doesn't exist: create it")
	f.UntilState(c, krakev1.StateDeleting)
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonDeleteFailed))

	nothing := f.CreateCluster("nothing")
	f.UntilReason(nothing, krakev1.InfrastructureReadyCondition, "Invalid", "doesn't exist")
	f.UntilState(nothing, krakev1.StateFailed)
	f.Delete(nothing)
	f.UntilGone(nothing)

	id := c.Status.ClusterID
	kraketest.Change(f, c, func(c *krakev1.Cluster) {
		c.Annotations = map[string]string{krakev1.AbandonAnnotation: "true"}
	})
	f.UntilGone(c)
	f.Expect(f.IM.State()).To(ConsistOf(HaveField("ID", id)))
	f.Expect(f.Ledger(c).Spec.Entries).To(ConsistOf(HaveField("ID", id)), "it is named still")
}

func TestStep1_aDeletionWhileCreatingIsForLater(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t, func(c *sim.Config) { c.Times.Launch = hours(20) }) // twelve real seconds
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilState(c, krakev1.StateCreating)
	f.Delete(c)
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Busy", "still being created")
	f.UntilState(c, krakev1.StateDeleting)
	f.UntilGone(c)
	f.Expect(f.IM.State().Empty()).To(BeTrue())
}

func TestStep2_onlyABoundClusterIsMade(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	c := f.CreateCluster("demo")
	f.UntilReason(c, krakev1.ScheduledCondition, "NoSuitableCloud", "there is no cloud")
	f.Expect(c.Status.State).To(Equal(krakev1.StatePending))
	f.Expect(c.Finalizers).To(BeEmpty())
	f.Expect(f.IM.Calls()).To(BeEmpty())
	f.CreateCloud()
	f.UntilState(c, krakev1.StateConnecting)
}

func TestStep3_whatMeansTheSameIsNoChange(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = "# a comment\n" + c.Spec.TOSCA })
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(c)).To(Succeed())
		g.Expect(c.Status.LastAppliedTOSCA).To(Equal(c.Spec.TOSCA))
	}).Should(Succeed())
	f.Expect(f.Called("updateInfrastructure")).To(BeZero())
}

func TestStep4_aNewClusterIsCreated(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	f.Expect(f.Called("createInfrastructure")).To(Equal(1))
	f.Expect(c.Status.RunningOn).To(Equal(c.Status.ScheduledTo))
	f.Expect(c.Status.LastAppliedTOSCA).To(Equal(c.Spec.TOSCA))
	f.Expect(c.Status.LastAppliedTOSCAHash).NotTo(BeEmpty())
	f.Expect(f.IM.State()).To(ConsistOf(HaveField("ID", c.Status.ClusterID)))
}

func TestStep4_aChangeIsApplied(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	untilState := f.Watch(c)
	kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = three })
	untilState(krakev1.StateReconciling)
	untilState(krakev1.StateConnecting)
	f.Expect(c.Status.LastAppliedTOSCA).To(Equal(three))
	f.Expect(f.IM.State()).To(ConsistOf(HaveField("VMs", HaveLen(3))))
	f.Expect(f.Called("updateInfrastructure")).To(Equal(1))
}

func TestStep4_aRemovedNodeTemplateStaysAndTheConditionSaysSo(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	kraketest.Change(f, c, func(c *krakev1.Cluster) {
		lines := strings.SplitAfter(c.Spec.TOSCA, "\n")
		c.Spec.TOSCA = strings.Join(append(lines[:3:3], append([]string{lines[3]}, lines[5:]...)...), "")
	})
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(c)).To(Succeed())
		ready := meta.FindStatusCondition(c.Status.Conditions, krakev1.InfrastructureReadyCondition)
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(ready.Message).To(ContainSubstring("node template wn isn't in spec.tosca any more, and stays"))
	}).Should(Succeed())
}

func TestStep5_whatFailsIsReconfiguredFiveTimes(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.CreateCloud()
	f.Expect(f.IM.SetOutcome(sim.Outcome{State: im.Unconfigured, Message: "no public IP", Times: 5})).To(Succeed())
	c := f.CreateCluster("demo")
	untilState := f.Watch(c)
	untilState(krakev1.StateFailingReconciliation)
	untilState(krakev1.StateFailed)
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonReconfigureFailed))
	f.Expect(c.Status.Reason.Message).To(And(ContainSubstring("5 of 5 repairs tried"), ContainSubstring("no public IP")))
	f.Expect(f.Called("reconfigureInfrastructure")).To(Equal(5))
	reconciles := f.Reconciles.Count()
	f.Eventually(f.Reconciles.Count).Should(BeNumerically(">", reconciles+3))
	f.Expect(f.Called("reconfigureInfrastructure")).To(Equal(5), "for good")
}

func TestStep6_aConnectingClusterIsLeftAlone(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	looks := func(n int) {
		before := f.Called("getState")
		f.Eventually(func() int { return f.Called("getState") }).Should(BeNumerically(">", before+n))
	}
	looks(1) // until then a cache may be behind
	outputs := f.Called("getOutputs")
	looks(2)
	f.Expect(f.Called("getOutputs")).To(Equal(outputs))
	f.Expect(f.Read(c)).To(Succeed())
	f.Expect(c.Status.State).To(Equal(krakev1.StateConnecting))
}

// The kubeconfig is in its Secret, and the spec names that, before the state says so.
func TestStep7_aConfiguredClusterIsConnecting(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	f.Expect(c.Spec.Kubeconfig.SecretRef.Name).To(Equal("demo-kubeconfig"))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo-kubeconfig", Namespace: f.Namespace}}
	f.Expect(f.Read(secret)).To(Succeed())
	f.Expect(secret.Type).To(BeEquivalentTo("cluster.x-k8s.io/secret"))
	f.Expect(secret.OwnerReferences).To(ConsistOf(HaveField("UID", c.UID)))
	_, err := kubeconfig.Read(secret.Data["value"])
	f.Expect(err).NotTo(HaveOccurred())
}

func TestStep7_whatIsGoneWhileItIsWaitedForIsMadeFromTheBeginning(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t, func(c *sim.Config) { c.Times.Configure = hours(20) }) // twelve real seconds
	f.CreateCloud()
	c := f.CreateCluster("demo")
	untilState := f.Watch(c)
	untilState(krakev1.StateCreating)
	f.Eventually(func() bool { return f.Read(c) == nil && c.Status.ClusterID != "" }).Should(BeTrue())
	f.Expect(f.IM.Vanish(c.Status.ClusterID)).To(Succeed())
	untilState(krakev1.StatePending)
	untilState(krakev1.StateConnecting)
	f.Expect(f.Called("createInfrastructure")).To(Equal(2))
}
