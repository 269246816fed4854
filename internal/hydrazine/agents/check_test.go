package agents

import (
	"fmt"
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
	g.Expect(check(report)).To(And(MatchError(ErrInvalidReport), MatchError(ContainSubstring("4097 bytes"))))
}

// A report of 256 KiB has room for 20,000 addresses.
func TestCheck_boundsWhatADPUHas(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(r *agentv1.Report, i int){
		"addresses at the uplink": func(r *agentv1.Report, i int) {
			r.Uplink.Addresses = append(r.Uplink.Addresses, fmt.Sprintf("10.0.%d.%d/16", i/256, i%256))
		},
		"other addresses": func(r *agentv1.Report, i int) {
			r.Uplink.OtherAddresses = append(r.Uplink.OtherAddresses, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
		},
		"gateways": func(r *agentv1.Report, i int) {
			r.Uplink.Gateways = append(r.Uplink.Gateways, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
		},
		"ports": func(r *agentv1.Report, i int) { r.Ports = append(r.Ports, &agentv1.Port{Name: fmt.Sprint("pf", i)}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, report := NewWithT(t), &agentv1.Report{Level: agentv1.Level, Chassis: "dpu1", Uplink: &agentv1.Uplink{}}
			for i := range maxList {
				of(report, i)
			}
			g.Expect(check(report)).To(Succeed())
			of(report, maxList)
			g.Expect(check(report)).To(And(MatchError(ErrInvalidReport), MatchError(ContainSubstring("1025"))))
		})
	}
}
