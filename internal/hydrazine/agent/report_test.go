package agent

import (
	"errors"
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
