package overlay_test

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// in puts members into security groups, as the manager does.
func (d *drawn) in(groups ...[]string) {
	for i, names := range groups {
		d.members[i].SecurityGroups = d.group.SecurityGroupsOf(names)
	}
	d.write()
}

var (
	fromWeb  = resourcev1.SecurityRule{Direction: resourcev1.Ingress, Protocol: resourcev1.TCPProtocol, SecurityGroups: []string{"web"}, Ports: []resourcev1.PortRange{{First: tcpPort}}}
	anywhere = resourcev1.SecurityRule{Direction: resourcev1.Egress}
)

// A member of a security group is reached only by what a rule lets through, from within and without, by both IP versions.
func TestSecurityGroups_letThroughWhatTheySay(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.TwoPorts(2))
	web, db, other, open := d.members[0], d.members[1], d.members[2], d.members[3]
	dc := d.server(fabric.DC)
	d.group.SecurityGroups = []resourcev1.SecurityGroup{
		{Name: "web", Rules: []resourcev1.SecurityRule{anywhere, {
			Direction: resourcev1.Ingress, Protocol: resourcev1.TCPProtocol, Ports: []resourcev1.PortRange{{First: 8000, Last: 8100}},
			Prefixes: []resourcev1.IPPrefix{"172.19.0.0/24", "fd00:2::/64"},
		}}},
		{Name: "db", Rules: []resourcev1.SecurityRule{fromWeb}},
		{Name: "closed"},
	}
	d.in([]string{"web"}, []string{"db"}, []string{"closed"}, nil)
	for v := range 2 {
		d.seen(web.Name, db.Addresses[v].HostIP, web.Addresses[v].HostIP)
		d.seen(web.Name, open.Addresses[v].HostIP, web.Addresses[v].HostIP)
		d.seen(web.Name, dc[v], web.Addresses[v].FabricIP)
		d.seen(fabric.DC, web.Addresses[v].FabricIP, dc[v])
		d.silent(probe.UDP, web.Name, db.Addresses[v].HostIP)
		d.silent(probe.ICMP, web.Name, db.Addresses[v].HostIP)
		d.silent(probe.TCP, open.Name, db.Addresses[v].HostIP)
		d.silent(probe.TCP, open.Name, web.Addresses[v].HostIP)
		d.silent(probe.TCP, db.Name, web.Addresses[v].HostIP)
		d.silent(probe.TCP, db.Name, open.Addresses[v].HostIP)
		d.silent(probe.TCP, fabric.Internet, web.Addresses[v].FabricIP)
		d.silent(probe.TCP, fabric.DC, db.Addresses[v].FabricIP)
		d.silent(probe.TCP, other.Name, open.Addresses[v].HostIP)
		d.silent(probe.ICMP, open.Name, other.Addresses[v].HostIP)
	}
	// A group that there isn't lets nothing through.
	d.in([]string{"web"}, []string{"no such"}, nil, nil)
	d.silent(probe.TCP, web.Name, db.Addresses[0].HostIP)
	d.seen(web.Name, other.Addresses[0].HostIP, web.Addresses[0].HostIP)
}

// A connection ends when the rule that let it in is deleted, and one that another rule lets in continues.
func TestSecurityGroups_holdForConnectionsThatThereAre(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.Flat(2))
	one, two := d.members[0], d.members[1]
	d.group.SecurityGroups = []resourcev1.SecurityGroup{
		{Name: "web", Rules: []resourcev1.SecurityRule{anywhere}}, {Name: "db", Rules: []resourcev1.SecurityRule{fromWeb}},
	}
	d.in([]string{"web"}, []string{"db"})
	d.seen(one.Name, two.Addresses[0].HostIP, one.Addresses[0].HostIP)
	stream, err := d.Stream(t.Context(), probe.Probe{From: one.Name, Protocol: probe.TCP, To: netip.AddrPortFrom(two.Addresses[0].HostIP, tcpPort)})
	d.Expect(err).NotTo(HaveOccurred())
	goesOn := func(why string) {
		t.Helper()
		d.Eventually(stream.Answered).Should(BeNumerically(">", stream.Answered()+30), why)
	}
	goesOn("it was let in")

	all := fromWeb
	all.SecurityGroups = nil
	d.group.SecurityGroups[1].Rules = []resourcev1.SecurityRule{all}
	d.write()
	goesOn("one rule goes and another comes")

	d.group.SecurityGroups[1].Rules = nil
	d.write()
	answers := func() int { // while nothing is acknowledged, no more can be sent than the kernel keeps
		before := stream.Answered()
		soaktest.Rest(t.Context(), 500*time.Millisecond)
		return stream.Answered() - before
	}
	d.Eventually(answers).WithTimeout(revalidated).Should(BeZero())
	d.silent(probe.TCP, one.Name, two.Addresses[0].HostIP)

	d.group.SecurityGroups[1].Rules = []resourcev1.SecurityRule{fromWeb}
	d.write()
	d.Eventually(answers).WithTimeout(3*time.Minute).ShouldNot(BeZero(), "TCP sends again what was lost, each time after a longer pause")
}
