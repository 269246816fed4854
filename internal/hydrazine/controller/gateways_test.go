package controller_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// A DPU may name no gateway, since its default route leads elsewhere. What the DPUs of two tenants call one is no host's of a third one.
func TestReserved_isTheGatewayOfOthers(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.beside = []string{testenv.Namespace(t), testenv.Namespace(t)}
	f.run()
	in := func(namespace string) func(*resourcev1.ManagedResource) {
		return func(r *resourcev1.ManagedResource) { r.Namespace = namespace }
	}
	router, hop, other := f.dpu(1), f.dpu(98), f.dpu(99)
	for n, namespace := range append([]string{f.namespace}, f.beside...) {
		f.group("blue", func(g *resourcev1.ResourceGroup) { g.Namespace = namespace })
		f.agent(n + 2).Say(func(r *agentstest.Said) {
			r.Uplink.NextHops = []string{hop, other}
			if n == 0 {
				r.Uplink.Gateways, r.Uplink.NextHops = nil, nil
			}
		})
	}
	one := f.host("blue", 3, in(f.beside[0]))
	f.becomes(one, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	taker := f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = resourcev1.IPAddress(hop) })
	f.becomes(taker, resourcev1.AttachedCondition, metav1.ConditionTrue, "") // one tenant's report alone blocks an address for no other one
	f.change(taker, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = resourcev1.IPAddress(f.dpu(102)) })
	f.becomes(taker, resourcev1.AttachedCondition, metav1.ConditionTrue, "")

	f.becomes(f.host("blue", 4, in(f.beside[1])), resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	for _, ip := range []string{router, other} {
		f.change(taker, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = resourcev1.IPAddress(ip) })
		f.Expect(f.becomes(taker, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "ReservedAddress")).To(
			ContainSubstring(ip + " is a gateway that DPUs of several namespaces report"))
		f.change(taker, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = resourcev1.IPAddress(f.dpu(150)) })
		f.becomes(taker, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "")
	}
	f.becomes(taker, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}
