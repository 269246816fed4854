package orphans

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

const (
	stageServer Stage = iota
	stageNetwork
)

var owners = []*OwnerKind{
	{Name: "ToyCluster", MayHave: func(s Stage) bool { return s == stageNetwork }},
	{Name: "ToyMachine", MayHave: func(s Stage) bool { return s == stageServer }},
}

func TestJudge_callsOnlyWhatIsCertainAnOrphan(t *testing.T) {
	t.Parallel()
	const lives, gone, mac = "0123456789ab", "ba9876543210", "001122334455"
	clusters, machines := owners[0], owners[1]
	demo := living{
		kind: clusters, name: "ToyCluster default/demo", namespace: "default", owner: lives,
		text: `{"vpcPeerings":[{"peerVpcId":"peer"}]}`,
		ledger: map[string]ledgers.Resource{
			"vpc":           {Key: "vpc", Kind: "VPC", ID: "bound", Own: true},
			"subnet/nodes":  {Key: "subnet/nodes", Kind: "subnet", Own: true}, // pending
			"group/foreign": {Key: "group/foreign", Kind: "network security group", ID: "foreign"},
		},
	}
	vpc := func(id, owner, key string) item {
		return item{id: id, tag: graph.Tag{Owner: owner, Key: key}, labelled: true}
	}
	named := func(id, owner, key string) item { return item{id: id, tag: graph.Tag{Owner: owner, Key: key}} }
	world := []item{vpc("left", gone, "vpc")}
	here := func(namespace string) bool { return namespace == "default" }
	for _, row := range []struct {
		name    string
		item    item
		verdict verdict
		why     string
	}{
		{"it has no tag", vpc("x", "", ""), notOurs, ""},
		{"its name has no tag", named("x", "nodes", "subnet/demo"), notOurs, ""},
		{"its object has it", vpc("bound", lives, "vpc"), notOurs, ""},
		{"its object is about to find it", named("x", lives, "subnet/nodes"), notOurs, ""},
		{"its object has another one", vpc("x", lives, "vpc"), orphaned, "a duplicate: the VPC of ToyCluster default/demo is bound"},
		{"its object doesn't know it", named("x", lives, "subnet/old"), orphaned, "exists, but its ledger doesn't contain it"},
		{"its object is gone", vpc("left", gone, "vpc"), orphaned, ""},
		{"its object is gone, which a label proves", named("x", gone, "subnet/nodes"), orphaned, ""},
		{"its object may never have been", named("x", mac, "subnet/bmc"), uncertain, "add --owner " + mac},
		{"a user has written the label", vpc("x", "me", "vpc"), uncertain, "isn't an ID of Bedplate's"},
		{"a user has taken half of the labels off", vpc("x", gone, ""), uncertain, ""},
		{"another object's ledger has it", vpc("foreign", gone, "group"), uncertain, "ToyCluster default/demo uses it"},
		{"another object's spec names it", vpc("peer", gone, "vpc"), uncertain, "ToyCluster default/demo uses it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, why := newJudge(claims{owners: owners, living: []living{demo}}, here, world, nil).of(row.item)
			g.Expect(got).To(Equal(row.verdict))
			g.Expect(why).To(ContainSubstring(row.why))
		})
	}
	g := NewWithT(t)
	got, _ := newJudge(claims{owners: owners, living: []living{demo}}, here, world, []string{mac}).of(named("x", mac, "subnet/bmc"))
	g.Expect(got).To(Equal(orphaned), "the user vouches for it")

	far := demo
	far.namespace, far.name = "far", "ToyCluster far/demo"
	damaged := living{kind: machines, name: "ToyMachine default/worker", namespace: "default", damage: errors.New("damaged")}
	elsewhere := damaged
	elsewhere.namespace, elsewhere.name, elsewhere.text = "far", "ToyMachine far/worker", gone
	instance := vpc("i", gone, "instance")
	instance.stage = stageServer
	left := vpc("left", gone, "vpc")
	left.stage = stageNetwork
	for name, row := range map[string]struct {
		claims  claims
		item    item
		verdict verdict
		why     string
	}{
		"another account's object claims it":     {claims{owners: owners, living: []living{far}}, vpc("bound", lives, "vpc"), uncertain, "far/demo claims it"},
		"and the one that has it does":           {claims{owners: owners, living: []living{far, demo}}, vpc("bound", lives, "vpc"), notOurs, ""},
		"a kind that can't be read may have it":  {claims{owners: owners, unread: map[*OwnerKind]error{machines: errors.New("no")}}, instance, uncertain, "ToyMachine"},
		"a kind that can't be read has no such":  {claims{owners: owners, unread: map[*OwnerKind]error{machines: errors.New("no")}}, left, orphaned, ""},
		"a damaged object may have it":           {claims{owners: owners, living: []living{damaged}}, instance, uncertain, "default/worker, whose ledger can't be used"},
		"a damaged object has no such":           {claims{owners: owners, living: []living{damaged}}, left, orphaned, ""},
		"one far away that names its owner":      {claims{owners: owners, living: []living{elsewhere}}, instance, uncertain, "far/worker"},
		"one far away that doesn't name its own": {claims{owners: owners, living: []living{elsewhere}}, vpc("i", lives, "instance"), orphaned, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, why := newJudge(row.claims, here, world, nil).of(row.item)
			g.Expect(got).To(Equal(row.verdict), why)
			g.Expect(why).To(ContainSubstring(row.why))
		})
	}
}

// A tenant may write into the ledger of an object of theirs that it has the ID of another's, and none of what that one makes.
func TestJudge_takesNoTenantsWordForWhatAnotherIsAboutToFind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const id = "0123456789ab"
	hostile := living{kind: owners[1], name: "ToyMachine a/copy", namespace: "a", owner: id}
	honest := living{
		kind: owners[1], name: "ToyMachine b/worker", namespace: "b", owner: id,
		ledger: map[string]ledgers.Resource{"instance": {Key: "instance", Kind: "instance", Own: true}}, // pending
	}
	made := item{id: "made", tag: graph.Tag{Owner: id, Key: "instance"}, labelled: true}
	here := func(string) bool { return true }
	for _, order := range [][]living{{hostile, honest}, {honest, hostile}} {
		got, why := newJudge(claims{owners: owners, living: order}, here, []item{made}, []string{id}).of(made)
		g.Expect(got).To(Equal(uncertain), why)
		g.Expect(why).To(And(ContainSubstring(hostile.name), ContainSubstring(honest.name)))
	}
}
