package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

func TestHost_joinsAndLeaves(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.Expect(host.Status.HostAccessIPs).To(Equal(&resourcev1.IPAssociation{HostIP: "10.10.10.2", FabricIP: host.Spec.DPUIPs[1]}))
	f.Expect(host.Status.LogicalPortReference).To(And(
		HaveField("DPU", "dpu2"), HaveField("Agent", host.Spec.DPUIPs[0]),
		HaveField("FabricPrefixLength", int32(24)), HaveField("FabricGateway", resourcev1.IPAddress(f.dpu(1)))))
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.Expect(group.Status.ManagedResourceCount).To(Equal(uint64(1)))
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)).To(Succeed())
		g.Expect(group.Status.SNATIPs).To(ConsistOf(host.Spec.DPUIPs[1]))
	}).Should(Succeed())
	held := agent.Says().GetPorts()[0]
	f.Expect(held.GetAssignment()).To(And(
		HaveField("ResourceUid", string(host.UID)), HaveField("GroupUid", string(group.UID)),
		HaveField("Southbound", group.Status.SoftwareNetworkConfiguration.Southbound),
		HaveField("LogicalPort", host.Status.LogicalPortReference.LogicalPort), HaveField("EncapIp", f.dpu(2))))
	f.Expect(held.GetLeaseExpires().AsTime()).To(BeTemporally("<=", host.Status.LeaseExpires.Time), "the status promises it first")

	f.Expect(f.client.Delete(t.Context(), host)).To(Succeed())
	f.gone(host)
	f.Expect(agent.Says().GetPorts()[0].GetAssignment()).To(BeNil())
	f.Eventually(func(g Gomega) {
		g.Expect(f.ovn(g, "ovn-sbctl", group, "--bare", "--columns=name", "list", "Chassis")).To(BeEmpty(), "OVN would wait for it for ever")
		g.Expect(f.ovn(g, "ovn-nbctl", group, "--bare", "--columns=name", "list", "Logical_Switch_Port")).NotTo(ContainSubstring("host"))
	}).WithTimeout(patience).Should(Succeed())
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.gone(group)
}

// What can't be meant so is said where the network is said to be as it was asked for.
func TestGroup_saysWhatOfItsSecurityGroupsIsNobody(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue", func(g *resourcev1.ResourceGroup) {
		g.Spec.SecurityGroups = []resourcev1.SecurityGroup{{Name: "db", Rules: []resourcev1.SecurityRule{
			{Direction: resourcev1.Ingress, SecurityGroups: []string{"web"}},
		}}}
	})
	f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.SecurityGroups = []string{"no-such"} })
	f.Eventually(func() string {
		return f.becomes(group, resourcev1.TopologyReadyCondition, metav1.ConditionTrue, "AsWanted")
	}).Should(And(
		ContainSubstring(`rule 1 of security group "db" names "web", which doesn't exist`),
		ContainSubstring(`ManagedResource blue-host2: there is no security group "no-such"`)))

	base := group.DeepCopy()
	group.Spec.SecurityGroups = append(group.Spec.SecurityGroups, resourcev1.SecurityGroup{Name: "web"}, resourcev1.SecurityGroup{Name: "no-such"})
	f.Expect(f.client.Patch(t.Context(), group, client.MergeFrom(base))).To(Succeed())
	f.Eventually(func() string {
		return f.becomes(group, resourcev1.TopologyReadyCondition, metav1.ConditionTrue, "AsWanted")
	}).Should(BeEmpty())
}

// A host's way out and what keeps it from its DPU are one change: at no time is there only the first, and the DPUs compute their
// flows once.
func TestHost_comesTogetherWithWhatKeepsItFromItsDPU(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	f.becomes(group, resourcev1.CentralReadyCondition, metav1.ConditionTrue, "")
	north, err := ovn.DialNorthbound(t.Context(), fmt.Sprintf("unix:%s/ovn-%s/nb.sock", f.dir, group.UID), nil)
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(north.Close)
	f.agent(2)
	f.host("blue", 2)
	f.Expect(north.Wait(t.Context(), func() (bool, error) {
		routers, err := north.Rows(nbdb.LogicalRouterTable)
		if err != nil || len(routers) < 2 {
			return false, err
		}
		sets, err := north.Rows(nbdb.AddressSetTable)
		for _, row := range sets {
			for _, a := range row.(*nbdb.AddressSet).Addresses {
				if a == f.dpu(2)+"/32" {
					return true, nil
				}
			}
		}
		return false, errors.Join(err, errors.New("the host has a way out to its DPU"))
	})).To(Succeed())
}

// What isn't known yet isn't met.
func TestHost_isNotReadyTooEarly(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	f.agent(2)
	said := f.watch(&resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "blue-host2"},
	}, resourcev1.ReadyCondition)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.PortUpCondition, metav1.ConditionFalse, "NotUp")
	f.Eventually(said).Should(ContainElement("NotUp"))
	f.Expect(said()).NotTo(ContainElement("AsWanted"))
}

func TestHost_isolatedForATime(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")

	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.State = resourcev1.Isolated })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolated")
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.Expect(agent.Says().GetPorts()[0].GetAssignment()).To(BeNil())

	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.State = resourcev1.Attached })
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
}

// The finalizer stays as long as the host may still be on its network.
func TestHost_whoseAgentIsGoneLeavesWithItsLease(t *testing.T) {
	t.Parallel()
	f, agent, host := attached(t, 15*time.Second)
	agent.Refuse(errDead)
	f.Expect(f.client.Delete(t.Context(), host)).To(Succeed())
	message := f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating")
	f.Expect(message).To(ContainSubstring("at the latest"))
	ends := host.Status.LeaseExpires.Time
	f.Expect(ends).To(BeTemporally("~", time.Now(), f.lease+time.Second))
	f.gone(host)
	f.Expect(time.Now()).To(BeTemporally(">=", ends))
}

func TestHost_keepsItsLease(t *testing.T) {
	t.Parallel()
	f, agent, _ := attached(t, 15*time.Second)
	first, generation := agent.Says().GetPorts()[0].GetLeaseExpires().AsTime(), agent.Says().GetPorts()[0].GetGeneration()
	f.Eventually(func() time.Time { return agent.Says().GetPorts()[0].GetLeaseExpires().AsTime() }).WithTimeout(patience).
		Should(BeTemporally(">", first.Add(f.lease)))
	f.Expect(agent.Says().GetPorts()[0].GetGeneration()).To(Equal(generation), "a renewal isn't another assignment")
	f.Expect(agent.Calls("Attach")).To(BeNumerically("<", 12))
}

// Members don't hold up the deletion of their group; they are isolated, and say so.
func TestGroup_goesBeforeItsMembers(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, reached, lost := f.group("blue"), f.agent(2), f.agent(3)
	one, two := f.host("blue", 2), f.host("blue", 3)
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(two, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	lost.Refuse(errDead)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.gone(group)
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolated")
	f.becomes(one, resourcev1.ReadyCondition, metav1.ConditionFalse, "ResourceGroupNotFound")
	f.Expect(reached.Says().GetPorts()[0].GetAssignment()).To(BeNil())
	f.becomes(two, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating")
	lost.Refuse(nil)
	f.becomes(two, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolated")
}

// A controller that knows nothing yet removes nothing.
func TestController_startedAnewChangesNothing(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	rows := f.ovn(f, "ovn-nbctl", group, "show")
	f.stop()
	agent.Stop()
	f.run()
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionUnknown, "AgentUnreachable")
	f.Consistently(func() string { return f.ovn(f, "ovn-nbctl", group, "show") }, "2s").Should(Equal(rows))
	f.Expect(rows).To(ContainSubstring("gr-blue-host2"))
	agent.Restart()
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
}

func TestHost_thatCameSecondWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	f.group("red")
	f.agent(2)
	first := f.host("blue", 2)
	f.becomes(first, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	time.Sleep(time.Until(first.CreationTimestamp.Add(1100 * time.Millisecond))) // objects are ordered by whole seconds
	second := f.host("red", 2, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = resourcev1.IPAddress(f.dpu(200)) })
	f.Expect(f.becomes(second, resourcev1.AcceptedCondition, metav1.ConditionFalse, "DPUTaken")).To(
		HavePrefix("the DPU " + f.dpu(2) + " is in use for another ResourceGroup by ManagedResource blue-host2: "))
	f.Expect(f.client.Delete(t.Context(), first)).To(Succeed())
	f.gone(first)
	f.becomes(second, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}

func TestHost_whoseAgentCannotBeWorkedWith(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	for n, row := range []struct {
		says   func(*agentv1.Report)
		kind   string
		reason string
		text   string
	}{
		{func(r *agentv1.Report) { r.Level = agentv1.Level + 1 }, resourcev1.AgentReadyCondition, "AgentNewer", "upgrade hydrazine-manager"},
		{func(r *agentv1.Report) { r.Chassis = "" }, resourcev1.AgentReadyCondition, "InvalidAgentReport", `the chassis name ""`},
		{func(r *agentv1.Report) { r.Uplink.Addresses = []string{"everywhere"} }, resourcev1.AgentReadyCondition, "InvalidAgentReport", "the uplink address"},
		{func(r *agentv1.Report) { r.Ports = append(r.Ports, r.Ports[0]) }, resourcev1.AgentReadyCondition, "InvalidAgentReport", "occurs twice"},
		{func(r *agentv1.Report) { r.Ports = nil }, resourcev1.AgentReadyCondition, "NoPort", "has no port for a host"},
		{func(r *agentv1.Report) { r.Ports = append(r.Ports, &agentv1.Port{Name: "pf1hpf"}) }, resourcev1.AgentReadyCondition, "NoPort", "has the ports pf0hpf, pf1hpf: name the host's with identifier"},
		{func(r *agentv1.Report) { r.Uplink.Addresses = []string{"127.90.0.1/24"} }, resourcev1.AgentReadyCondition, "WrongUplink", "put the DPU's own address first in dpuIPs"},
		{func(r *agentv1.Report) {
			r.Uplink.Addresses[0] = r.Uplink.Addresses[0][:len(r.Uplink.Addresses[0])-2] + "28"
		}, resourcev1.AgentReadyCondition, "WrongUplink", "isn't in its network"},
	} {
		agent := f.agent(n + 2)
		agent.Say(row.says)
		host := f.host("blue", n+2)
		f.Expect(f.becomes(host, row.kind, metav1.ConditionFalse, row.reason)).To(ContainSubstring(row.text))
		f.Expect(agent.Calls("Attach")).To(BeZero())
	}
}

// What an agent was last called with stays in effect while it refuses, and the refusal is shown.
func TestHost_whoseAgentRefuses(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent := f.agent(2)
	agent.Refuse(errDead)
	host := f.host("blue", 2)
	f.says(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "AgentRefused", ContainSubstring("dead"))
	f.Expect(host.Status.LeaseExpires).NotTo(BeNil(), "the refusal may have been for nothing")
	agent.Refuse(nil)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}

func TestGroup_carriedByTheFabricIsRecorded(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue", func(g *resourcev1.ResourceGroup) { g.Spec.NetworkImplementationType = resourcev1.FabricNetwork })
	agent, host := f.agent(2), f.host("blue", 2)
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.Expect(host.Status.HostAccessIPs.FabricIP).To(Equal(host.Spec.DPUIPs[1]))
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)).To(Succeed())
		g.Expect(group.Status.SNATIPs).To(ConsistOf(host.Spec.DPUIPs[1]))
	}).Should(Succeed())
	f.Expect(group.Status.SoftwareNetworkConfiguration).To(BeNil())
	f.Expect(agent.Calls("Attach") + agent.Calls("Isolate")).To(BeZero())
	f.Expect(f.client.Delete(t.Context(), host)).To(Succeed())
	f.gone(host)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.gone(group)
}

func TestCentral_isRefilledBeforeItIsOpened(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	ports := func(g Gomega) []string {
		return strings.Fields(f.ovn(g, "ovn-nbctl", group, "--bare", "--columns=name", "list", "Logical_Router_Port"))
	}
	const all = 4 // of the group and of one member
	f.Eventually(func(g Gomega) { g.Expect(ports(g)).To(HaveLen(all)) }).WithTimeout(patience).Should(Succeed())
	f.wipe(group)
	f.Eventually(func(g Gomega) {
		if f.open(group) {
			g.Expect(f.ovn(g, "ovn-sbctl", group, "--bare", "--columns=logical_port", "find", "Port_Binding", "type=\"\"")).
				To(Equal(host.Status.LogicalPortReference.LogicalPort), "open means complete")
		}
		g.Expect(ports(g)).To(HaveLen(all))
		g.Expect(f.open(group)).To(BeTrue())
	}).WithTimeout(patience).WithPolling(5 * time.Millisecond).Should(Succeed())
}

func TestRows_ofOthersStayAndOursAreRepaired(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.ovn(f, "ovn-nbctl", group, "ls-add", "theirs", "--", "lsp-add", "ls-blue", "their-port")
	port := host.Status.LogicalPortReference.LogicalPort
	f.ovn(f, "ovn-nbctl", group, "lsp-set-port-security", port)
	f.Eventually(func() string { return f.ovn(f, "ovn-nbctl", group, "lsp-get-port-security", port) }).WithTimeout(patience).
		Should(ContainSubstring("10.10.10.2"))
	f.ovn(f, "ovn-nbctl", group, "lr-del", "gr-blue-host2")
	f.Eventually(func() string { return f.ovn(f, "ovn-nbctl", group, "show") }).WithTimeout(patience).Should(ContainSubstring("gr-blue-host2"))
	f.Expect(f.ovn(f, "ovn-nbctl", group, "show")).To(And(ContainSubstring("theirs"), ContainSubstring("their-port")))
}
