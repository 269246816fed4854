package agents

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

func TestCheck_boundsTheRequestForACertificate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	report := &agentv1.Report{Level: agentv1.Level, Chassis: "dpu1", SouthboundRequest: strings.Repeat("x", maxRequest)}
	g.Expect(check(report)).To(Succeed())
	report.SouthboundRequest += "x"
	g.Expect(check(report)).To(And(MatchError(ErrNonsense), MatchError(ContainSubstring("4097 bytes"))))
}
