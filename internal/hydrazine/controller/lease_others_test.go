package controller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

// two hosts behind DPU 2, of which each has a port, with leases of this duration.
func two(t *testing.T, lease time.Duration, change ...func(*resourcev1.ManagedResource)) (
	f *fixture, group *resourcev1.ResourceGroup, agent *agentstest.Agent, stays, goes *resourcev1.ManagedResource,
) {
	t.Helper()
	f = start(t)
	f.lease = lease
	f.run()
	group = f.group("blue")
	f.group("red")
	agent = f.agent(2)
	agent.Say(func(r *agentstest.Said) { r.Ports = append(r.Ports, &agentv1.Port{Name: "pf1hpf", Up: true}) })
	f.agent(4)
	stays = f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.Identifier = "pf0hpf" })
	goes = f.host("blue", 3, append(change, func(r *resourcev1.ManagedResource) {
		r.Spec.DPUIPs[0], r.Spec.Identifier = resourcev1.IPAddress(f.dpu(2)), "pf1hpf"
	})...)
	f.becomes(stays, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(goes, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	return f, group, agent, stays, goes
}

// ends waits until the lease of a host has ended by all clocks, and with it the DPU's.
func (f *fixture) ends(of *resourcev1.ManagedResource) {
	f.t.Helper()
	end := of.Status.LeaseExpires.Add(f.lease/5 + 2*time.Second)
	f.Eventually(func() bool { return time.Now().After(end) }).WithTimeout(patience).Should(BeTrue())
}

// The lease is of one host. The other one's ovn-controller may never have got the removal of its address.
func TestLease_ofOneHostEndsNotWhatItsDPUAnswersForBesideOthers(t *testing.T) {
	t.Parallel()
	f, group, agent, stays, goes := two(t, 15*time.Second)
	address := goes.Spec.DPUIPs[1]
	f.Expect(f.client.Delete(t.Context(), goes)).To(Succeed())
	f.becomes(goes, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating")
	other := f.host("red", 4, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = address })
	f.ends(goes)
	f.says(goes, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating",
		ContainSubstring("OVN there may still answer for "+string(address)))
	f.becomes(other, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
	f.becomes(stays, resourcev1.AttachedCondition, metav1.ConditionTrue, "")

	f.hears(group, "dpu2")
	f.gone(goes)
	f.becomes(other, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(agent.Says().GetPorts()[1].GetAssignment()).To(BeNil())
}

// With the last lease ovn-controller was stopped there, whatever its state.
func TestLease_ofTheLastHostFreesWhatItsDPUAnsweredFor(t *testing.T) {
	t.Parallel()
	f, _, agent, stays, goes := two(t, 15*time.Second)
	address := goes.Spec.DPUIPs[1]
	agent.Stop()
	f.Expect(f.client.Delete(t.Context(), goes)).To(Succeed())
	other := f.host("red", 4, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = address })
	f.becomes(other, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
	f.gone(goes)
	f.becomes(other, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(stays, resourcev1.AttachedCondition, metav1.ConditionFalse, "LeaseExpired")
}

// It can't have what it asks for instead, so its lease ends.
func TestLease_ofAHostWithoutASeatEndsNotWhatItsDPUAnswersFor(t *testing.T) {
	t.Parallel()
	f, group, _, stays, changes := two(t, 15*time.Second)
	address := changes.Spec.DPUIPs[1]
	f.change(changes, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = "10.99.0.7" })
	f.becomes(changes, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "WrongUplink")
	other := f.host("red", 4, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = address })
	f.ends(changes)
	f.becomes(changes, resourcev1.AttachedCondition, metav1.ConditionFalse, "LeaseExpired")
	f.becomes(other, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
	f.becomes(stays, resourcev1.AttachedCondition, metav1.ConditionTrue, "")

	f.hears(group, "dpu2")
	f.becomes(other, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}
