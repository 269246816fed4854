package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
)

// assigned is what a DPU has for host 1.
func assigned(group, southbound string, tls *agentv1.SouthboundTLS) *agentv1.Port {
	return &agentv1.Port{Name: "pf0hpf", Assignment: &agentv1.Assignment{
		ResourceUid: "1", GroupUid: group, Southbound: southbound, SouthboundTls: tls,
		DhcpRelay: &agentv1.DHCPRelay{Interface: "relay-" + group},
	}}
}

// A central that hangs while the manager asks for TLS for the first time is no reason to let a lease end.
func TestSecure_keepsWhatAHostHasWhileTheCentralHangs(t *testing.T) {
	t.Parallel()
	tls := &agentv1.SouthboundTLS{Certificate: "c", Authorities: "a"}
	for name, test := range map[string]struct {
		port       *agentv1.Port
		assigns    bool
		southbound string
		tls        *agentv1.SouthboundTLS
	}{
		"in plaintext":    {assigned("blue", "tcp:192.0.2.1:1", nil), true, "tcp:192.0.2.1:1", nil},
		"by TLS":          {assigned("blue", "ssl:192.0.2.1:1", tls), true, "ssl:192.0.2.1:2", tls},
		"another group's": {assigned("red", "tcp:192.0.2.1:1", nil), false, "", nil},
		"nothing":         {&agentv1.Port{Name: "pf0hpf"}, false, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, r := NewWithT(t), &resourceReconciler{networks: newNetworks(t.Context(), nil, nil)}
			resource := &resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
			report := agents.Report{Report: &agentv1.Report{SouthboundRequest: "request", Ports: []*agentv1.Port{test.port}}}
			wanted := &agentv1.Assignment{ResourceUid: "1", GroupUid: "blue", Southbound: "ssl:192.0.2.1:2"}
			g.Expect(r.secure(resource, report, wanted)).To(Equal(test.assigns))
			if test.assigns {
				g.Expect(wanted.GetSouthbound()).To(Equal(test.southbound))
				g.Expect(wanted.GetSouthboundTls()).To(Equal(test.tls))
			} else {
				g.Expect(condition(resource, resourcev1.AttachedCondition)).To(HaveField("Reason", reasonNoCentral))
			}
		})
	}
}

func TestRelayFor_keepsOnlyItsOwnGroups(t *testing.T) {
	t.Parallel()
	g, r := NewWithT(t), &resourceReconciler{networks: newNetworks(t.Context(), nil, nil)}
	group := &resourcev1.ResourceGroup{ObjectMeta: metav1.ObjectMeta{UID: "blue"}}
	kept, known := r.relayFor(group, "dpu1", assigned("blue", "", nil))
	g.Expect(kept.GetInterface()).To(Equal("relay-blue"))
	g.Expect(known).To(BeFalse())
	another, known := r.relayFor(group, "dpu1", assigned("red", "", nil))
	g.Expect(another).To(BeNil())
	g.Expect(known).To(BeFalse())
}

// What isn't known yet isn't a failure.
func TestRelayed_isUnknownAtFirst(t *testing.T) {
	t.Parallel()
	group := &resourcev1.ResourceGroup{Spec: resourcev1.ResourceGroupSpec{DHCPServer: "172.19.0.10"}}
	report := agents.Report{Report: &agentv1.Report{Level: agentv1.LevelDHCP}}
	for known, status := range map[bool]metav1.ConditionStatus{false: metav1.ConditionUnknown, true: metav1.ConditionFalse} {
		resource := &resourcev1.ManagedResource{}
		relayed(resource, group, report, nil, known, "")
		NewWithT(t).Expect(condition(resource, resourcev1.DHCPReadyCondition)).To(And(HaveField("Reason", reasonNoRelay), HaveField("Status", status)))
	}
}
