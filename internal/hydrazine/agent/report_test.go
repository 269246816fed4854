package agent

import (
	"errors"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

func TestUplink_isNotGoneWhenItCannotBeRead(t *testing.T) {
	t.Parallel()
	g, a := NewWithT(t), &Agent{}
	partly, interrupted := &agentv1.Uplink{Addresses: []string{"172.18.0.5/24"}}, errors.New("interrupted")
	_, err := a.rememberUplink(partly, interrupted)
	g.Expect(err).To(MatchError(interrupted), "nothing is known yet")
	whole := &agentv1.Uplink{Addresses: partly.GetAddresses(), Gateways: []string{"172.18.0.1"}}
	for range 2 {
		g.Expect(a.rememberUplink(whole, nil)).To(BeIdenticalTo(whole))
		g.Expect(a.rememberUplink(partly, interrupted)).To(BeIdenticalTo(whole))
	}
	g.Expect(a.rememberUplink(partly, nil)).To(BeIdenticalTo(partly), "it has really gone")
}

// What is too large for a tunnel is dropped silently, so it is reported before.
func TestMTU_thatLeavesTooLittleIsAProblem(t *testing.T) {
	t.Parallel()
	g, a := NewWithT(t), &Agent{options: Options{MinMTU: 1442}}
	ipv4, ipv6 := netip.MustParseAddr("172.18.0.5"), netip.MustParseAddr("fd18::5")
	problem := func(mtu uint32, encapIP netip.Addr) string {
		return a.mtuProblem(&agentv1.Uplink{Mtu: mtu}, "no such port", encapIP)
	}
	g.Expect(problem(1500, ipv4)).To(BeEmpty())
	g.Expect(problem(1499, ipv4)).To(Equal("packets of more than 1441 bytes don't fit through a tunnel: raise the uplink's MTU to 1500"))
	g.Expect(problem(1500, ipv6)).To(ContainSubstring("raise the uplink's MTU to 1520"))
	g.Expect(problem(1520, ipv6)).To(BeEmpty())
}
