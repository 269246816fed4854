package controller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/timestamppb"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

func TestSwitch_thatWasStartedAgainIsNamed(t *testing.T) {
	t.Parallel()
	f, agent, host := attached(t, time.Hour)
	runs := func(running bool, restarts uint32, ago time.Duration) {
		started := timestamppb.New(agent.Says().GetTime().AsTime().Add(-ago))
		agent.Say(func(r *agentstest.Said) {
			r.OpenVswitch = &agentv1.OpenVSwitch{Running: running, Restarts: restarts, Started: started}
		})
	}
	// told is how many events name a restart. Kubernetes counts those of one reason in one object, with the text of the first.
	told := func() (all int32) {
		list := &eventsv1.EventList{}
		f.Expect(f.client.List(t.Context(), list, client.InNamespace(f.namespace))).To(Succeed())
		for _, e := range list.Items {
			if e.Reason == "SwitchRestarted" && e.Regarding.Name == host.Name {
				f.Expect(e.Note).To(ContainSubstring("ovs-vswitchd of DPU dpu2"))
				all++
				if e.Series != nil {
					all += e.Series.Count - 1
				}
			}
		}
		return all
	}
	runs(true, 0, time.Minute)
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "AsWanted")
	runs(false, 0, time.Minute)
	f.Expect(f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "SwitchDown")).To(ContainSubstring("ovs-vswitchd of DPU dpu2"))
	f.Expect(told()).To(BeZero())
	runs(true, 1, time.Second)
	f.Expect(f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "SwitchRestarted")).To(ContainSubstring("restart 1 "))
	f.Eventually(told).Should(BeNumerically(">=", 1))
	runs(true, 2, time.Second)
	f.Eventually(func() string {
		return f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "SwitchRestarted")
	}).Should(ContainSubstring("restart 2 "))
	f.Eventually(told).Should(BeNumerically(">=", 2))
	runs(true, 2, 2*time.Hour)
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "AsWanted")
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}
