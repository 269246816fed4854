package overlay_test

import (
	"os"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// The traffic analysis for both IP versions: within the network, to the data centre, and back.
func TestDualStack_passesAsIPv4Does(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.Flat(2))
	one, two := d.members[0], d.members[1]
	for v := range 2 {
		dc := d.server(fabric.DC)[v]
		d.seen(one.Name, two.Addresses[v].HostIP, one.Addresses[v].HostIP)
		_, err := d.probe(probe.ICMP, one.Name, d.group.Networks[v].Gateway, 0)
		d.Expect(err).NotTo(HaveOccurred())
		d.seen(one.Name, dc, one.Addresses[v].FabricIP)
		d.seen(fabric.DC, two.Addresses[v].FabricIP, dc)
		d.seen(one.Name, two.Addresses[v].FabricIP, one.Addresses[v].FabricIP)
		d.seen(one.Name, one.Addresses[v].FabricIP, one.Addresses[v].FabricIP)
	}
	// A client with a route to the network is let in by neither version.
	for v, network := range d.group.Networks {
		d.Expect(d.AddRoute(fabric.Router, network.Prefix, two.Addresses[v].FabricIP)).To(Succeed())
		d.silent(probe.TCP, fabric.DC, two.Addresses[v].HostIP)
	}
}

// A host hears from the router what its gateway is, and chooses no address of its own.
func TestDualStack_hostsLearnTheirIPv6Gateway(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.Flat(1))
	host := d.members[0].Name
	d.run(host, "ip", "-6", "route", "del", "default")
	d.Expect(d.Do(host, func() error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/eth0/accept_ra", []byte("2"), 0)
	})).To(Succeed())
	d.run(host, "ip", "link", "set", "eth0", "down")
	d.run(host, "ip", "link", "set", "eth0", "up") // it asks again
	ask := func(args ...string) string {
		said, err := exec.CommandContext(t.Context(), "ip", append([]string{"-n", d.Namespace(host), "-6"}, args...)...).CombinedOutput()
		d.Expect(err).NotTo(HaveOccurred())
		return string(said)
	}
	d.Eventually(func() string { return ask("route", "show", "default") }).Should(ContainSubstring("proto ra"))
	d.Expect(ask("address", "show", "dev", "eth0", "dynamic")).To(BeEmpty())
	d.Expect(ask("address", "show", "dev", "eth0", "scope", "global")).To(ContainSubstring("fd10::2"))
	d.seen(host, d.server(fabric.DC)[1], d.members[0].Addresses[1].FabricIP)
}
