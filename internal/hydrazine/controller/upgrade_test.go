package controller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

// upgradeLease is long enough to distinguish renewals in time from a loop, and to start the controller again.
const upgradeLease = 18 * time.Second

// renewedInTime sees several renewals, and no more of them than it takes: a call for each report would make another report.
func (f *fixture) renewedInTime(a *agentstest.Agent) {
	f.t.Helper()
	const renewals = 3
	calls := a.Calls("Attach")
	reaches := func(n int) {
		f.t.Helper()
		f.Eventually(func() int { return a.Calls("Attach") }).WithTimeout(patience).Should(BeNumerically(">=", n))
	}
	reaches(calls + 1) // it may have been due
	began := time.Now()
	reaches(calls + 1 + renewals)
	f.Expect(time.Since(began)).To(BeNumerically(">", renewals*time.Second), "a hot loop")
}

// upgrade an agent of level 1 to that of today.
func upgrade(a *agentstest.Agent) {
	a.Upgrade(func(r *agentstest.Said) {
		r.Level, r.SouthboundRequest = agentv1.Level, agentstest.Request(r.GetChassis())
	})
}

// keepsItsPlace returns a check that a host hasn't been detached since.
func (f *fixture) keepsItsPlace(host *resourcev1.ManagedResource, a *agentstest.Agent) func() {
	f.t.Helper()
	attached, place := f.watch(host, resourcev1.AttachedCondition), *host.Status.LogicalPortReference
	return func() {
		f.t.Helper()
		f.Expect(attached()).To(HaveEach(BeElementOf("AsWanted", "AgentUnreachable", "AgentRefused"))) // it was away for a moment
		f.Expect(a.Calls("Isolate")).To(BeZero())
		f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
		f.Expect(*host.Status.LogicalPortReference).To(Equal(place))
		f.Expect(a.Says().GetPorts()[0].GetAssignment().GetResourceUid()).To(Equal(string(host.UID)))
	}
}

// The whole way from plaintext to TLS, as docs/hydrazine.md has it, with an agent that was built before there was TLS or DHCP.
func TestUpgrade_ofAnAgentFromPlaintextToTLS(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.lease, f.plaintext = upgradeLease, true
	f.run()
	group := f.group("blue", func(g *resourcev1.ResourceGroup) { g.Spec.DHCPServer = "10.99.0.1" })
	agent := f.oldAgent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.PortUpCondition, metav1.ConditionTrue, "")
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "")
	f.Expect(f.becomes(host, resourcev1.DHCPReadyCondition, metav1.ConditionFalse, "AgentOlder")).To(ContainSubstring("upgrade it"))
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionFalse, "AgentOlder")
	stays := f.keepsItsPlace(host, agent)
	f.renewedInTime(agent)
	port := func() *agentv1.Port { return agent.Says().GetPorts()[0] }
	generation := port().GetGeneration()

	upgrade(agent)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.Expect(port().GetAssignment().GetDhcpRelay().GetServer()).To(Equal("10.99.0.1"))
	f.Expect(port().GetAssignment().GetSouthbound()).To(HavePrefix("tcp:"))
	f.Expect(port().GetGeneration()).To(Equal(generation))
	f.renewedInTime(agent)

	f.plaintext = false
	f.run()
	f.Eventually(port).WithTimeout(patience).Should(HaveField("Assignment.SouthboundTls.Certificate", Not(BeEmpty())))
	f.Expect(port().GetAssignment().GetSouthbound()).To(HavePrefix("ssl:"))
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.renewedInTime(agent)
	stays()
}

// A manager that may not use plaintext keeps what such an agent has, and gives it nothing new.
func TestUpgrade_ofAnAgentUnderTLS(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.lease, f.plaintext = upgradeLease, true
	f.run()
	f.group("blue", func(g *resourcev1.ResourceGroup) { g.Spec.DHCPServer = "10.99.0.1" })
	agent, other := f.oldAgent(2), f.oldAgent(3)
	host, leaving := f.host("blue", 2), f.host("blue", 3)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(leaving, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	stays, had := f.keepsItsPlace(host, agent), agent.Says().GetPorts()[0].GetAssignment()

	f.plaintext = false
	f.run()
	f.Expect(f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentOlder")).To(ContainSubstring("--southbound-plaintext"))
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(host, resourcev1.DHCPReadyCondition, metav1.ConditionFalse, "AgentOlder")
	f.renewedInTime(agent)
	f.Expect(agent.Says().GetPorts()[0].GetAssignment()).To(HaveField("Southbound", had.GetSouthbound()))

	f.Expect(f.client.Delete(t.Context(), leaving)).To(Succeed())
	f.gone(leaving)
	f.Expect(other.Says().GetPorts()[0].GetAssignment()).To(BeNil())
	calls := other.Calls("Attach")
	joining := f.host("blue", 3)
	f.becomes(joining, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentOlder")
	f.becomes(joining, resourcev1.ReadyCondition, metav1.ConditionFalse, "AgentOlder")
	f.Expect(other.Calls("Attach")).To(Equal(calls))

	upgrade(agent)
	upgrade(other)
	for _, one := range []*resourcev1.ManagedResource{host, joining} {
		f.becomes(one, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "")
		f.becomes(one, resourcev1.DHCPReadyCondition, metav1.ConditionTrue, "")
	}
	for _, a := range []*agentstest.Agent{agent, other} {
		f.Expect(a.Says().GetPorts()[0].GetAssignment().GetSouthboundTls().GetCertificate()).NotTo(BeEmpty())
		f.Expect(a.Says().GetPorts()[0].GetAssignment().GetSouthbound()).To(HavePrefix("ssl:"))
	}
	f.renewedInTime(agent)
	stays()
}

// An agent that was upgraded before its manager isn't called, until either is what the other one knows.
func TestUpgrade_ofAnAgentBeforeItsManager(t *testing.T) {
	t.Parallel()
	f, agent, host := attached(t, upgradeLease)
	newer := func(r *agentstest.Said) {
		r.Level = agentv1.Level + 1
		r.ProtoReflect().SetUnknown([]byte{0xfa, 0x3f, 0x03, 'n', 'e', 'w'}) // field 1023, of a level that isn't there yet
	}
	agent.Upgrade(newer)
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentNewer")
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionUnknown, "AgentNewer")
	calls := agent.Calls("Attach")
	f.Consistently(func() int { return agent.Calls("Attach") + agent.Calls("Isolate") }, upgradeLease/2).Should(Equal(calls))

	agent.Upgrade(func(r *agentstest.Said) {
		r.Level = agentv1.Level
		r.ProtoReflect().SetUnknown(nil)
	})
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.renewedInTime(agent)
	f.Expect(agent.Calls("Isolate")).To(BeZero())

	agent.Upgrade(newer)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "LeaseExpired")
}
