package controller

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

// A DPU that reports wrong addresses can't hide that its switch is down, or was started again.
func TestTell_theWorstOfADPUFirst(t *testing.T) {
	t.Parallel()
	down, again := &agentv1.OpenVSwitch{Restarts: 1}, &agentv1.OpenVSwitch{Running: true, Restarts: 1}
	const lie, restart = "172.18.0.254, which is its gateway", "restart 1 since"
	for name, c := range map[string]struct {
		foreign string
		openVS  *agentv1.OpenVSwitch
		status  metav1.ConditionStatus
		reason  string
		says    []string
	}{
		"nothing":                   {"", nil, metav1.ConditionTrue, reasonUnproven, []string{"10.200.0.2"}},
		"down":                      {"", down, metav1.ConditionFalse, reasonSwitchDown, nil},
		"down, and a lie":           {lie, down, metav1.ConditionFalse, reasonSwitchDown, nil},
		"started again":             {"", again, metav1.ConditionTrue, reasonSwitchAgain, []string{restart}},
		"a lie":                     {lie, nil, metav1.ConditionTrue, reasonForeign, []string{lie}},
		"a lie, and started again":  {lie, again, metav1.ConditionTrue, reasonForeign, []string{lie, restart}},
		"a lie, and a switch is up": {lie, &agentv1.OpenVSwitch{Running: true}, metav1.ConditionTrue, reasonForeign, []string{lie}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, r, host := NewWithT(t), reservations(t), behindDPU("host", "172.18.0.5", "172.18.0.105")
			r.events, r.now = events.NewFakeRecorder(9), time.Now
			said := agents.Report{Report: agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.254"), SwitchSince: time.Now().Add(-time.Minute)}
			said.OpenVswitch = c.openVS
			host.Status.UnprovenDPUAddresses = []resourcev1.IPAddress{"10.200.0.2"}
			r.tell(host, said, c.foreign, []netip.Addr{netip.MustParseAddr("10.200.0.2")})
			ready := condition(host, resourcev1.AgentReadyCondition)
			g.Expect(ready.Status).To(Equal(c.status))
			g.Expect(ready.Reason).To(Equal(c.reason))
			for _, text := range c.says {
				g.Expect(ready.Message).To(ContainSubstring(text))
			}
		})
	}
}
