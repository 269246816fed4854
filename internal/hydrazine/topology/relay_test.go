package topology_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// acls returns the ACLs with a key of this kind: priority, direction, action and match.
func acls(network *topology.Topology, kind string) (all []string) {
	for _, row := range network.Rows() {
		if acl, ok := row.(*nbdb.ACL); ok && strings.HasPrefix(ids(row)[ovn.KeyID], kind) {
			all = append(all, fmt.Sprintf("%d %s %s %s", acl.Priority, acl.Direction, acl.Action, acl.Match))
		}
	}
	return all
}

func TestRelay(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), dualGroup()
	in.Relayed = netip.MustParseAddr("172.19.0.9")
	a, b := dualMember("a", "10.10.10.2", "", "fd10::2", ""), dualMember("b", "10.10.10.3", "", "fd10::3", "")
	b.Chassis = a.Chassis
	far, nowhere := member("c", "10.10.10.4", ""), member("d", "10.10.10.5", "")
	nowhere.Chassis = ""
	network := draw(t, in, a, b, far, nowhere)
	fitTogether(g, network)
	one, ok := network.Relay("dpu-a")
	g.Expect(ok).To(BeTrue())
	g.Expect(one.Interface).To(MatchRegexp("^[a-z][a-z0-9-]{0,14}$"))
	g.Expect(one.Link).To(Equal(netip.MustParseAddr("10.10.10.1")))
	g.Expect(netip.MustParsePrefix("169.254.128.0/17").Contains(one.Address)).To(BeTrue())
	other, ok := network.Relay("dpu-c")
	g.Expect(ok).To(BeTrue())
	g.Expect(other.Interface).To(Equal(one.Interface))
	g.Expect([]any{other.LogicalPort, other.MAC, other.Address}).NotTo(ContainElements(one.LogicalPort, one.MAC, one.Address))
	for _, chassis := range []string{"", "dpu-x"} {
		_, ok = network.Relay(chassis)
		g.Expect(ok).To(BeFalse())
	}

	g.Expect(find[*nbdb.LogicalRouterPort](t, network.Rows(), "gateway").Networks).
		To(Equal([]string{"10.10.10.1/24", "fd10::1/64", "169.254.128.1/17"}))
	gateway := find[*nbdb.LogicalRouterPort](t, network.Rows(), "gateway").MAC
	g.Expect(acls(network, "asks-relay/uid-of-b")).To(Equal([]string{fmt.Sprintf(
		"3000 to-lport allow outport == %q && udp.dst == 67 && ((eth.src == 02:00:0a:0a:0a:03 && ip4.dst == {255.255.255.255, %s})"+
			" || (eth.src == %s && ip4.src == 10.10.10.3 && ip4.dst == %s))", one.LogicalPort, one.Address, gateway, one.Address)}))
	g.Expect(acls(network, "answers-relay/"+one.LogicalPort)).To(Equal([]string{fmt.Sprintf(
		"3000 from-lport allow inport == %q && (ip4.src == %s && udp.src == 67 && udp.dst == 68)", one.LogicalPort, one.Address)}))
	g.Expect(acls(network, "deaf-relay/"+one.LogicalPort)).To(Equal([]string{fmt.Sprintf("2999 to-lport drop outport == %q", one.LogicalPort)}))
	g.Expect(acls(network, "silent-relay/"+one.LogicalPort)).To(Equal([]string{fmt.Sprintf("2999 from-lport drop inport == %q", one.LogicalPort)}))
	g.Expect(acls(network, "asks-relay/uid-of-d")).To(BeEmpty())

	misfit := in // it takes nothing else from the group
	misfit.Networks, misfit.Relayed = in.Networks[:1], netip.MustParseAddr("fd19::9")
	network = draw(t, misfit, member("a", "10.10.10.2", "172.18.0.105/24"))
	_, ok = network.Relay("dpu-a")
	g.Expect(ok).To(BeFalse())
	g.Expect(network.Members).To(HaveLen(1))

	without := in
	without.Relayed = netip.Addr{}
	_, ok = draw(t, without, a).Relay("dpu-a")
	g.Expect(ok).To(BeFalse())
}

func TestRelay_toAnIPv6Server(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), dualGroup()
	in.Relayed = netip.MustParseAddr("fd19::9")
	network := draw(t, in, dualMember("a", "10.10.10.2", "", "fd10::2", ""))
	fitTogether(g, network)
	relay, _ := network.Relay("dpu-a")
	g.Expect(relay.Address.IsValid()).To(BeFalse())
	g.Expect(relay.Link).To(Equal(netip.MustParseAddr("fd10::1")))
	g.Expect(find[*nbdb.LogicalRouterPort](t, network.Rows(), "gateway").Networks).To(HaveLen(2))
	g.Expect(acls(network, "asks-relay")).To(Equal([]string{fmt.Sprintf(
		"3000 to-lport allow outport == %q && eth.src == 02:00:0a:0a:0a:02 && ip6.dst == ff02::1:2 && udp.dst == 547", relay.LogicalPort)}))
}

// DPUs that come upon the same address give way to those of older members.
func TestRelay_addressesDontCollide(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), group("10.0.0.0/16", "10.0.0.1")
	in.Relayed = netip.MustParseAddr("172.19.0.9")
	var members []topology.Member
	for i := range 1000 {
		members = append(members, member(fmt.Sprint("h", i), fmt.Sprintf("10.0.%d.%d", 1+i/250, 2+i%250), ""))
	}
	reserved := netip.MustParsePrefix("169.254.255.0/24")
	few, all := draw(t, in, members[0], members[1]), draw(t, in, members...)
	seen := map[netip.Addr]bool{}
	alone := 0
	for _, m := range members {
		relay, ok := all.Relay(m.Chassis)
		g.Expect(ok).To(BeTrue())
		g.Expect(seen).NotTo(HaveKey(relay.Address))
		seen[relay.Address] = true
		g.Expect(relay.Address.Compare(netip.MustParseAddr("169.254.128.1"))).To(BeNumerically(">", 0))
		g.Expect(relay.Address.Less(reserved.Addr())).To(BeTrue())
		if own, _ := draw(t, in, m).Relay(m.Chassis); own != relay {
			alone++
		}
	}
	g.Expect(alone).To(And(BeNumerically(">", 0), BeNumerically("<", 50)), "those who had to give way")
	one, _ := few.Relay(members[0].Chassis)
	same, _ := all.Relay(members[0].Chassis)
	g.Expect(same).To(Equal(one))
}
