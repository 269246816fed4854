package vswitch

import (
	"context"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/openvswitch"
	"github.com/bedplate/bedplate/internal/openvswitch/openvswitchtest"
)

// database is a real one of Open vSwitch. Instead of ovs-vswitchd there is a test that says what was done.
type database struct {
	*testing.T
	*WithT
	*Database
	server *openvswitchtest.Server
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	d := &database{T: t, WithT: NewWithT(t), server: openvswitchtest.Start(t)}
	d.SetDefaultEventuallyTimeout(time.Minute)
	var err error
	d.Database, err = New(d.server.Endpoint, func() {})
	d.Expect(err).NotTo(HaveOccurred())
	d.Connect(t.Context())
	t.Cleanup(d.Close)
	return d
}

func (d *database) vsctl(args ...string) string {
	d.Helper()
	return d.server.Vsctl(args...)
}

// obey says again and again that everything is done that the database wants, until the test ends.
func (d *database) obey() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	d.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			next, err := exec.Command("ovs-vsctl", "--db="+d.server.Endpoint, "--no-wait", "get", "open", ".", "next_cfg").Output()
			if err == nil {
				done := "cur_cfg=" + strings.TrimSpace(string(next))
				exec.Command("ovs-vsctl", "--db="+d.server.Endpoint, "--no-wait", "set", "open", ".", done).Run()
			}
		}
	}()
}

var (
	transport = Transport{
		DatapathType: "netdev", Uplinks: []string{"p0"}, MAC: "02:00:00:00:00:01", MTU: 1500, Hostname: "dpu-1",
	}
	integration = Integration{
		DatapathType: "netdev", Group: "red", Southbound: "tcp:172.18.0.2:16642", EncapIP: netip.MustParseAddr("172.18.0.5"),
		Ports: map[string]string{"pf0hpf": "port-a", "pf1hpf": "port-b"}, Restart: true,
	}
)

func TestTransact_waitsForVswitchd(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	d.Expect(d.EnsureTransport(ctx, transport)).To(MatchError(ContainSubstring("ovs-vswitchd hasn't done")))
	d.Expect(d.vsctl("list-br")).To(Equal("br-transport"), "it is written")
	again, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	d.Expect(d.EnsureTransport(again, transport)).To(MatchError(ContainSubstring("ovs-vswitchd hasn't done")), "not done yet")
	d.obey()
	d.Expect(d.EnsureTransport(t.Context(), transport)).To(Succeed())
}

func TestEnsure_changesNothingTwice(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.obey()
	for range 3 {
		d.Expect(d.EnsureTransport(t.Context(), transport)).To(Succeed())
		d.Expect(d.EnsureIntegration(t.Context(), integration)).To(Succeed())
	}
	d.Expect(d.vsctl("get", "open", ".", "next_cfg")).To(Equal("3"), "two bridges, and a started ovn-controller's wait")
	d.Expect(d.vsctl("get", "open", ".", "external_ids")).To(Equal(`{ovn-bridge-datapath-type=netdev, ` +
		`ovn-bridge-mappings="fabric:br-transport", ovn-encap-ip="172.18.0.5", ovn-encap-type=geneve, ` +
		`ovn-ofctrl-wait-before-clear="5000", ovn-remote="tcp:172.18.0.2:16642", system-id=dpu-1}`))
	d.Expect(d.vsctl("get", "bridge", "br-int", "fail_mode")).To(Equal("secure"))
	d.Expect(d.vsctl("get", "bridge", "br-int", "other_config")).To(Equal(`{disable-in-band="true"}`))
	d.Expect(d.vsctl("get", "interface", "pf1hpf", "external_ids")).To(Equal("{iface-id=port-b}"))
	d.Expect(d.vsctl("get", "interface", "br-transport", "mtu_request")).To(Equal("1500"))
	d.Expect(d.vsctl("get", "bridge", "br-transport", "other_config")).To(Equal(`{hwaddr="02:00:00:00:00:01"}`))
}

func TestEnsureTransport_takesTheUplinksFromWhereTheyAre(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.obey()
	d.vsctl("set", "open", ".", "external_ids:system-id=as-installed")
	d.vsctl("add-br", "ovsbr1", "--", "add-port", "ovsbr1", "p0", "--", "add-port", "ovsbr1", "pf0hpf")
	d.Eventually(func() error { return d.EnsureTransport(t.Context(), transport) }).Should(Succeed(), "it has learned of that")
	d.Expect(d.vsctl("list-ports", "ovsbr1")).To(Equal("pf0hpf"))
	d.Expect(d.vsctl("list-ports", "br-transport")).To(Equal("p0"))
	d.Expect(d.vsctl("get", "open", ".", "external_ids:system-id")).To(Equal("as-installed"))

	// A second uplink, then LACP, then one again. What OVN has on the bridge stays.
	d.vsctl("add-port", "br-transport", "patch-x", "--", "set", "interface", "patch-x", "type=patch", "options:peer=y")
	several := transport
	several.Uplinks, several.MAC = []string{"p0", "p1"}, "02:00:00:00:00:99"
	d.Expect(d.EnsureTransport(t.Context(), several)).To(Succeed())
	d.Expect(d.vsctl("list-ports", "br-transport")).To(Equal("patch-x\nuplinks"))
	d.Expect(d.vsctl("list-ifaces", "br-transport")).To(Equal("p0\np1\npatch-x"))
	d.Expect(d.vsctl("get", "port", "uplinks", "bond_mode", "lacp")).To(Equal("active-backup\n[]"))
	d.Expect(d.vsctl("get", "bridge", "br-transport", "other_config:hwaddr")).To(Equal(`"02:00:00:00:00:01"`), "the fabric knows it")
	several.LACP = true
	d.Expect(d.EnsureTransport(t.Context(), several)).To(Succeed())
	d.Expect(d.vsctl("get", "port", "uplinks", "bond_mode", "lacp")).To(Equal("balance-tcp\nactive"))
	d.Expect(d.EnsureTransport(t.Context(), transport)).To(Succeed())
	d.Expect(d.vsctl("list-ports", "br-transport")).To(Equal("p0\npatch-x"))
}

func TestEnsureIntegration_repairs(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.obey()
	d.Expect(d.EnsureTransport(t.Context(), transport)).To(Succeed())
	d.Expect(d.EnsureIntegration(t.Context(), integration)).To(Succeed())
	d.vsctl("set", "bridge", "br-int", "fail_mode=standalone", "other_config={}")
	d.vsctl("del-port", "pf1hpf")
	d.vsctl("set", "interface", "pf0hpf", "external_ids:iface-id=stolen", "external_ids:ovn-installed=true")
	d.vsctl("set", "open", ".", "external_ids:ovn-remote=tcp:9.9.9.9:1", "external_ids:mine=yours")
	d.Eventually(func() string {
		found, err := d.snapshot()
		d.Expect(err).NotTo(HaveOccurred())
		return found.Root.ExternalIDs["mine"]
	}).Should(Equal("yours"))
	d.Expect(d.EnsureIntegration(t.Context(), integration)).To(Succeed())
	d.Expect(d.vsctl("get", "bridge", "br-int", "fail_mode", "other_config")).To(Equal("secure\n{disable-in-band=\"true\"}"))
	d.Expect(d.vsctl("list-ports", "br-int")).To(Equal("pf0hpf\npf1hpf"))
	d.Expect(d.vsctl("get", "interface", "pf0hpf", "external_ids")).To(Equal("{iface-id=port-a}"))
	d.Expect(d.vsctl("get", "open", ".", "external_ids:ovn-remote", "external_ids:mine")).To(Equal("\"tcp:172.18.0.2:16642\"\nyours"))
}

func TestEnsureIntegration_relay(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.obey()
	d.Expect(d.EnsureTransport(t.Context(), transport)).To(Succeed())
	relayed := integration
	relayed.Relay = RelayPort{Name: "relay-red", LogicalPort: "relay-1", MAC: "02:fe:00:00:00:05"}
	row := func() string { return d.vsctl("get", "interface", "relay-red", "type", "mac", "external_ids") }
	made := "internal\n\"02:fe:00:00:00:05\"\n{iface-id=relay-1}"
	for range 2 {
		d.Expect(d.EnsureIntegration(t.Context(), relayed)).To(Succeed())
		d.Expect(row()).To(Equal(made))
	}
	d.Expect(d.vsctl("get", "open", ".", "next_cfg")).To(Equal("3"), "two bridges, and a started ovn-controller's wait")
	d.vsctl("set", "interface", "relay-red", `mac="02:00:00:00:00:99"`, "external_ids:iface-id=stolen")
	d.Eventually(func() string { d.EnsureIntegration(t.Context(), relayed); return row() }).Should(Equal(made))
	d.vsctl("set", "interface", "relay-red", "type=system", "mac=[]")
	d.Eventually(func() string { d.EnsureIntegration(t.Context(), relayed); return row() }).Should(Equal(made))
	d.Expect(d.Release(t.Context(), map[string]string{"pf0hpf": "port-a", "relay-red": "relay-1"}, nil)).To(Succeed())
	d.Expect(d.vsctl("list-ports", "br-int")).To(Equal("pf0hpf\nrelay-red"))
	d.Expect(d.Release(t.Context(), map[string]string{"pf0hpf": "port-a"}, nil)).To(Succeed())
	d.Expect(d.vsctl("list-ports", "br-int")).To(Equal("pf0hpf"))
}

func TestRelease(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.obey()
	d.Expect(d.EnsureTransport(t.Context(), transport)).To(Succeed())
	d.Expect(d.EnsureIntegration(t.Context(), integration)).To(Succeed())
	for name, kind := range map[string]string{"ovn-x-0": "geneve", "patch-y": "patch", "tap0": `""`, "relay": "internal"} {
		d.vsctl("add-port", "br-int", name, "--", "set", "interface", name, "type="+kind)
	}
	d.vsctl("add-br", "ovsbr1", "--", "add-port", "ovsbr1", "pf2hpf")
	d.vsctl("add-bond", "br-int", "bond", "x0", "x1")
	d.Eventually(func() string { // it hears later than ovs-vsctl of what there is
		d.Expect(d.Release(t.Context(), map[string]string{"pf0hpf": "port-a"}, []string{"pf1hpf", "pf2hpf"})).To(Succeed())
		return d.vsctl("list-ports", "br-int")
	}).Should(Equal("ovn-x-0\npatch-y\npf0hpf"))
	d.Expect(d.vsctl("list-ports", "ovsbr1")).To(BeEmpty())
	d.Expect(d.vsctl("list-ports", "br-transport")).To(Equal("p0"))
}

func TestDeleteIntegration(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.obey()
	d.Expect(d.EnsureTransport(t.Context(), transport)).To(Succeed())
	d.Expect(d.EnsureIntegration(t.Context(), integration)).To(Succeed())
	d.Expect(d.Other("red")).To(BeFalse())
	d.Expect(d.Other("blue")).To(BeTrue())
	d.vsctl("set", "bridge", "br-int", "external_ids:ct-zone-port-a=7", "external_ids:ovn-nb-cfg=1")
	d.Eventually(d.Zones).Should(Equal(map[string]string{"port-a": "7"}))
	written := func(g Gomega) Change {
		state, err := d.State()
		g.Expect(err).NotTo(HaveOccurred())
		return state.Written
	}
	d.Expect(written(d)).To(Equal(Change{"red", 1}))
	d.vsctl("add-port", "br-transport", "patch-x", "--", "set", "interface", "patch-x", "type=patch", "options:peer=y")
	for range 2 {
		d.Expect(d.DeleteIntegration(t.Context())).To(Succeed())
	}
	d.Expect(d.vsctl("list-br")).To(Equal("br-transport"))
	d.Expect(d.vsctl("list-ports", "br-transport")).To(Equal("p0"))
	d.Expect(d.vsctl("get", "open", ".", "external_ids")).NotTo(Or(ContainSubstring("ovn-remote"), ContainSubstring("ovn-encap-ip")))
	d.Expect(d.Other("blue")).To(BeFalse())
	d.Expect(written(d)).To(Equal(Change{}))
}

func TestState_withoutADatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, err := New("unix:/nowhere/db.sock", func() {})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = d.State()
	g.Expect(err).To(MatchError(openvswitch.ErrDisconnected))
	g.Expect(d.Release(t.Context(), nil, nil)).To(MatchError(openvswitch.ErrDisconnected))
}

// ovs-vswitchd writes all that it can when it sees the row, also after each start.
func TestEnsureIntegration_withoutSNATToNoAddress(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.obey()
	d.Expect(d.EnsureTransport(t.Context(), transport)).To(Succeed())
	d.Expect(d.EnsureIntegration(t.Context(), integration)).To(Succeed())
	row := d.vsctl("get", "open", ".", "datapaths:netdev")
	said := func() string { return d.vsctl("get", "datapath", row, "capabilities") }
	d.Expect(said()).To(Equal(`{ct_zero_snat="false"}`))
	d.vsctl("set", "datapath", row, "capabilities:ct_zero_snat=true", "capabilities:ct_timeout=true")
	d.Eventually(func() string { d.EnsureIntegration(t.Context(), integration); return said() }).Should(
		Equal(`{ct_timeout="true", ct_zero_snat="false"}`))
	d.Expect(d.vsctl("get", "open", ".", "datapaths:netdev")).To(Equal(row))
}

func TestEnsureIntegration_leavesTheKernelsDatapath(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.obey()
	kernel := integration
	kernel.DatapathType = "system"
	d.Expect(d.EnsureIntegration(t.Context(), kernel)).To(Succeed())
	d.Expect(d.vsctl("get", "open", ".", "datapaths")).To(Equal("{}"))
}
