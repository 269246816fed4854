package ovn_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/sbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

func TestSouthbound_tellsWhoHasAPort(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	changed := make(chan string, 1000)
	s, err := ovn.DialSouthbound(t.Context(), c.endpoint("sb"), func(table string) { changed <- table })
	g.Expect(err).NotTo(HaveOccurred())
	defer s.Close()
	port := topology.PortName(member(2).UID, "host-2")
	binding := func() ovn.Binding {
		all, err := s.Bindings(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return all[port]
	}
	g.Expect(binding()).To(BeZero(), "there is no such port")
	apply(t, n, network(t, member(2)))
	g.Expect(n.Sync(soon(t))).To(Succeed())
	g.Eventually(changed, patience).Should(Receive(Equal("Port_Binding")))
	g.Expect(binding()).To(BeZero(), "no chassis has it")

	c.sbctl("chassis-add", "dpu-2", "geneve", "127.0.0.2", "--", "chassis-add", "dpu-1", "geneve", "127.0.0.1", "--", "lsp-bind", port, "dpu-2")
	g.Eventually(binding, patience).Should(Equal(ovn.Binding{Chassis: "dpu-2", Up: true}))
	c.sbctl("set", "port_binding", port, "up=false")
	g.Eventually(binding, patience).Should(Equal(ovn.Binding{Chassis: "dpu-2"}))
	chassis, err := s.Chassis(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chassis).To(Equal([]string{"dpu-1", "dpu-2"}))

	g.Expect(s.DeleteChassis(t.Context(), "dpu-2")).To(Succeed())
	g.Expect(s.DeleteChassis(t.Context(), "dpu-2")).To(Succeed(), "it has gone")
	g.Expect(binding().Chassis).To(BeEmpty())
	g.Expect(c.sbctl("--bare", "--columns=name", "list", "chassis")).To(Equal("dpu-1"))
}

// A DPU that comes back to a database says the number of the last change that it has had, of whichever database.
func TestChange_isMoreThanThoseOfADatabaseThatWasLost(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	var last int
	for range 3 {
		apply(t, n, network(t, members(2, 3)...))
		apply(t, n, network(t, member(2)))
		g.Expect(n.Sync(soon(t))).To(Succeed())
		change, err := n.Change(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(change).To(BeNumerically(">", last))
		last = change
		c.stop("nb")
		c.run("rm", c.path("nb.db"), c.path("nb.sock"))
		c.startDatabase("nb")
		g.Eventually(func() (int, error) { return n.Change(t.Context()) }, patience).Should(BeNumerically("<", last), "nothing is counted yet")
	}
}

// A copy of the whole database would cost memory with each switch and router that OVN draws, for each group.
func TestSouthbound_readsOnlyWhatIsAskedOfIt(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	apply(t, n, network(t, members(2, 4)...))
	g.Expect(n.Sync(soon(t))).To(Succeed())
	g.Expect(len(strings.Fields(c.sbctl("--bare", "--columns=logical_port", "list", "port_binding")))).To(BeNumerically(">", 20))
	ports, err := c.southbound().Rows(sbdb.PortBindingTable)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ports).To(HaveLen(3), "the hosts'")
	for _, row := range ports {
		port := row.(*sbdb.PortBinding)
		g.Expect(port).To(Equal(&sbdb.PortBinding{UUID: port.UUID, LogicalPort: port.LogicalPort, Up: port.Up}))
	}
}
