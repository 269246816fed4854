package overlay

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

func TestFlow_judgesWhatCameBack(t *testing.T) {
	t.Parallel()
	mine, other := netip.MustParseAddr("172.18.0.105"), netip.MustParseAddr("172.18.0.107")
	silence := fmt.Errorf("icmp: %w to 3 messages", probe.ErrNoAnswer)
	for name, c := range map[string]struct {
		flow   Flow
		answer probe.Answer
		err    error
		want   string
	}{
		"an answer":                         {flow: Flow{Passes: true}},
		"an answer from whom it should":     {flow: Flow{Passes: true, Source: mine}, answer: probe.Answer{Source: mine}},
		"as somebody else":                  {flow: Flow{Passes: true, Source: mine}, answer: probe.Answer{Source: other}, want: "it is seen as 172.18.0.107"},
		"silence":                           {flow: Flow{Passes: true}, err: silence, want: "no answer"},
		"silence where it should be":        {err: silence},
		"an answer where none should be":    {want: "it passes"},
		"a refusal where silence should be": {err: errors.New("connection refused"), want: "connection refused"},
	} {
		g := NewWithT(t)
		problem := c.flow.judge(c.answer, c.err)
		if c.want == "" {
			g.Expect(problem).To(BeEmpty(), name)
		} else {
			g.Expect(problem).To(ContainSubstring(c.want), name)
		}
	}
}

func TestFlows_ofTwoGroupsWithTheSameNetwork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	on := func(name, group, ip, fabricIP string, reachable bool) member {
		m := member{
			host: fabric.Host{Name: name}, group: group, ip: netip.MustParseAddr(ip), reachable: reachable,
			network: netip.MustParsePrefix("10.0.0.0/24"), gateway: netip.MustParseAddr("10.0.0.1"),
		}
		if fabricIP != "" {
			m.fabricIP = netip.MustParseAddr(fabricIP)
		}
		return m
	}
	var said strings.Builder
	g.Expect(Table(&said, flows([]member{
		on("a", "blue", "10.0.0.2", "172.18.0.105", true),
		on("b", "blue", "10.0.0.3", "172.18.0.107", false),
		on("c", "red", "10.0.0.2", "", false),
	}, netip.MustParseAddr("172.19.0.10")))).To(Succeed())
	g.Expect(said.String()).To(Equal(`      FROM  TO               ADDRESS       BY    EXPECTED
pass  a     b                10.0.0.3      icmp  an answer
pass  a     gateway of blue  10.0.0.1      icmp  an answer
pass  a     dc               172.19.0.10   tcp   an answer, and to be seen as 172.18.0.105
pass  b     a                10.0.0.2      icmp  an answer
pass  b     gateway of blue  10.0.0.1      icmp  an answer
pass  b     dc               172.19.0.10   tcp   an answer, and to be seen as 172.18.0.107
pass  c     b                10.0.0.3      icmp  no answer
pass  c     gateway of red   10.0.0.1      icmp  an answer
pass  c     dc               172.19.0.10   tcp   no answer
pass  dc    a                172.18.0.105  tcp   an answer, and to be seen as 172.19.0.10
pass  dc    b                172.18.0.107  tcp   no answer
`), "a doesn't try c's address, which is its own")
}

func TestTable_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var said strings.Builder
	g.Expect(Table(&said, []Flow{{From: "a", To: "b", Address: netip.MustParseAddr("10.0.0.3"), Protocol: probe.ICMP, Problem: "it passes"}})).To(Succeed())
	g.Expect(said.String()).To(ContainSubstring("FAIL  a     b   10.0.0.3  icmp  no answer: it passes\n"))
}
