package ovn_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

const patience = 30 * time.Second

// soon is as long as a test waits.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// central is OVN's real databases and ovn-northd, as Debian packages them.
type central struct {
	t     testing.TB
	dir   string
	procs map[string]*process.Process
}

func newCentral(t testing.TB) *central {
	t.Helper()
	toolstest.Programs(t, "ovn-northd")
	dir, err := os.MkdirTemp("", "hz") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	c := &central{t: t, dir: dir, procs: map[string]*process.Process{}}
	t.Cleanup(func() {
		for name := range c.procs {
			c.stop(name)
		}
		os.RemoveAll(dir)
	})
	c.startDatabase("nb")
	c.startDatabase("sb")
	return c
}

func (c *central) path(file string) string     { return filepath.Join(c.dir, file) }
func (c *central) endpoint(name string) string { return "unix:" + c.path(name+".sock") }

// startDatabase starts a server, with an empty database if there is none.
func (c *central) startDatabase(name string) {
	c.t.Helper()
	if _, err := os.Stat(c.path(name + ".db")); err != nil {
		c.run("ovsdb-tool", "create", c.path(name+".db"), "/usr/share/ovn/ovn-"+name+".ovsschema")
	}
	c.start(name, "ovsdb-server", c.path(name+".db"), "--remote=p"+c.endpoint(name))
	NewWithT(c.t).Eventually(func() error { _, err := os.Stat(c.path(name + ".sock")); return err }, patience).Should(Succeed())
}

func (c *central) startNorthd() {
	c.start("northd", "ovn-northd", "--ovnnb-db="+c.endpoint("nb"), "--ovnsb-db="+c.endpoint("sb"))
}

func (c *central) start(name, program string, args ...string) {
	c.t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		c.t.Fatal(err)
	}
	c.procs[name], err = process.Start(process.Command{
		Name: name, Path: path, Args: append(args, "--unixctl="+c.path(name+".ctl"), "-vconsole:off"),
		Env: []string{"OVS_RUNDIR=" + c.dir, "OVN_RUNDIR=" + c.dir}, Log: c.path(name + ".log"),
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *central) stop(name string) {
	if p := c.procs[name]; p != nil {
		p.Kill()
		delete(c.procs, name)
	}
}

// run returns what a program prints.
func (c *central) run(program string, args ...string) string {
	c.t.Helper()
	out, err := exec.CommandContext(c.t.Context(), program, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// nbctl is the hand of an administrator.
func (c *central) nbctl(args ...string) string {
	c.t.Helper()
	return c.run("ovn-nbctl", append([]string{"--db=" + c.endpoint("nb")}, args...)...)
}

func (c *central) sbctl(args ...string) string {
	c.t.Helper()
	return c.run("ovn-sbctl", append([]string{"--db=" + c.endpoint("sb")}, args...)...)
}

func (c *central) northbound() *ovn.Northbound {
	c.t.Helper()
	n, err := ovn.DialNorthbound(c.t.Context(), c.endpoint("nb"), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(n.Close)
	return n
}

func (c *central) southbound() *ovn.Southbound {
	c.t.Helper()
	s, err := ovn.DialSouthbound(c.t.Context(), c.endpoint("sb"), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(s.Close)
	return s
}

var blue = topology.Group{
	UID: "0a6e3a5e-0000-4000-8000-000000000001", Name: "blue",
	Networks: []topology.Network{{Prefix: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1")}},
}

// member i of the group, 2 to 250, on a DPU of its own.
func member(i int) topology.Member {
	return topology.Member{
		UID: fmt.Sprintf("7c1f5b52-0000-4000-8000-%012d", i), Name: fmt.Sprintf("host-%d", i),
		HostMAC: fmt.Sprintf("02:00:0a:0a:0a:%02x", i), Chassis: fmt.Sprintf("dpu-%d", i), Access: resourcev1.FabricAccess,
		Addresses: []topology.Address{{
			HostIP: netip.AddrFrom4([4]byte{10, 10, 10, byte(i)}), FabricIP: netip.AddrFrom4([4]byte{172, 18, 1, byte(i)}), FabricBits: 16,
			NextHop: netip.MustParseAddr("172.18.0.1"),
		}},
	}
}

func members(from, to int) []topology.Member {
	var all []topology.Member
	for i := from; i <= to; i++ {
		all = append(all, member(i))
	}
	return all
}

func network(t testing.TB, members ...topology.Member) *topology.Topology {
	t.Helper()
	network, err := topology.New(blue, members, topology.Site{})
	if err != nil {
		t.Fatal(err)
	}
	if len(network.Refused) > 0 {
		t.Fatal(network.Refused)
	}
	return network
}
