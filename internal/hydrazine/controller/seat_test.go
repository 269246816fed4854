package controller

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

// A host that had one of these as its fabric IP would answer for more than itself.
func TestSeat_givesNoHostWhatIsntOneHosts(t *testing.T) {
	t.Parallel()
	group := &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "blue", UID: "blue"},
		Spec: resourcev1.ResourceGroupSpec{
			Network:       &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24},
			SecondNetwork: &resourcev1.IPNet{IP: "fd10::", PrefixLength: 64},
		},
	}
	for name, c := range map[string]struct {
		fabricIP, second resourcev1.IPAddress
		says             string
	}{
		"others":               {"172.18.0.105", "fd18::105", ""},
		"last address, IPv6":   {"172.18.0.105", "fd18::ffff:ffff:ffff:ffff", ""},
		"the DPU's second":     {"172.18.0.6", "fd18::105", "172.18.0.6 is an address of DPU dpu1"},
		"the DPU's, IPv6":      {"172.18.0.105", "fd18::5", "fd18::5 is an address of DPU dpu1"},
		"of the network":       {"172.18.0.0", "fd18::105", "172.18.0.0 is the network's own address"},
		"of the network, IPv6": {"172.18.0.105", "fd18::", "fd18:: is the network's own address"},
		"broadcast":            {"172.18.0.255", "fd18::105", "172.18.0.255 is the broadcast address"},
		"gateway":              {"172.18.0.1", "fd18::105", "172.18.0.1 is the gateway"},
		"gateway, IPv6":        {"172.18.0.105", "fd18::1", "fd18::1 is the gateway"},
		"outside, as it was":   {"172.19.0.105", "fd18::105", "172.19.0.105 isn't in its network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, said := NewWithT(t), agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.1")
			said.Uplink.Addresses = append(said.Uplink.Addresses, "172.18.0.6/24", "fd18::5/64", "172.18.7.1/32")
			said.Uplink.Gateways = append(said.Uplink.Gateways, "fd18::1")
			host := &resourcev1.ManagedResource{
				ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "host", UID: "host"},
				Spec: resourcev1.ManagedResourceSpec{
					ResourceGroup: "blue", HostIP: "10.10.10.2", SecondHostIP: "fd10::2", HostMAC: "02:00:0a:0a:0a:02",
					DPUIPs: []resourcev1.IPAddress{"172.18.0.5", c.fabricIP, c.second},
				},
			}
			_, reference, reason, err := seat(host, group, nil, agents.Report{Report: said})
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(reference.FabricIP).To(Equal(c.fabricIP))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(c.says)))
			g.Expect(reason).To(Equal(reasonUplink))
		})
	}
}

// An agent that says another address is its DPU's would make that unreachable for all hosts.
func TestHeard_believesNoAddressThatIsntProven(t *testing.T) {
	t.Parallel()
	g, host := NewWithT(t), &resourcev1.ManagedResource{Spec: resourcev1.ManagedResourceSpec{DPUIPs: []resourcev1.IPAddress{"172.18.0.5"}}}
	policy := &networkfabricv1.FabricPolicy{ObjectMeta: metav1.ObjectMeta{Name: networkfabricv1.FabricPolicyName}}
	c := site(t, policy)
	r := &resourceReconciler{Client: c}
	said := agents.Report{Report: agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.1")} // of a certificate without addresses
	said.Uplink.OtherAddresses = append(said.Uplink.OtherAddresses, "172.20.0.9", "fd20::9")
	hear := func() {
		unproven, err := r.learn(t.Context(), host, said)
		g.Expect(err).NotTo(HaveOccurred())
		r.heard(host, unproven)
	}
	hear()
	g.Expect(host.Status.DPUAddresses).To(BeEmpty(), "no other host is kept from them")
	g.Expect(host.Status.UnprovenDPUAddresses).To(ConsistOf(resourcev1.IPAddress("172.18.0.5"), resourcev1.IPAddress("172.20.0.9"),
		resourcev1.IPAddress("fd20::9")), "the hosts behind this DPU are")
	ready := condition(host, resourcev1.AgentReadyCondition)
	g.Expect(ready.Status).To(Equal(metav1.ConditionTrue))
	g.Expect(ready.Reason).To(Equal(reasonUnproven))
	g.Expect(ready.Message).To(And(ContainSubstring("[172.18.0.5 172.20.0.9 fd20::9]"), ContainSubstring("dpuPrefixes of the FabricPolicy")))

	for i := range maxAddresses {
		said.Uplink.OtherAddresses = append(said.Uplink.OtherAddresses, netip.AddrFrom4([4]byte{172, 30, 0, byte(i)}).String())
	}
	hear()
	g.Expect(host.Status.UnprovenDPUAddresses).To(HaveLen(maxAddresses))
	g.Expect(condition(host, resourcev1.AgentReadyCondition).Message).To(ContainSubstring("(and 3 more, from which no host is blocked)"))
	said.Uplink.OtherAddresses = said.Uplink.OtherAddresses[:1]

	policy.Spec.DPUPrefixes = []resourcev1.IPPrefix{"172.18.0.0/24", "172.20.0.9/32"}
	g.Expect(c.Update(t.Context(), policy)).To(Succeed())
	hear()
	g.Expect(condition(host, resourcev1.AgentReadyCondition).Reason).To(Equal(reasonDone))
	g.Expect(host.Status.UnprovenDPUAddresses).To(BeEmpty())
}
