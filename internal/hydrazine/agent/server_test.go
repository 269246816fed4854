package agent

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"github.com/vishvananda/netlink"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// TestAttach_notForACallerWhoHasGone: a caller that has given up sends another request next, which may be done already.
func TestAttach_notForACallerWhoHasGone(t *testing.T) {
	t.Parallel()
	toolstest.Root(t)
	g, ns := NewWithT(t), "hza"+strings.ToLower(rand.Text()[:8])
	g.Expect(namespace.Create(ns)).To(Succeed())
	t.Cleanup(func() { g.Expect(namespace.Remove(ns)).To(Succeed()) })
	a, err := New(options(t, "--uplink=p0", "--datapath=netdev", "--state-dir="+t.TempDir(), "--ovs-db=unix:/nowhere/db.sock"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(namespace.Do(ns, func() error {
		bridge := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: vswitch.TransportBridge}, PeerName: "pf0hpf"}
		g.Expect(netlink.LinkAdd(bridge)).To(Succeed())
		address, err := netlink.ParseAddr("172.18.0.5/24")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(netlink.AddrAdd(bridge, address)).To(Succeed())
		a.meetPorts()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = (&server{agent: a}).Attach(gone, &agentv1.AttachRequest{
			Port: "pf0hpf", Generation: a.keeper.Ledger().Ports["pf0hpf"].Generation,
			Lease: durationpb.New(time.Hour), AsOf: timestamp(sinceBoot()), Assignment: &agentv1.Assignment{
				ResourceUid: "r", GroupUid: "g", Southbound: "tcp:172.18.0.2:6642", LogicalPort: "p", EncapIp: "172.18.0.5",
			},
		})
		return err
	})).To(Satisfy(func(err error) bool { return grpcstatus.Code(err) == codes.Canceled }))
	g.Expect(a.keeper.Ledger().Ports).To(HaveLen(1))
	g.Expect(a.keeper.Ledger().Assigned()).To(BeEmpty())
}

func TestAssignment_checksEveryWord(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*agentv1.Assignment){
		"":                        func(*agentv1.Assignment) {},
		"resource_uid":            func(a *agentv1.Assignment) { a.ResourceUid = "" },
		"group_uid":               func(a *agentv1.Assignment) { a.GroupUid = "two words" },
		"logical_port":            func(a *agentv1.Assignment) { a.LogicalPort = strings.Repeat("x", maxText+1) },
		"logical_port with quote": func(a *agentv1.Assignment) { a.LogicalPort = "x\n" },
		"southbound":              func(a *agentv1.Assignment) { a.Southbound = "ptcp:6642" },
		"southbound file":         func(a *agentv1.Assignment) { a.Southbound = "unix:/run/x" },
		"southbound of two":       func(a *agentv1.Assignment) { a.Southbound = "tcp:1.2.3.4:1,tcp:1.2.3.4:2" },
		"southbound by name":      func(a *agentv1.Assignment) { a.Southbound = "tcp:example.com:1" },
		"southbound without port": func(a *agentv1.Assignment) { a.Southbound = "tcp:1.2.3.4:0" },
		"encap_ip":                func(a *agentv1.Assignment) { a.EncapIp = "1.2.3" },
		"encap_ip with zone":      func(a *agentv1.Assignment) { a.EncapIp = "fe80::1%p0" },
	} {
		g := NewWithT(t)
		a := &agentv1.Assignment{
			ResourceUid: "r", GroupUid: "g", Southbound: "ssl:[fd00::2]:16642", LogicalPort: "p", EncapIp: "fd00::5",
		}
		change(a)
		_, err := assignment(a)
		if name == "" {
			g.Expect(err).NotTo(HaveOccurred())
			continue
		}
		field, _, _ := strings.Cut(name, " ")
		g.Expect(err).To(MatchError(HavePrefix(field)), name)
	}
}

func TestAssignment_checksTheRelay(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*agentv1.DHCPRelay){
		"":                         func(*agentv1.DHCPRelay) {},
		"interface":                func(r *agentv1.DHCPRelay) { r.Interface = "" },
		"interface of 16":          func(r *agentv1.DHCPRelay) { r.Interface = "hz-0123456789abc" },
		"interface with slash":     func(r *agentv1.DHCPRelay) { r.Interface = "../x" },
		"logical_port":             func(r *agentv1.DHCPRelay) { r.LogicalPort = "" },
		"logical_port with spaces": func(r *agentv1.DHCPRelay) { r.LogicalPort = "a b" },
		"mac":                      func(r *agentv1.DHCPRelay) { r.Mac = "relay" },
		"mac of many":              func(r *agentv1.DHCPRelay) { r.Mac = "ff:ff:ff:ff:ff:ff" },
		"server":                   func(r *agentv1.DHCPRelay) { r.Server = "dhcp.example.com" },
		"server of the DPU":        func(r *agentv1.DHCPRelay) { r.Server = "127.0.0.1" },
		"server for all":           func(r *agentv1.DHCPRelay) { r.Server = "255.255.255.255" },
		"link_address":             func(r *agentv1.DHCPRelay) { r.LinkAddress = "" },
		"link_address of IPv6":     func(r *agentv1.DHCPRelay) { r.LinkAddress = "fd00::1" },
		"address":                  func(r *agentv1.DHCPRelay) { r.Address = "" },
		"address of IPv6":          func(r *agentv1.DHCPRelay) { r.Address = "fd00::1" },
	} {
		g := NewWithT(t)
		r := &agentv1.DHCPRelay{
			Interface: "hz-0123456789ab", LogicalPort: "relay-1", Mac: "02:FE:00:00:00:05", Address: "169.254.128.5",
			Server: "172.18.0.3", LinkAddress: "10.10.10.1",
		}
		change(r)
		to, err := assignment(&agentv1.Assignment{
			ResourceUid: "r", GroupUid: "g", Southbound: "tcp:172.18.0.2:16642", LogicalPort: "p", EncapIp: "172.18.0.5", DhcpRelay: r,
		})
		if name == "" {
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(to.Network.Relay.MAC).To(Equal("02:fe:00:00:00:05"), "as the kernel writes it")
			continue
		}
		field, _, _ := strings.Cut(name, " ")
		g.Expect(err).To(MatchError(HavePrefix("dhcp_relay."+field)), name)
	}
	g := NewWithT(t)
	_, err := dhcpRelay(&agentv1.DHCPRelay{
		Interface: "hz", LogicalPort: "relay-1", Mac: "02:fe:00:00:00:05", Server: "fd00::3", LinkAddress: "fd10::1",
	})
	g.Expect(err).NotTo(HaveOccurred(), "of IPv6 alone")
}

func TestAdmitRelay_leavesTheDPUItsInterfaces(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a := &Agent{options: Options{Uplinks: []string{"p0"}, HostPorts: []string{"pf*hpf", "*x"}}}
	for _, name := range []string{"p0", "pf0hpf", "lo", vswitch.TransportBridge, vswitch.IntegrationBridge} {
		g.Expect(grpcstatus.Code(a.admitRelay(ledger.Relay{Interface: name}))).To(Equal(codes.InvalidArgument), name)
	}
	g.Expect(a.admitRelay(ledger.Relay{Interface: "hz-1"})).To(Succeed())
	g.Expect(a.admitRelay(ledger.Relay{})).To(Succeed())
}

func TestAssignment_missing(t *testing.T) {
	t.Parallel()
	_, err := assignment(nil)
	NewWithT(t).Expect(err).To(HaveOccurred())
}

// options are the defaults, changed by flags.
func options(t *testing.T, args ...string) Options {
	t.Helper()
	o, flags := Options{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	NewWithT(t).Expect(flags.Parse(args)).To(Succeed())
	return o
}

func TestOptions_saysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	good := options(t, "--uplink=p0,p1", "--lacp")
	g.Expect(good.Validate()).To(Succeed())
	bad := options(t, "--lacp", "--host-port=[", "--datapath=dpdk")
	g.Expect(bad.Validate()).To(MatchError(And(ContainSubstring("--uplink"), ContainSubstring("--lacp"),
		ContainSubstring("--host-port"), ContainSubstring("--datapath"))))
	twice := options(t, "--uplink=p0,p0", "--host-port=p*", "--datapath=netdev")
	g.Expect(twice.Validate()).To(MatchError(And(ContainSubstring("named twice"), ContainSubstring("uplink p0 too"))))
}

// Leases that the timer doesn't find, and a controller without a name, are no protection.
func TestOptions_thatTurnAProtectionOffAreRefused(t *testing.T) {
	t.Parallel()
	for arg, says := range map[string]string{
		"--state-dir=": `--state-dir="": must be`, "--state-dir=leases": `--state-dir="leases": must be`,
		"--controller-name=": `--controller-name="": must be`, "--host-port=": `--host-port="": must be`,
		"--min-mtu=0": "--min-mtu=0: must be at least 576 and at most 65535", "--min-mtu=65536": "--min-mtu=65536: must be",
		"--listen=9660": `--listen="9660": must be`, "--metrics-addr=9661": `--metrics-addr="9661": must be`,
	} {
		o := options(t, "--uplink=p0", arg)
		NewWithT(t).Expect(o.Validate()).To(MatchError(HavePrefix(says)))
	}
}
