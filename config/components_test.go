package config_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestComponents_meetTheManager(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		testenv.ComponentsMeetTheManager(t, p.name, testenv.Everything(t, p.name, nil), p.prefix(), p.prefix()+"-manager-egress")
	})
}

// The network lets through what the manager needs, and keeps back at the same ranges as the manager itself.
func TestEgressPolicy_isThatOfTheManager(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		var policy networkingv1.NetworkPolicy
		testenv.Kustomize(t, testenv.Everything(t, p.name, nil), map[string]any{"NetworkPolicy " + p.prefix() + "-manager-egress": &policy})
		g.Expect(policy.Spec.PolicyTypes).To(ConsistOf(networkingv1.PolicyTypeEgress))
		ports := map[int]bool{} // and whether it is everywhere
		for _, rule := range policy.Spec.Egress {
			for _, port := range rule.Ports {
				ports[port.Port.IntValue()] = len(rule.To) == 0
			}
		}
		g.Expect(ports).To(Equal(map[int]bool{53: true, 5353: true, 6443: true, 443: false}))
		for _, rule := range policy.Spec.Egress {
			for _, to := range rule.To {
				all := netip.MustParsePrefix(to.IPBlock.CIDR)
				for _, inside := range egress.Inside() {
					if inside.Addr().Is4() == all.Addr().Is4() {
						g.Expect(to.IPBlock.Except).To(ContainElement(inside.String()))
					}
				}
			}
		}
	})
}
