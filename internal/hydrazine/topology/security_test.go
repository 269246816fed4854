package topology_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// portGroup returns the one that is for something, with the members in it.
func portGroup(rows []model.Model, of string) (name string, members []string) {
	hosts := map[string]string{}
	for _, row := range rows {
		if port, ok := row.(*nbdb.LogicalSwitchPort); ok {
			hosts[port.UUID], _, _ = strings.Cut(port.Name, "_")
		}
	}
	for _, row := range rows {
		if group, ok := row.(*nbdb.PortGroup); ok && strings.HasPrefix(ids(row)[ovn.KeyID], "port-group-"+of+"/") {
			for _, port := range group.Ports {
				members = append(members, hosts[port])
			}
			return group.Name, members
		}
	}
	return "", nil
}

// What a rule becomes. WEB and DB stand for the names that port groups have.
func TestSecurityGroups_rules(t *testing.T) {
	t.Parallel()
	type rule = resourcev1.SecurityRule
	type ports = []resourcev1.PortRange
	for name, c := range map[string]struct {
		rule    rule
		matches []string
		warned  string
	}{
		"everything in":  {rule{Direction: "Ingress"}, []string{"outport == @WEB && ip4", "outport == @WEB && ip6"}, ""},
		"everything out": {rule{Direction: "Egress", Protocol: "Any"}, []string{"inport == @WEB && ip4", "inport == @WEB && ip6"}, ""},
		"ICMP":           {rule{Direction: "Ingress", Protocol: "ICMP"}, []string{"outport == @WEB && ip4 && icmp4", "outport == @WEB && ip6 && icmp6"}, ""},
		"prefixes of both versions": {
			rule{Direction: "Egress", Protocol: "UDP", Prefixes: []resourcev1.IPPrefix{"10.9.9.9/8", "fd00::/8", "0.0.0.0/0"}},
			[]string{"inport == @WEB && ip4.dst == {10.0.0.0/8, 0.0.0.0/0} && udp", "inport == @WEB && ip6.dst == {fd00::/8} && udp"}, "",
		},
		"prefixes of one": {rule{Direction: "Egress", Prefixes: []resourcev1.IPPrefix{"10.0.0.0/8"}}, []string{"inport == @WEB && ip4.dst == {10.0.0.0/8}"}, ""},
		"ports": {
			rule{Direction: "Ingress", Protocol: "TCP", Ports: ports{{First: 80}, {First: 8000, Last: 8010}}, Prefixes: []resourcev1.IPPrefix{"fd00::/8"}},
			[]string{"outport == @WEB && ip6.src == {fd00::/8} && (80 <= tcp.dst <= 80 || 8000 <= tcp.dst <= 8010)"}, "",
		},
		"members and prefixes": {
			rule{Direction: "Ingress", SecurityGroups: []string{"db"}, Prefixes: []resourcev1.IPPrefix{"10.0.0.0/8"}},
			[]string{"outport == @WEB && ip4.src == {10.0.0.0/8, $DB_ip4}", "outport == @WEB && ip6.src == {$DB_ip6}"}, "",
		},
		"nobody":           {rule{Direction: "Ingress", SecurityGroups: []string{"nobody"}}, nil, `names "nobody", which doesn't exist`},
		"nobody, and some": {rule{Direction: "Ingress", SecurityGroups: []string{"nobody", "db"}}, []string{"outport == @WEB && ip4.src == {$DB_ip4}", "outport == @WEB && ip6.src == {$DB_ip6}"}, `"nobody"`},
		"no prefix":        {rule{Direction: "Ingress", Prefixes: []resourcev1.IPPrefix{"0.0.0.0/0} || 1"}}, nil, "lets nothing through"},
		"no direction":     {rule{Direction: "Across"}, nil, "lets nothing through"},
		"no protocol":      {rule{Direction: "Ingress", Protocol: "GRE"}, nil, "lets nothing through"},
		"no port":          {rule{Direction: "Ingress", Protocol: "TCP", Ports: ports{{First: 0}, {First: 70000}, {First: 9, Last: 8}}}, nil, "lets nothing through"},
		"ports of nothing": {rule{Direction: "Ingress", Ports: ports{{First: 80}}}, nil, "lets nothing through"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, in := NewWithT(t), dualGroup()
			in.SecurityGroups = []resourcev1.SecurityGroup{{Name: "web", Rules: []rule{c.rule, c.rule}}, {Name: "db"}}
			network := draw(t, in, member("a", "10.10.10.2", ""))
			fitTogether(g, network)
			web, _ := portGroup(network.Rows(), "security-group-web")
			db, _ := portGroup(network.Rows(), "security-group-db")
			var matches []string
			for _, match := range c.matches {
				direction := map[bool]string{true: "from-lport", false: "to-lport"}[strings.HasPrefix(match, "inport")]
				matches = append(matches, "1500 "+direction+" allow-related "+strings.NewReplacer("WEB", web, "DB", db).Replace(match))
			}
			g.Expect(acls(network, "security-")).To(Equal(matches))
			if c.warned == "" {
				g.Expect(network.Warnings).To(BeEmpty())
			} else {
				g.Expect(network.Warnings[in.UID]).To(ContainElement(ContainSubstring(c.warned)))
			}
		})
	}
}

func TestSecurityGroups_members(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), dualGroup()
	in.SecurityGroups = []resourcev1.SecurityGroup{{Name: "web"}, {Name: "db"}}
	g.Expect(in.SecurityGroupsOf(nil)).To(BeEmpty())
	g.Expect(in.SecurityGroupsOf([]string{"web"})).To(Equal([]string{"web"}))
	a, b, c, free := member("a", "10.10.10.2", ""), member("b", "10.10.10.3", ""), member("c", "10.10.10.4", ""), member("free", "10.10.10.5", "")
	a.SecurityGroups, b.SecurityGroups, c.SecurityGroups = []string{"web"}, []string{"db", "web"}, []string{"no such"}
	network := draw(t, in, a, b, c, free)
	for of, members := range map[string][]string{
		"secured": {"a", "b", "c"}, "security-group-web": {"a", "b"}, "security-group-db": {"b"},
	} {
		_, found := portGroup(network.Rows(), of)
		g.Expect(found).To(Equal(members), of)
	}
	g.Expect(network.Warnings).To(Equal(map[string][]string{c.UID: {`there is no security group "no such": nothing passes by it`}}))
	secured, _ := portGroup(network.Rows(), "secured")
	g.Expect(acls(network, "nothing-")).To(Equal([]string{"1000 from-lport drop inport == @" + secured, "1000 to-lport drop outport == @" + secured}))

	in.SecurityGroups = append(in.SecurityGroups, resourcev1.SecurityGroup{Name: "default"})
	g.Expect(in.SecurityGroupsOf(nil)).To(Equal([]string{"default"}))
	in.SecurityGroups = append(in.SecurityGroups, resourcev1.SecurityGroup{Name: "web"})
	_, err := topology.New(in, nil, topology.Site{})
	g.Expect(err).To(MatchError(ContainSubstring("two security groups web")))
}
