package overlay

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
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

func on(name, group, ip, fabricIP string, reachable bool) member {
	a := address{ip: netip.MustParseAddr(ip), network: netip.MustParsePrefix("10.0.0.0/24"), gateway: netip.MustParseAddr("10.0.0.1")}
	if fabricIP != "" {
		a.fabricIP = netip.MustParseAddr(fabricIP)
	}
	return member{host: fabric.Host{Name: name}, group: group, addresses: []address{a}, reachable: reachable}
}

func addresses(all ...string) (parsed []netip.Addr) {
	for _, text := range all {
		parsed = append(parsed, netip.MustParseAddr(text))
	}
	return parsed
}

func TestFlows_ofTwoGroupsWithTheSameNetwork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var said strings.Builder
	g.Expect(Table(&said, flows([]member{
		on("a", "blue", "10.0.0.2", "172.18.0.105", true),
		on("b", "blue", "10.0.0.3", "172.18.0.107", false),
		on("c", "red", "10.0.0.2", "", false),
	}, surroundings{servers: map[string][]netip.Addr{fabric.DC: addresses("172.19.0.10")}}))).To(Succeed())
	g.Expect(said.String()).To(Equal(`      FROM  TO               ADDRESS       BY        EXPECTED
pass  a     b                10.0.0.3      icmp      an answer
pass  a     gateway of blue  10.0.0.1      icmp      an answer
pass  a     dc               172.19.0.10   tcp 8080  an answer, and to be seen as 172.18.0.105
pass  b     a                10.0.0.2      icmp      an answer
pass  b     gateway of blue  10.0.0.1      icmp      an answer
pass  b     dc               172.19.0.10   tcp 8080  an answer, and to be seen as 172.18.0.107
pass  c     b                10.0.0.3      icmp      no answer
pass  c     gateway of red   10.0.0.1      icmp      an answer
pass  c     dc               172.19.0.10   tcp 8080  no answer
pass  dc    a                172.18.0.105  tcp 8080  an answer, and to be seen as 172.19.0.10
pass  dc    b                172.18.0.107  tcp 8080  no answer
`), "a doesn't try c's address, which is its own")
}

// A host with everything: a public address, a second one, a security group, and a site's policy.
func TestFlows_ofAWholeService(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one := on("a", "green", "10.0.0.2", "172.18.0.105", true)
	one.addresses[0].publicIP = netip.MustParseAddr("203.0.113.10")
	one.addresses = append(one.addresses, address{
		ip: netip.MustParseAddr("fd10::2"), fabricIP: netip.MustParseAddr("fd00:1::69"), gateway: netip.MustParseAddr("fd10::1"),
	})
	one.securityGroups = []resourcev1.SecurityGroup{{Name: "web", Rules: []resourcev1.SecurityRule{
		{Direction: resourcev1.Egress, Protocol: resourcev1.TCPProtocol, Prefixes: []resourcev1.IPPrefix{"172.16.0.0/12", "198.51.100.0/24"}},
		{Direction: resourcev1.Ingress, Protocol: resourcev1.TCPProtocol, Ports: []resourcev1.PortRange{{First: 8080}}},
		{Direction: resourcev1.Ingress, Protocol: resourcev1.AnyProtocol, SecurityGroups: []string{"ops"}},
	}}}
	two := on("b", "green", "10.0.0.3", "172.18.0.107", true)
	two.securityGroups = []resourcev1.SecurityGroup{{Name: "ops", Rules: []resourcev1.SecurityRule{{Direction: resourcev1.Egress, Protocol: resourcev1.AnyProtocol}}}}
	var said strings.Builder
	g.Expect(Table(&said, flows([]member{one, two}, surroundings{
		servers: map[string][]netip.Addr{
			fabric.DC: addresses("172.19.0.10", "fd00:2::a"), fabric.Internet: addresses("198.51.100.10"),
			fabric.BMC: addresses("172.20.0.10"), fabric.Storage: addresses("172.20.0.20"), fabric.Control: addresses("172.18.0.2", "fd00:1::2"),
		},
		dpus: []fabric.DPU{{Name: "dpu1", Addresses: addresses("172.18.0.5", "fd00:1::5")}},
		policy: networkfabricv1.FabricPolicySpec{
			FabricPrefixes: []resourcev1.IPPrefix{"172.16.0.0/12"}, DeniedPrefixes: []resourcev1.IPPrefix{"172.20.0.0/16"},
			SharedServices: []resourcev1.IPPrefix{"172.20.0.20/32"},
		},
	}))).To(Succeed())
	g.Expect(said.String()).To(Equal(`      FROM      TO                ADDRESS        BY         EXPECTED
pass  a         b                 10.0.0.3       icmp       no answer
pass  a         b                 10.0.0.3       tcp 8080   no answer
pass  a         b                 10.0.0.3       tcp 8081   no answer
pass  a         gateway of green  10.0.0.1       icmp       no answer
pass  a         gateway of green  fd10::1        icmp       no answer
pass  a         dc                172.19.0.10    tcp 8080   an answer, and to be seen as 172.18.0.105
pass  a         dc                fd00:2::a      tcp 8080   no answer
pass  a         bmc               172.20.0.10    tcp 8080   no answer
pass  a         storage           172.20.0.20    tcp 8080   an answer, and to be seen as 172.18.0.105
pass  a         internet          198.51.100.10  tcp 8080   an answer, and to be seen as 203.0.113.10
pass  a         public IP of a    203.0.113.10   tcp 8080   no answer
pass  a         dpu1              172.18.0.5     icmp       no answer
pass  a         dpu1              172.18.0.5     udp 6081   no answer
pass  a         dpu1              fd00:1::5      icmp       no answer
pass  a         dpu1              fd00:1::5      udp 6081   no answer
pass  a         manager           172.18.0.2     tcp 16640  no answer
pass  a         manager           fd00:1::2      tcp 16640  no answer
pass  b         a                 10.0.0.2       icmp       an answer
pass  b         a                 10.0.0.2       tcp 8080   an answer, and to be seen as 10.0.0.3
pass  b         a                 10.0.0.2       tcp 8081   an answer, and to be seen as 10.0.0.3
pass  b         gateway of green  10.0.0.1       icmp       an answer
pass  b         dc                172.19.0.10    tcp 8080   an answer, and to be seen as 172.18.0.107
pass  b         bmc               172.20.0.10    tcp 8080   no answer
pass  b         storage           172.20.0.20    tcp 8080   an answer, and to be seen as 172.18.0.107
pass  b         dpu1              172.18.0.5     icmp       no answer
pass  b         dpu1              172.18.0.5     udp 6081   no answer
pass  b         manager           172.18.0.2     tcp 16640  no answer
pass  dc        a                 172.18.0.105   tcp 8080   an answer, and to be seen as 172.19.0.10
pass  dc        a                 fd00:1::69     tcp 8080   an answer, and to be seen as fd00:2::a
pass  dc        b                 172.18.0.107   tcp 8080   no answer
pass  internet  a                 203.0.113.10   tcp 8080   an answer, and to be seen as 198.51.100.10
pass  internet  a                 203.0.113.10   tcp 8081   no answer
`))
}

func TestTable_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var said strings.Builder
	g.Expect(Table(&said, []Flow{{From: "a", To: "b", Address: netip.MustParseAddr("10.0.0.3"), Protocol: probe.ICMP, Problem: "it passes"}})).To(Succeed())
	g.Expect(said.String()).To(ContainSubstring("FAIL  a     b   10.0.0.3  icmp  no answer: it passes\n"))
}
