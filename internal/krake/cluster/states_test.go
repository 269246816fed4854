package cluster_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

func hours(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Hour} }

func TestStatePENDING_isBeforeAnythingExists(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.Fault(simulator.Fault{Operation: "getEstimate", Kind: simulator.FaultStatus, Status: 503, Times: -1})
	c := f.CreateCluster("demo")
	f.UntilReason(c, krakev1.ScheduledCondition, "NoSuitableCloud", "there is no cloud")
	f.Expect(c.Status.State).To(Equal(krakev1.StatePending))
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonNoSuitableResource))
	f.CreateCloud()
	f.UntilReason(c, krakev1.TemplateValidCondition, "Transient", "503")
	f.Expect(c.Status.State).To(Equal(krakev1.StatePending))
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonCreateFailed))
	f.Expect(c.Status.Reason.Message).To(ContainSubstring("503"))
	f.IM.ClearFaults()
	f.UntilState(c, krakev1.StateConnecting)
}

func TestStateCREATING_isUntilItIsConfiguredAndNoFailure(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t, func(c *sim.Config) { c.Times.Configure = hours(10000) })
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Waiting", "is running")
	f.UntilState(c, krakev1.StateCreating)
	f.Expect(c.Status.ClusterID).NotTo(BeEmpty())
	f.Expect(c.Status.Reason).To(BeNil())
	f.Expect(c.Spec.Kubeconfig).To(BeNil())
}

func TestStateRECONCILING_isWhileAChangeIsApplied(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	f.Fault(simulator.Fault{Operation: "updateInfrastructure", Kind: simulator.FaultHang})
	kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = three })
	f.UntilState(c, krakev1.StateReconciling)
	f.Expect(c.Status.Reason).To(BeNil())
	f.Expect(c.Status.LastAppliedTOSCA).To(Equal(kraketest.Template))
	f.IM.ClearFaults()
	f.UntilState(c, krakev1.StateConnecting)
}

func TestStateDELETING_isUntilAllIsGone(t *testing.T) {
	t.Parallel()
	f, c := connecting(t, func(c *sim.Config) { c.Times.Delete = hours(10000) })
	f.Delete(c)
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Deleting", "")
	f.UntilState(c, krakev1.StateDeleting)
	f.Expect(c.Status.Reason).To(BeNil())
	f.Expect(f.IM.Vanish(c.Status.ClusterID)).To(Succeed())
	f.UntilGone(c)
}

func TestStateFAILING_RECONCILIATION_isWhileItIsReconfigured(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	untilState := f.Watch(c)
	f.Fault(simulator.Fault{Operation: "reconfigureInfrastructure", Kind: simulator.FaultStatus, Status: 503, Times: 2})
	f.Expect(f.IM.SetStatus(sim.Status{ID: c.Status.ClusterID, State: im.Unconfigured})).To(Succeed())
	untilState(krakev1.StateFailingReconciliation)
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonReconcileFailed))
	f.Expect(c.Status.Reason.Message).To(ContainSubstring("is unconfigured"))
	untilState(krakev1.StateConnecting)
	f.Expect(f.Called("reconfigureInfrastructure")).To(Equal(3))
}

// It is for what a person has to correct, wherever that is, and ends with the correction.
func TestStateFAILED_endsWithAChangeOf(t *testing.T) {
	t.Parallel()
	secret := func(f *kraketest.Fixture, name, key, value string) {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Namespace}}
		aSecondLater(f, s)
		kraketest.Change(f, s, func(s *corev1.Secret) { s.Data[key] = []byte(value) })
	}
	for name, correct := range map[string]func(*kraketest.Fixture, *krakev1.Cluster){
		"the Cluster": func(f *kraketest.Fixture, c *krakev1.Cluster) {
			kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.BackoffDelay = 7 })
		},
		"its Cloud": func(f *kraketest.Fixture, _ *krakev1.Cluster) {
			cloud := &krakev1.Cloud{ObjectMeta: metav1.ObjectMeta{Name: kraketest.CloudName, Namespace: f.Namespace}}
			kraketest.Change(f, cloud, func(c *krakev1.Cloud) { c.Spec.IM.Metrics = []krakev1.MetricReference{{Name: "load"}} })
		},
		"the provider": func(f *kraketest.Fixture, _ *krakev1.Cluster) {
			provider := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
			kraketest.Change(f, provider, func(p *krakev1.InfrastructureProvider) { p.Spec.IM.URL += "/" })
		},
		"the Secret of the Cloud": func(f *kraketest.Fixture, _ *krakev1.Cluster) {
			secret(f, kraketest.CloudName, "host", "https://another.example.com")
		},
		"the Secret of the provider": func(f *kraketest.Fixture, _ *krakev1.Cluster) {
			secret(f, kraketest.ProviderName, im.SecretKeyPassword, kraketest.Password+"\n") // of another file
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := kraketest.Start(t)
			f.CreateCloud()
			f.Expect(f.IM.SetOutcome(sim.Outcome{State: im.Unconfigured, Message: "no public IP", Times: 5})).To(Succeed())
			c := f.CreateCluster("demo")
			f.UntilState(c, krakev1.StateFailed)
			f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonReconfigureFailed))
			tried := f.Called("reconfigureInfrastructure")
			correct(f, c)
			f.UntilState(c, krakev1.StateConnecting)
			f.Expect(c.Status.Reason).To(BeNil())
			f.Expect(f.Called("reconfigureInfrastructure")).To(BeNumerically(">", tried))
			f.Expect(f.Called("createInfrastructure")).To(Equal(1))
		})
	}
}

func TestStateCONNECTING_isOfAClusterWhoseKubeconfigIsThere(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.CreateCloud()
	f.Fault(simulator.Fault{Operation: "getOutputs", Kind: simulator.FaultStatus, Status: 503, Times: -1})
	c := f.CreateCluster("demo")
	f.UntilReason(c, krakev1.KubeconfigReadyCondition, "Transient", "503")
	f.Eventually(func() *krakev1.Reason { // beside looks at the infrastructure that aren't tried while IM counts as silent
		f.UntilState(c, krakev1.StateCreating)
		return c.Status.Reason
	}).Should(HaveValue(HaveField("Code", krakev1.ReasonRetrieveFailed)))
	f.IM.ClearFaults()
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(c.Spec.Kubeconfig.SecretRef.Name).To(Equal("demo-kubeconfig"))
	f.Expect(c.Status.Reason).To(BeNil())
}
