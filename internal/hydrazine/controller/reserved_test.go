package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

var noon = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)

func behindDPU(name string, dpuIPs ...resourcev1.IPAddress) *resourcev1.ManagedResource {
	return &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name, CreationTimestamp: metav1.NewTime(noon)},
		Spec:       resourcev1.ManagedResourceSpec{DPUIPs: dpuIPs},
	}
}

func publicIPAt(name string, address resourcev1.IPAddress, created time.Time) *networkfabricv1.PublicIP {
	return &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(created)}, Spec: networkfabricv1.PublicIPSpec{IPAddress: address},
	}
}

// reservations of a site, with a host whose DPU has said what its gateway is.
func reservations(t *testing.T) *resourceReconciler {
	t.Helper()
	other := behindDPU("other", "172.18.0.5", "172.18.0.110")
	other.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: "172.18.0.5", FabricIP: "172.18.0.110", FabricGateway: "172.18.0.254"}
	liar := behindDPU("liar", "172.18.0.66", "172.18.0.166")
	liar.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: "172.18.0.66", FabricIP: "172.18.0.166", FabricGateway: "172.18.0.105"}
	given := publicIPAt("given", "203.0.113.3", noon.Add(time.Hour))
	given.Status.Allocated = true
	c := site(t, other, liar, given, neighbors("172.18.0.1"), publicIPAt("older", "203.0.113.1", noon.Add(-time.Hour)),
		publicIPAt("younger", "203.0.113.2", noon.Add(time.Hour)),
		&networkfabricv1.FabricPolicy{ObjectMeta: metav1.ObjectMeta{Name: networkfabricv1.FabricPolicyName}, Spec: networkfabricv1.FabricPolicySpec{
			DPUPrefixes: []resourcev1.IPPrefix{"172.20.0.0/24"}, SharedServices: []resourcev1.IPPrefix{"172.22.0.20/32", "172.18.0.0/16"},
		}})
	return &resourceReconciler{Client: c, agents: agents.NewPool(t.Context(), agents.Config{}), control: &controlPlane{Reader: c, live: c, now: time.Now, known: controlPlaneAddresses{
		all: parsed("172.18.0.2"), routers: parsed("172.18.0.1"),
	}, looked: time.Now()}}
}

func TestReserved_isNoHostsAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asks resourcev1.IPAddress
		says string
	}{
		"free":                      {"172.18.0.105", ""},
		"where there are DPUs only": {"172.20.0.9", "in dpuPrefixes"},
		"a shared service":          {"172.22.0.20", "in sharedServices of the FabricPolicy"},
		"in a network that is shared, with the DPU": {"172.18.0.107", ""},
		"its gateway":                {"172.18.0.254", "the gateway of its DPU"},
		"the manager":                {"172.18.0.2", "of the control plane"},
		"a router":                   {"172.18.0.1", "of a router"},
		"a public address":           {"203.0.113.1", "a public address"},
		"a public address, too late": {"203.0.113.2", ""},
		"one that is given away":     {"203.0.113.3", "a public address"},
		"its DPU's loopback":         {"10.200.0.2", "an address of its DPU"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, r := NewWithT(t), reservations(t)
			said := agents.Report{Report: agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.254")}
			said.Uplink.OtherAddresses = []string{"10.200.0.2"}
			host := behindDPU("host", "172.18.0.5", "172.18.0.105", c.asks)
			ip, what, err := r.reserved(t.Context(), host, said)
			g.Expect(err).NotTo(HaveOccurred())
			if c.says == "" {
				g.Expect(what).To(BeEmpty())
			} else {
				g.Expect(ip).To(Equal(c.asks))
				g.Expect(what).To(ContainSubstring(c.says))
			}
			host.Status.LogicalPortReference = &resourcev1.LogicalPortReference{FabricIP: "172.18.0.105", SecondFabricIP: c.asks}
			_, what, err = r.reserved(t.Context(), host, said)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(what).To(BeEmpty(), "who has it keeps it")
		})
	}
}

// A DPU that calls its own what can't be that harms no other host, but the operator has to hear of it.
func TestForeign_raisesAnAlarm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ claims, says string }{
		"another address of its own": {"10.200.0.2", ""},
		"its gateway":                {"172.18.0.254", "172.18.0.254, which is its gateway"},
		"a router":                   {"172.18.0.1", "172.18.0.1, which is a router's"},
		"the manager":                {"172.18.0.2", "172.18.0.2, which is the control plane's"},
		"a shared service":           {"172.22.0.20", "172.22.0.20, which is in sharedServices of the FabricPolicy"},
		"a public address":           {"203.0.113.2", "203.0.113.2, which is a public address"},
		"another tenant's host":      {"172.18.0.166", "172.18.0.166, which is a host's"},
		"another DPU":                {"172.18.0.66", "172.18.0.66, which is another DPU's"},
		"what is the site's DPUs'":   {"172.20.0.9", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, r, recorder := NewWithT(t), reservations(t), events.NewFakeRecorder(9)
			r.events = recorder
			said := agents.Report{Report: agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.254")} // of a certificate without addresses
			said.Uplink.OtherAddresses = []string{c.claims}
			host := behindDPU("host", "172.18.0.5", "172.18.0.105")
			unproven, err := r.learn(t.Context(), host, said)
			g.Expect(err).NotTo(HaveOccurred())
			foreign, err := r.foreign(t.Context(), host, said, unproven)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(foreign).To(Equal(c.says))
			if c.says == "" {
				return
			}
			r.tell(host, said, foreign, unproven)
			r.tell(host, said, foreign, unproven)
			ready := condition(host, resourcev1.AgentReadyCondition)
			g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), "its hosts stay")
			g.Expect(ready.Reason).To(Equal(reasonForeign))
			g.Expect(recorder.Events).To(Receive(And(HavePrefix("Warning ForeignAddress "), ContainSubstring(c.says))))
			g.Expect(recorder.Events).NotTo(Receive(), "once")
		})
	}
}
