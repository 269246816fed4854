package cluster

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
)

var sshRule = infrav1.SecurityRule{
	Name: "ssh", Direction: infrav1.Ingress, Protocol: infrav1.ProtocolTCP, PortRange: "22", SourceCIDR: "10.0.0.0/8", Action: infrav1.Allow,
}

// The peers send the values of their CRD, which the server refuses.
func TestRules_areInTheServersWords(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := rules([]infrav1.SecurityRule{sshRule, {Name: "ping", Direction: infrav1.Egress, Protocol: infrav1.ProtocolICMP, Action: infrav1.Deny}})
	g.Expect(all).To(HaveLen(4))
	g.Expect(all[0]).To(Equal(bmm.NetworkSecurityGroupRule{
		Name: "ssh", Direction: "INGRESS", Protocol: "TCP", Action: "PERMIT", Priority: 100,
		SourcePrefix: "10.0.0.0/8", DestinationPrefix: "0.0.0.0/0", DestinationPortRange: "22-22",
	}))
	g.Expect(all[1]).To(Equal(bmm.NetworkSecurityGroupRule{
		Name: "ping", Direction: "EGRESS", Protocol: "ICMP", Action: "DENY", Priority: 200, SourcePrefix: "0.0.0.0/0", DestinationPrefix: "0.0.0.0/0",
	}))
}

// Otherwise it would be a change on every reconcile.
func TestRuleChanges_dontCareHowARangeIsWritten(t *testing.T) {
	t.Parallel()
	rule := sshRule
	rule.SourceCIDR = "10.1.2.3/8"
	found := rules([]infrav1.SecurityRule{sshRule})
	found[0].DestinationPortRange = "22"
	NewWithT(t).Expect(ruleChanges(rules([]infrav1.SecurityRule{rule}), found)).To(BeEmpty())
}

func TestRules_denyWhatNoneAllows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for i, r := range rules(nil) {
		g.Expect(r.Action).To(Equal(bmm.RuleDeny))
		g.Expect(r.Protocol).To(Equal(bmm.RuleAny))
		g.Expect(r.Direction).To(Equal([]bmm.RuleDirection{"INGRESS", "EGRESS"}[i]))
		g.Expect(r.Priority).To(Equal(60000), "behind all others")
	}
}

func TestRuleChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	wanted := rules([]infrav1.SecurityRule{sshRule})
	g.Expect(ruleChanges(wanted, wanted)).To(BeEmpty())

	found := rules([]infrav1.SecurityRule{sshRule, {Name: "other", Direction: infrav1.Ingress, Protocol: infrav1.ProtocolAll, Action: infrav1.Allow}})
	found[0].SourcePrefix = "0.0.0.0/0"
	found = append(found[:2], found[3]) // the ingress deny is gone
	g.Expect(ruleChanges(wanted, found)).To(Equal([]graph.Change{
		{Field: "rule bedplate-deny-ingress", To: "60000 deny ingress any 0.0.0.0/0 to 0.0.0.0/0"},
		{Field: "rule other", From: "200 permit ingress any 0.0.0.0/0 to 0.0.0.0/0"},
		{Field: "rule ssh", From: "100 permit ingress tcp 0.0.0.0/0 to 0.0.0.0/0:22-22", To: "100 permit ingress tcp 10.0.0.0/8 to 0.0.0.0/0:22-22"},
	}))
}

// The tag comes from the ledger, also if another client has removed or changed it.
func TestLabelChanges_putTheTagBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	key := graph.Key{Owner: "x", Name: "vpc", Token: "t"}
	found := bmm.Labels{"bedplate-owner": "x", "bedplate-key": "vpc", "bedplate-token": "older", "team": "a", "by-hand": "1"}
	labels, changes := labelChanges(infrav1.ResourceLabels{"team": "b", "cost": "c"}, key, found)
	g.Expect(labels).To(Equal(bmm.Labels{
		"bedplate-owner": "x", "bedplate-key": "vpc", "bedplate-token": "older", "team": "b", "cost": "c",
	}))
	g.Expect(changes).To(Equal([]graph.Change{
		{Field: "label by-hand", From: "1"}, {Field: "label cost", To: "c"}, {Field: "label team", From: "a", To: "b"},
	}))
	_, changes = labelChanges(nil, key, bmm.Labels{"bedplate-owner": "x", "bedplate-key": "vpc", "bedplate-token": "older"})
	g.Expect(changes).To(BeEmpty())
	labels, changes = labelChanges(nil, key, bmm.Labels{"bedplate-key": "vpc"})
	g.Expect(labels).To(Equal(bmm.Labels{"bedplate-owner": "x", "bedplate-key": "vpc", "bedplate-token": "t"}))
	g.Expect(changes).To(ContainElement(graph.Change{Field: "label bedplate-owner", To: "x"}))
}

func TestFits(t *testing.T) {
	t.Parallel()
	block := &bmm.IPBlock{Name: "block", Prefix: "10.0.0.0", PrefixLength: 16}
	for _, row := range []struct {
		cidr    string
		length  int
		message string
	}{
		{"10.0.3.0/24", 24, ""},
		{"", 24, ""},
		{"", 16, ""},
		{"", 15, `subnet "a": /15 is larger than IP block block (10.0.0.0/16): replace it by another one, of another name, with a longer prefix`},
		{"10.1.0.0/24", 24, `subnet "a": 10.1.0.0/24 lies outside of IP block block (10.0.0.0/16): replace it by another one, of another name, with a range within it`},
		{"10.0.0.0/8", 8, "is larger than IP block"},
	} {
		err := fits("subnet", "a", row.cidr, row.length, block)
		if row.message == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%+v", row)
		} else {
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.message)), "%+v", row)
		}
	}
}
