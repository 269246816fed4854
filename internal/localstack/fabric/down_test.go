package fabric_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const makerOf = "BEDPLATE_TEST_FABRIC"

// With makerOf set, the test binary makes a fabric in the folder of that name, says so and waits to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(makerOf); dir != "" {
		if _, err := fabric.Up(context.Background(), dir, filepath.Base(dir), fabric.Routed(2)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_ = os.WriteFile(filepath.Join(dir, "up"), nil, 0o600)
		select {}
	}
	os.Exit(m.Run())
}

// canary puts a cable between a node and this process's namespace. It is gone when the kernel has destroyed the node's: an
// open socket or a thread that stayed there would keep it.
func canary(t testing.TB, prefix, node string) (alive func() bool) {
	t.Helper()
	g := NewWithT(t)
	name := fabric.RandomPrefix("hz")
	there, err := netns.GetFromName(prefix + "-" + node)
	g.Expect(err).NotTo(HaveOccurred())
	defer there.Close()
	veth := netlink.NewVeth(netlink.LinkAttrs{Name: name})
	veth.PeerName, veth.PeerNamespace = "canary", netlink.NsFd(int(there))
	g.Expect(netlink.LinkAdd(veth)).To(Succeed())
	return func() bool {
		_, err := netlink.LinkByName(name)
		return err == nil
	}
}

func expectGone(t testing.TB, prefix string, canaries ...func() bool) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(namespace.List(prefix)).To(BeEmpty())
	for _, alive := range canaries {
		g.Eventually(alive).WithTimeout(30 * time.Second).Should(BeFalse())
	}
}

func TestDown_leavesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fabrictest.Require(t)
	prefix := fabric.RandomPrefix("hz")
	f, err := fabric.Up(t.Context(), fabrictest.Dir(t), prefix, fabric.TwoPorts(1))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = fabric.Down(prefix) })
	var canaries []func() bool
	for _, node := range f.Topology().Nodes() {
		canaries = append(canaries, canary(t, prefix, node))
	}

	// Everything that could hold on to a namespace, as well as a daemon that left its parent.
	_, err = f.Serve(fabric.DC, port)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.Stream(t.Context(), probe.Probe{From: fabric.Control, Protocol: probe.TCP, To: netip.AddrPortFrom(dc, port)})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.Forward("host1", netip.MustParseAddrPort("127.0.0.1:0"), fabric.DC, netip.AddrPortFrom(dc, port))
	g.Expect(err).NotTo(HaveOccurred())
	sleep := process.Command{Name: "sleep", Path: "sleep", Args: []string{"300"}, Log: filepath.Join(t.TempDir(), "log")}
	_, err = f.Start("host1", sleep)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Command(t.Context(), "host2", "setsid", "-f", "sleep", "300").Run()).To(Succeed())
	var names []string
	for _, node := range f.Topology().Nodes() {
		names = append(names, f.Namespace(node))
	}
	g.Eventually(func() ([]int, error) { return namespace.Processes(names...) }).WithTimeout(30 * time.Second).Should(HaveLen(4)) // two are Open vSwitch
	pids, err := namespace.Processes(names...)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(f.Down()).To(Succeed())
	expectGone(t, prefix, canaries...)
	for _, pid := range pids {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // a zombie that isn't reaped has none
		g.Expect(err).To(MatchError(os.ErrNotExist))
	}
	g.Expect(f.Down()).To(Succeed()) // once more
}

func TestUp_refusesAnothersPrefixAndLeavesItAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Flat(1))
	prefix := f.Namespace("x")[:len(f.Namespace("x"))-2]

	_, err := fabric.Up(t.Context(), fabrictest.Dir(t), prefix, fabric.Flat(1))
	g.Expect(err).To(MatchError(ContainSubstring("there are 6 namespaces of that name")))
	ping(t, f, fabric.Control, dc, 0)
}

func TestUp_cleansUpAfterAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	fabrictest.Require(t)
	prefix, dir := fabric.RandomPrefix("hz"), fabrictest.Dir(t)
	g.Expect(os.MkdirAll(filepath.Join(dir, "dpu2", "conf.db"), 0o700)).To(Succeed()) // where the database has to be

	_, err := fabric.Up(t.Context(), dir, prefix, fabric.Flat(2))
	g.Expect(err).To(MatchError(ContainSubstring("start Open vSwitch on dpu2: make database")))
	expectGone(t, prefix)
}

func TestDown_worksFromThePrefixWhereverTheMakerDied(t *testing.T) {
	t.Parallel()
	for name, died := range map[string]func(dir, prefix string) bool{
		"with some nodes": func(_, prefix string) bool {
			names, _ := namespace.List(prefix)
			return len(names) >= 3
		},
		"with Open vSwitch starting": func(dir, _ string) bool {
			_, err := os.Stat(filepath.Join(dir, "dpu1", "conf.db"))
			return err == nil
		},
		"when all was up": func(dir, _ string) bool {
			_, err := os.Stat(filepath.Join(dir, "up"))
			return err == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			fabrictest.Require(t)
			prefix := fabric.RandomPrefix("hz")
			dir := filepath.Join(fabrictest.Dir(t), prefix)
			maker := exec.Command(os.Args[0])
			maker.Env = append(os.Environ(), makerOf+"="+dir)
			g.Expect(maker.Start()).To(Succeed())
			t.Cleanup(func() { _ = fabric.Down(prefix) })
			g.Eventually(func() bool { return died(dir, prefix) }).
				WithTimeout(60 * time.Second).WithPolling(time.Millisecond).Should(BeTrue())
			alive := canary(t, prefix, fabric.Router)
			g.Expect(maker.Process.Kill()).To(Succeed())
			g.Expect(maker.Wait()).NotTo(Succeed())

			g.Expect(fabric.Down(prefix)).To(Succeed())
			expectGone(t, prefix, alive)
		})
	}
}
