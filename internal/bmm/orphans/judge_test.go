package orphans

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

func TestJudge_callsOnlyWhatIsCertainAnOrphan(t *testing.T) {
	t.Parallel()
	const lives, gone, mac = "0123456789ab", "ba9876543210", "001122334455"
	demo := living{
		name: "NvidiaBMMCluster default/demo", owner: lives, spec: `{"vpcPeerings":[{"peerVpcId":"peer"}]}`,
		ledger: map[string]graph.Resource{
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
		{"its object has another one", vpc("x", lives, "vpc"), orphaned, "a double: the VPC of NvidiaBMMCluster default/demo is bound"},
		{"its object doesn't know it", named("x", lives, "subnet/old"), orphaned, "is there, but doesn't know it"},
		{"its object is gone", vpc("left", gone, "vpc"), orphaned, ""},
		{"its object is gone, which a label proves", named("x", gone, "subnet/nodes"), orphaned, ""},
		{"its object may never have been", named("x", mac, "subnet/bmc"), uncertain, "say --owner " + mac},
		{"somebody has written the label", vpc("x", "me", "vpc"), uncertain, "isn't an ID of Bedplate's"},
		{"somebody has taken half of the labels off", vpc("x", gone, ""), uncertain, ""},
		{"another object's ledger has it", vpc("foreign", gone, "group"), uncertain, "NvidiaBMMCluster default/demo uses it"},
		{"another object's spec names it", vpc("peer", gone, "vpc"), uncertain, "NvidiaBMMCluster default/demo uses it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, why := newJudge(claims{demo}, world, nil).of(row.item)
			g.Expect(got).To(Equal(row.verdict))
			g.Expect(why).To(ContainSubstring(row.why))
		})
	}
	g := NewWithT(t)
	got, _ := newJudge(claims{demo}, world, []string{mac}).of(named("x", mac, "subnet/bmc"))
	g.Expect(got).To(Equal(orphaned), "somebody vouches for it")
}
