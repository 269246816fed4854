package controller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/metricstest"
)

// An outage shorter than two thirds of a lease isolates no host.
func TestLease_isRenewedEarly(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.lease = 75 * time.Second // a fifteenth of it is for a machine that is slow
	f.run()
	f.group("blue")
	agent := f.agent(2)
	f.host("blue", 2)
	f.Eventually(func() int { return agent.Calls("Attach") }).WithTimeout(f.lease + patience).Should(BeNumerically(">", 2))
	f.Expect(agent.Least()).To(BeNumerically(">", f.lease*3/5), "two thirds, and how slow this machine is")
	f.Expect(agent.Least()).To(BeNumerically("<", f.lease*3/4), "not more often than is needed")
}

func TestLease_whoseRenewalIsRefused(t *testing.T) {
	t.Parallel()
	f, agent, host := attached(t, 15*time.Second)
	agent.Refuse(errDead)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "AgentRefused")
	said, calls := f.watch(host, resourcev1.AttachedCondition), agent.Calls("Attach")
	f.Eventually(func() int { return agent.Calls("Attach") }).WithTimeout(patience).Should(BeNumerically(">", calls+2))
	f.Expect(said()).To(HaveEach("AgentRefused"), "a promise isn't a lease")
	f.Eventually(f.leaseMetric(host)).WithTimeout(patience).Should(BeNumerically("<", f.lease.Seconds()/3))
	agent.Refuse(nil)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}

// A call without an answer isn't a refusal.
func TestLease_whoseRenewalIsntAnswered(t *testing.T) {
	t.Parallel()
	f, agent, host := attached(t, 15*time.Second)
	agent.Refuse(status.Error(codes.DeadlineExceeded, "it takes too long"))
	f.Expect(f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionUnknown, "AgentUnreachable")).To(ContainSubstring("keeps the host attached until"))
	agent.Refuse(nil)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}

func TestLease_whoseDPUGetsAnotherPort(t *testing.T) {
	t.Parallel()
	f, agent, host := attached(t, 15*time.Second)
	agent.Say(func(r *agentstest.Said) {
		r.Ports = append([]*agentv1.Port{{Name: "pf1hpf", Up: true}}, r.GetPorts()...)
	})
	calls := agent.Calls("Attach")
	f.Eventually(func() int { return agent.Calls("Attach") }).WithTimeout(patience).Should(BeNumerically(">", calls+1), "it is renewed")
	f.Expect(agent.Says().GetPorts()[0].GetAssignment()).To(BeNil())
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "")

	agent.Say(func(r *agentstest.Said) { r.Ports = nil })
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "NoPort")
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionUnknown, "NoPort")
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "LeaseExpired")
}

// It doesn't become ready just because a controller has started.
func TestLease_whenTheControllerIsStartedAnew(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.lease = 24 * time.Second // longer than a restart takes
	f.run()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.stop()
	said, calls := f.watch(host, resourcev1.ReadyCondition), agent.Calls("Attach")
	f.run()
	f.Eventually(func() int { return agent.Calls("Attach") }).WithTimeout(patience).Should(BeNumerically(">", calls+1))
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.Expect(said()).To(HaveEach("AsWanted"))
}

// The controller may have called a host isolated before it saw its own promise.
func TestLease_thatIsSeenLate(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.becomes(f.group("blue"), resourcev1.ReadyCondition, metav1.ConditionTrue, "") // nothing else wakes the host any more
	agent := f.agent(2)
	host := f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.State = resourcev1.Isolated })
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.Expect(agent.Calls("Isolate")).To(BeZero())
	base := host.DeepCopy()
	host.Status.LeaseExpires = &metav1.Time{Time: time.Now().Add(f.lease)}
	host.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: host.Spec.DPUIPs[0]}
	f.Expect(f.client.Status().Patch(t.Context(), host, client.MergeFrom(base))).To(Succeed())
	f.Eventually(func(g Gomega) {
		g.Expect(agent.Calls("Isolate")).NotTo(BeZero())
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
		g.Expect(host.Status.LeaseExpires).To(BeNil())
	}).WithTimeout(patience).Should(Succeed())
}

// What a restored object says ended long ago, the DPU may have renewed since: nothing of the host is free before a lease has passed.
func TestLease_isHeldAfterARestore(t *testing.T) {
	t.Parallel()
	f, agent, host := attached(t, 15*time.Second)
	f.stop()
	agent.Refuse(errDead)
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
	base := host.DeepCopy()
	host.Status.LeaseExpires = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	f.Expect(f.client.Status().Patch(t.Context(), host, client.MergeFrom(base))).To(Succeed())
	began := time.Now()
	f.run()
	f.Expect(f.client.Delete(t.Context(), host)).To(Succeed())
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating")
	f.gone(host)
	f.Expect(time.Since(began)).To(BeNumerically(">=", f.lease))
}

// leaseMetric is how many seconds a host's lease still runs, as metrics say it.
func (f *fixture) leaseMetric(host *resourcev1.ManagedResource) func() float64 {
	f.t.Helper()
	pool, registry := f.pool(f.t.Context()), prometheus.NewPedanticRegistry()
	f.Eventually(func() error { _, err := pool.Report(string(host.Spec.DPUIPs[0])); return err }).Should(Succeed())
	own := client.NewNamespacedClient(f.client, f.namespace)
	f.Expect(registry.Register(controller.NewState(own, controller.Config{Agents: pool, Lease: f.lease}))).To(Succeed())
	return func() float64 {
		values := metricstest.ValuesOf(f.t, registry, "bedplate_hydrazine_lease_remaining_seconds")
		f.Expect(values).To(HaveLen(1))
		return values[0].GetGauge().GetValue()
	}
}

// A host's status is as old as this says, where its lease isn't renewed.
func TestLease_saysWhatReportItCountsFrom(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Second)
	f, _, host := attached(t, 12*time.Second)
	f.Expect(host.Status.LastReport.Time).To(And(BeTemporally(">=", began), BeTemporally("<=", time.Now())))
	f.Expect(host.Status.LeaseExpires.Sub(host.Status.LastReport.Time)).To(BeNumerically("~", f.lease, time.Second))
	first := host.Status.LastReport.Time
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
		g.Expect(host.Status.LastReport.Time).To(BeTemporally(">", first))
	}).Should(Succeed())
	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.State = resourcev1.Isolated })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolated")
	now := &resourcev1.ManagedResource{} // what is absent leaves an object that is read into as it was
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(host), now)).To(Succeed())
	f.Expect(now.Status.LastReport).To(BeNil())
}
