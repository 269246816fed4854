package controller_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

// A server that the site doesn't allow any more isn't asked, whatever admission has let in before.
func TestDHCPServer_thatTheSiteDoesntAllow(t *testing.T) {
	t.Parallel()
	f := start(t)
	var policy atomic.Pointer[networkfabricv1.FabricPolicySpec] // of this test: there is only one FabricPolicy
	policy.Store(&networkfabricv1.FabricPolicySpec{})
	f.faults.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
		if p, ok := o.(*networkfabricv1.FabricPolicy); ok {
			p.Spec = *policy.Load()
			return nil
		}
		return c.Get(ctx, key, o, options...)
	}
	f.run()
	group := f.group("blue", func(g *resourcev1.ResourceGroup) { g.Spec.DHCPServer = "10.99.0.1" })
	agent := f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.DHCPReadyCondition, metav1.ConditionTrue, "")
	relay := func() *agentv1.DHCPRelay { return agent.Says().GetPorts()[0].GetAssignment().GetDhcpRelay() }
	f.Expect(relay().GetServer()).To(Equal("10.99.0.1"))

	for says, refusing := range map[string]*networkfabricv1.FabricPolicySpec{
		"dhcpServer 10.99.0.1 isn't among dhcpServers of the FabricPolicy":           {DHCPServers: []resourcev1.IPAddress{"10.99.0.2"}},
		"overlaps 10.10.0.0/16 of fabricPrefixes of the FabricPolicy: make a Resour": {FabricPrefixes: []resourcev1.IPPrefix{"10.10.0.0/16"}},
	} {
		policy.Store(refusing)
		f.Expect(f.becomes(host, resourcev1.DHCPReadyCondition, metav1.ConditionFalse, "DHCPServerRefused")).To(
			And(HavePrefix("ResourceGroup blue: "), ContainSubstring(says)))
		f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
		f.Eventually(relay).Should(BeNil())
		f.Eventually(func() string { // it was true before
			return f.becomes(group, resourcev1.TopologyReadyCondition, metav1.ConditionTrue, "")
		}).Should(ContainSubstring(says))

		policy.Store(&networkfabricv1.FabricPolicySpec{DHCPServers: []resourcev1.IPAddress{"10.99.0.1"}})
		f.becomes(host, resourcev1.DHCPReadyCondition, metav1.ConditionTrue, "")
		f.Expect(relay().GetServer()).To(Equal("10.99.0.1"))
	}
}

// The agent gets the addresses that a host may ask by. An older agent doesn't.
func TestAttach_saysWhoTheHostIs(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue", func(g *resourcev1.ResourceGroup) {
		g.Spec.SecondNetwork = &resourcev1.IPNet{IP: "fd10::", PrefixLength: 64}
	})
	agent := f.agent(2)
	older := func(r *agentstest.Said) { r.Level = agentv1.LevelHosts - 1 }
	agent.Say(older)
	host := f.host("blue", 2, func(r *resourcev1.ManagedResource) {
		r.Spec.HostMAC, r.Spec.SecondHostIP = resourcev1.MACAddress(strings.ToUpper(string(r.Spec.HostMAC))), "fd10::2"
	})
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	has := func() *agentv1.Assignment { return agent.Says().GetPorts()[0].GetAssignment() }
	f.Expect(has().GetHostMac() + strings.Join(has().GetHostIps(), "")).To(BeEmpty())
	generation := agent.Says().GetPorts()[0].GetGeneration()

	agent.Say(func(r *agentstest.Said) { r.Level = agentv1.Level })
	f.Eventually(has).Should(And(HaveField("HostMac", "02:00:0a:0a:0a:02"), HaveField("HostIps", []string{"10.10.10.2", "fd10::2"})))
	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.HostMAC = "02:00:0a:0a:0a:22" })
	f.Eventually(has).Should(HaveField("HostMac", "02:00:0a:0a:0a:22"))
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(agent.Says().GetPorts()[0].GetGeneration()).To(Equal(generation), "renewals")
}
