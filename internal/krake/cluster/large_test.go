package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// large is a template of less than 200 KiB, of which IM's own text has several times as many: it has each value in a line of its own.
func large(node string) string {
	values := strings.Repeat("a,", 40_000)
	return strings.Replace(kraketest.Template, "    wn:", fmt.Sprintf("    %s: {type: tosca.nodes.Root, properties: {x: [%s]}}\n    wn:", node, values), 1)
}

// What has become too large to be read is found all the same, by its mark: neither made twice nor left.
func TestTemplate_thatIsLargeIsFoundChangedAndDeleted(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.CreateCloud()
	f.Fault(simulator.Fault{Operation: "createInfrastructure", Kind: simulator.FaultLoseAnswer})
	c := f.CreateCluster("demo", func(c *krakev1.Cluster) { c.Spec.TOSCA = large("more") })
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(f.Called("createInfrastructure")).To(Equal(1))
	f.Expect(f.IM.State()).To(HaveLen(1))
	f.Expect(len(f.IM.State()[0].Template)).To(BeNumerically(">", krakev1.MaxTOSCA))

	changed := large("another") // which is merged into it
	kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = changed })
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(c)).To(Succeed())
		g.Expect(c.Status.LastAppliedTOSCA == changed).To(BeTrue(), "%v", c.Status.Conditions)
	}).Should(Succeed())
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.IM.State()).To(BeEmpty())
}
