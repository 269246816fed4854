package controller_test

import (
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

func TestHost_movesToAnotherDPU(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	from, to := f.agent(2), f.agent(3)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	from.Refuse(errDead)
	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[0] = resourcev1.IPAddress(f.dpu(3)) })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Moving")
	f.Expect(to.Says().GetPorts()[0].GetAssignment()).To(BeNil(), "it is in one place only")
	from.Refuse(nil)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(from.Says().GetPorts()[0].GetAssignment()).To(BeNil())
	f.Expect(to.Says().GetPorts()[0].GetAssignment().GetResourceUid()).To(Equal(string(host.UID)))
}

func TestHost_movesToAnotherPort(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent := f.agent(2)
	agent.Say(func(r *agentstest.Said) { r.Ports = append(r.Ports, &agentv1.Port{Name: "pf1hpf", Up: true}) })
	host := f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.Identifier = "pf0hpf" })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	agent.Refuse(errDead)
	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.Identifier = "pf1hpf" })
	f.says(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Moving", ContainSubstring("pf1hpf"))
	f.Expect(agent.Says().GetPorts()[1].GetAssignment()).To(BeNil(), "it is in one place only")
	agent.Refuse(nil)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(agent.Says().GetPorts()[0].GetAssignment()).To(BeNil())
	f.Expect(agent.Says().GetPorts()[1].GetAssignment().GetResourceUid()).To(Equal(string(host.UID)))
}

func TestHost_leavesItsGroupForOneOfTheFabric(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	f.group("red", func(g *resourcev1.ResourceGroup) { g.Spec.NetworkImplementationType = resourcev1.FabricNetwork })
	agent := f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	agent.Refuse(errDead)
	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup = "red" })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Moving")
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionFalse, "Moving")
	agent.Refuse(nil)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "CarriedByFabric")
	f.Expect(agent.Says().GetPorts()[0].GetAssignment()).To(BeNil())
	f.Expect(host.Status.LeaseExpires).To(BeNil())
}

// It doesn't wait on its old network for the new one.
func TestHost_leavesItsGroupForOneWithoutACentral(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent := f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.closed.Store(true)
	f.group("red")
	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup = "red" })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "CentralNotReady")
	f.Expect(agent.Says().GetPorts()[0].GetAssignment()).To(BeNil())
	f.Expect(host.Status.LeaseExpires).To(BeNil())

	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.State = resourcev1.Isolated })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolated")
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
}

func TestHost_movesToAnotherGroup(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	red := f.group("red")
	agent := f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	isolations := agent.Calls("Isolate")
	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup = "red" })
	f.Eventually(func(g Gomega) {
		g.Expect(agent.Says().GetPorts()[0].GetAssignment().GetGroupUid()).To(Equal(string(red.UID)))
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
		g.Expect(host.Status.LogicalPortReference).To(HaveField("GroupUID", red.UID))
	}).Should(Succeed())
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(agent.Calls("Isolate")).To(BeNumerically(">", isolations), "it left the old one")
}

// Two hosts would be reached by one address otherwise, and one of them may be another tenant's.
func TestHost_keepsAFormerAddressUntilItsDPUHasLetGo(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	f.agent(2)
	f.agent(3)
	one := f.host("blue", 2)
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	former, now := one.Spec.DPUIPs[1], resourcev1.IPAddress(f.dpu(150))
	f.change(one, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = now })
	two := f.host("blue", 3, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = former })
	f.Expect(f.becomes(two, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")).To(ContainSubstring("may still answer for"))
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(one.Status.LogicalPortReference.FabricIP).To(Equal(now))
	f.Expect(one.Status.LogicalPortReference.FormerFabricIPs).To(Equal([]resourcev1.IPAddress{former}))

	f.hears(group, one.Status.LogicalPortReference.DPU)
	f.becomes(two, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Eventually(func() []resourcev1.IPAddress {
		f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
		return one.Status.LogicalPortReference.FormerFabricIPs
	}).Should(BeEmpty())
}

// OVN's flows are on the DPU, and it forwards by what ovs-vswitchd has derived from those of before. Nothing but the address waits for that.
func TestHost_keepsAFormerAddressUntilItsDPUForwardsWithoutIt(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	red := f.group("red")
	agent := f.agent(2)
	f.agent(3)
	f.agent(4)
	one := f.host("blue", 2)
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	var follows atomic.Bool
	f.writes(group, "dpu2", func(change int64) {
		if follows.Load() {
			agent.Forward(string(group.UID), change)
		} else {
			agent.Say(func(r *agentstest.Said) { r.Datapath = &agentv1.Datapath{GroupUid: string(red.UID), Change: change} })
		}
	})
	former, now := one.Spec.DPUIPs[1], resourcev1.IPAddress(f.dpu(150))
	f.change(one, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = now })
	two := f.host("red", 3, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = former })
	f.becomes(two, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
	f.becomes(f.host("blue", 4), resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.hears(group, "dpu4")
	f.becomes(group, resourcev1.PropagatedCondition, metav1.ConditionTrue, "")
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(one.Status.LogicalPortReference.FabricIP).To(Equal(now))
	f.Consistently(func(g Gomega) {
		f.becomes(two, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
		f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
		g.Expect(one.Status.LogicalPortReference.FormerFabricIPs).To(Equal([]resourcev1.IPAddress{former}))
	}).WithTimeout(4 * time.Second).Should(Succeed())

	follows.Store(true)
	f.becomes(two, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Eventually(func() []resourcev1.IPAddress {
		f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
		return one.Status.LogicalPortReference.FormerFabricIPs
	}).Should(BeEmpty())
}

// A DPU that can't be reached answers for its host's address, whatever the host's object says by now.
func TestHost_whoseDPUIsAwayKeepsItsAddress(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent := f.agent(2)
	f.agent(3)
	one := f.host("blue", 2)
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	agent.Stop()
	f.becomes(one, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentUnreachable")
	address := one.Spec.DPUIPs[1]
	f.change(one, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = resourcev1.IPAddress(f.dpu(150)) })
	two := f.host("blue", 3, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = address })
	f.becomes(two, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
	f.Expect(f.client.Delete(t.Context(), one)).To(Succeed())
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating")
	f.becomes(two, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
	agent.Restart()
	f.gone(one)
	f.becomes(two, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}

// When its lease has ended a DPU that never comes back answers for nothing.
func TestHost_whoseDPUIsLostFreesTheAddressesOfBefore(t *testing.T) {
	t.Parallel()
	f, agent, one := attached(t, 18*time.Second)
	f.agent(3)
	agent.Stop()
	f.becomes(one, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentUnreachable")
	address := one.Spec.DPUIPs[1]
	f.change(one, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = resourcev1.IPAddress(f.dpu(150)) })
	two := f.host("blue", 3, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = address })
	f.becomes(two, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
	f.becomes(two, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	agent.Restart()
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(one.Status.LogicalPortReference.FabricIP).To(BeEquivalentTo(f.dpu(150)))
}

// Its new DPU may never report, because there is none with that address.
func TestHost_thatHasMovedLeavesItsDPUToOthers(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	f.group("red")
	agent := f.agent(2)
	one := f.host("blue", 2)
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.change(one, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[0] = resourcev1.IPAddress(f.dpu(9)) })
	f.becomes(one, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentUnreachable")
	f.Eventually(func() *agentv1.Assignment { return agent.Says().GetPorts()[0].GetAssignment() }).Should(BeNil())
	two := f.host("red", 3, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0] = resourcev1.IPAddress(f.dpu(2)) })
	f.becomes(two, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(one, resourcev1.AcceptedCondition, metav1.ConditionTrue, "")
}

// A DPU leaves a network with its last host. Before that its ovn-controller continues, and answers for the address of a host that was
// isolated until it gets its removal.
func TestHost_besideAnotherOneKeepsItsAddressUntilItsDPUHasLetGo(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	f.group("red")
	agent := f.agent(2)
	agent.Say(func(r *agentstest.Said) { r.Ports = append(r.Ports, &agentv1.Port{Name: "pf1hpf", Up: true}) })
	f.agent(4)
	stays := f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.Identifier = "pf0hpf" })
	goes := f.host("blue", 3, func(r *resourcev1.ManagedResource) {
		r.Spec.DPUIPs[0], r.Spec.Identifier = resourcev1.IPAddress(f.dpu(2)), "pf1hpf"
	})
	f.becomes(stays, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(goes, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	address := goes.Spec.DPUIPs[1]
	f.Expect(f.client.Delete(t.Context(), goes)).To(Succeed())
	f.says(goes, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating",
		ContainSubstring("OVN there may still answer for "+string(address)))
	f.Expect(agent.Says().GetPorts()[1].GetAssignment()).To(BeNil(), "the host itself is off the network at once")
	other := f.host("red", 4, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = address })
	f.becomes(other, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")

	f.hears(group, "dpu2")
	f.gone(goes)
	f.becomes(other, resourcev1.AttachedCondition, metav1.ConditionTrue, "")

	f.Expect(f.client.Delete(t.Context(), stays)).To(Succeed())
	f.gone(stays)
}

// Two hosts that ask at the same moment are both let in. The older one doesn't get what the other one's DPU answers for, reached or not.
func TestHost_thatIsOlderTakesNoAddressOfAnotherOne(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	f.group("red")
	f.agent(3)
	dpu := f.agent(2)
	older := f.host("red", 3)
	f.becomes(older, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Eventually(func() bool { return time.Since(older.CreationTimestamp.Time) > time.Second }).Should(BeTrue(), "objects have whole seconds")
	victim := f.host("blue", 2)
	f.becomes(victim, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	dpu.Stop()
	f.becomes(victim, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentUnreachable")
	f.change(older, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = victim.Spec.DPUIPs[1] })
	f.Expect(f.becomes(older, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")).To(ContainSubstring("may still answer for"))
	dpu.Restart()
	f.becomes(victim, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(victim, resourcev1.AcceptedCondition, metav1.ConditionTrue, "")
}
