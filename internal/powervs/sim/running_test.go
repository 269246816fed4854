package sim_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestMachines_areOnFromActiveUntilTheyAreDeleted(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		body := request("node-1", "net-1")
		body.UserData = "aGVsbG8="
		id, err := p.createServer(body)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(p.cloud.Machines()).To(BeEmpty(), "it is being built")
		p.pass(4 * time.Minute)
		on := []sim.Machine{{
			ID: id, Name: "node-1", WorkspaceID: p.id, Workspace: "existing", Address: netip.MustParseAddr("10.0.0.3"), UserData: []byte("hello"),
		}}
		p.Expect(p.cloud.Machines()).To(Equal(on))
		for status, want := range map[string][]sim.Machine{"SHUTOFF": nil, "ERROR": nil, "": on} {
			p.Expect(p.cloud.SetStatus(sim.Status{ID: id, Status: status})).To(Succeed())
			p.Expect(p.cloud.Machines()).To(Equal(want), status)
		}
		p.Expect(p.cloud.SetStatus(sim.Status{ID: id})).To(Succeed())
		p.Expect(p.deleteServer(id)).To(Succeed())
		p.Expect(p.cloud.Machines()).To(BeEmpty())
	})
}

func TestListeners_haveTheMembersThatAreActive(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		b := n.newBalancer("api", n.newSubnet(n.newVPC("net"), "a", zone))
		n.Expect(n.cloud.Listeners()).To(BeEmpty(), "it is being made")
		n.pass(150 * time.Second)
		at, member := netip.MustParseAddrPort("127.200.0.1:6443"), netip.MustParseAddrPort("192.168.0.5:6443")
		without, with := map[netip.AddrPort][]netip.AddrPort{at: {}}, map[netip.AddrPort][]netip.AddrPort{at: {member}}
		n.Expect(n.cloud.Listeners()).To(Equal(without))
		made, answer := n.addMember(b, member.Addr().String())
		n.Expect(answer).To(Equal("201"))
		n.Expect(n.cloud.Listeners()).To(Equal(without), "the change is on its way")
		n.pass(20 * time.Second)
		n.Expect(n.cloud.Listeners()).To(Equal(with))
		n.Expect(answered(n.vpc.DeleteLoadBalancerPoolMember(&vpcv1.DeleteLoadBalancerPoolMemberOptions{
			LoadBalancerID: b.ID, PoolID: b.Pools[0].ID, ID: made.ID}))).To(Equal("204"))
		n.Expect(n.cloud.Listeners()).To(Equal(without))
		n.pass(20 * time.Second)
		n.Expect(n.deleteBalancer(b.ID)).To(Equal("204"))
		n.Expect(n.cloud.Listeners()).To(BeEmpty())
	})
}
