package provisioner_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/dpf/provisioner"
	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

func TestProvisioners_connectHostsDPUsAndMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.startAll()
	for _, row := range []struct{ from, to, what string }{
		{"h1", "10.0.96.20", "a host and its DPU, on br-ovn"},
		{"d1", "10.0.96.10", "a DPU and its host"},
		{"h1", "10.0.97.20", "a host and another one's DPU, by the gateway"},
		{"h1", "10.0.97.10", "two hosts"},
		{"d1", "10.0.97.20", "two DPUs"},
		{"d2", "192.168.1.10", "a DPU and a machine of the host cluster"},
		{machine, "10.0.97.20", "and back"},
	} {
		w.Eventually(w.pings(row.from, row.to)).WithTimeout(patience).Should(BeTrue(), row.what)
	}
	w.Expect(w.pings("h1", "192.168.1.10")()).To(BeFalse(), "hosts have no such route")
	w.Expect(w.in("d1", "ip", "route", "show", "192.168.1.0/24")).To(Equal("192.168.1.0/24 via 10.0.96.254 dev br-ovn proto 217 metric 10000"))
	w.Expect(w.in("d1", "ip", "route", "show", "10.0.96.0/20")).To(Equal("10.0.96.0/20 via 10.0.96.254 dev br-ovn proto 217"))
	w.Expect(w.in("h2", "ip", "route", "show", "10.0.96.0/20")).To(Equal("10.0.96.0/20 via 10.0.97.254 dev eth0 proto 217"))
	w.Expect(w.id("d2", "ovn-encap-ip")).To(Equal("10.0.97.20"))
	w.Expect(w.id("d2", "host-k8s-nodename")).To(Equal("h2"))
}

func TestProvisioners_repairWhatOthersBreak(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.startAll()
	w.untilPings("h1", "10.0.96.20")
	was := map[string]string{"h1": w.network("h1"), "d1": w.network("d1")}
	for _, row := range []struct {
		node  string
		wreck []string
	}{
		{"h1", []string{"ip", "addr", "flush", "dev", "eth0"}},
		{"h1", []string{"ip", "route", "del", "10.0.96.0/20"}},
		{"h1", []string{"ip", "link", "set", "eth0", "down"}},
		{"d1", []string{"ip", "link", "set", "br-ovn", "down"}},
		{"d1", []string{"ip", "addr", "del", "10.0.96.20/24", "dev", "br-ovn"}},
		{"d1", []string{"ip", "route", "change", "192.168.1.0/24", "via", "10.0.96.1", "metric", "10000", "proto", "217"}},
	} {
		w.in(row.node, row.wreck...)
		w.Eventually(func() string { return w.network(row.node) }).WithTimeout(patience).Should(Equal(was[row.node]), "%v", row.wreck)
	}
	w.vsctl("d1", "set", "open", ".", "external_ids:ovn-encap-ip=10.9.9.9", "--", "remove", "open", ".", "external_ids", "host-k8s-nodename")
	w.Eventually(func() string { return w.id("d1", "ovn-encap-ip") + w.id("d1", "host-k8s-nodename") }).WithTimeout(patience).Should(Equal("10.0.96.20h1"))
	w.untilPings("h1", "10.0.96.20")
}

func TestProvisioners_outliveOVSVswitchdAndTheBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	again := make(chan error, 8)
	w.fabric.KeepSwitches(func(err error) { again <- err })
	w.startAll()
	w.untilPings("h1", "10.0.96.20")
	w.in("d1", "kill", "-9", w.in("d1", "cat", w.dir("d1")+"/ovs-vswitchd.pid"))
	w.Eventually(again).WithTimeout(patience).Should(Receive())
	w.untilPings("h1", "10.0.96.20")
	w.untilReady("d1")
	// Another bridge of that name has another interface, with nothing of ours.
	w.vsctl("d1", "del-br", provisioner.Bridge)
	w.Eventually(func() string { return w.problem("d1") }).WithTimeout(patience).Should(ContainSubstring("there is no interface br-ovn"))
	w.addBridge("d1")
	w.untilPings("d1", "10.0.96.10") // and so the host learns the bridge's new MAC
	w.untilReady("d1")
}

func TestProvisioners_takeBackWhatTheyMadeAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.vsctl("d1", "set", "open", ".", "external_ids:ovn-encap-ip=10.1.1.1", "external_ids:other=stays")
	w.in("d1", "ip", "addr", "add", "10.8.0.1/24", "dev", "br-ovn")
	w.in("h1", "ip", "route", "add", "10.7.0.0/16", "dev", "lo", "metric", "5")
	before := map[string]string{"h1": w.network("h1"), "d1": w.network("d1")}
	ids := w.vsctl("d1", "get", "open", ".", "external_ids")
	w.startAll()
	// Added meanwhile, in the same network: the kernel would remove it with ours.
	w.in("h1", "ip", "addr", "add", "10.0.96.99/24", "dev", "eth0")
	w.in("d1", "ip", "addr", "add", "10.0.96.98/24", "dev", "br-ovn")
	w.untilPings("h1", "10.0.96.20")

	w.dpus.PerNodeConfig, w.hosts.PFIPs = map[string]config.DPUNode{}, nil
	w.write()
	for _, node := range []string{"h1", "d1"} {
		w.Eventually(func() string { return w.problem(node) }).WithTimeout(patience).Should(
			Equal("503: the configuration doesn't name node " + node + "\n"))
	}
	w.Expect(w.in("h1", "ip", "-o", "addr", "show", "dev", "eth0", "scope", "global")).To(And(
		ContainSubstring("10.0.96.99/24"), Not(ContainSubstring("10.0.96.10/24"))))
	w.in("h1", "ip", "addr", "del", "10.0.96.99/24", "dev", "eth0")
	w.in("d1", "ip", "addr", "del", "10.0.96.98/24", "dev", "br-ovn")
	w.Expect(w.network("h1")).To(Equal(before["h1"]))
	w.Expect(w.in("d1", "ip", "-o", "addr", "show", "dev", "br-ovn", "scope", "global")).To(ContainSubstring("10.8.0.1/24"))
	w.Expect(w.in("d1", "ip", "route", "show", "proto", "217")).To(BeEmpty())
	w.Expect(w.vsctl("d1", "get", "open", ".", "external_ids")).To(Equal(ids))
}

func TestProvisioner_refusesABadConfigurationAndKeepsTheLastGoodOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.startAll()
	good := w.network("h1")
	for _, row := range []struct{ text, says string }{
		{`{`, "can't be read"},
		{`{}`, "vtepCIDR is missing"},
		{`{"pfIPs":{"h1":"10.0.96.10/24"},"gateways":{"h1":"10.0.99.1"},"vtepCIDR":"10.0.96.0/20","hostPF0":"eth0"}`, "h1: the gateway 10.0.99.1"},
	} {
		w.putText("hosts.json", row.text)
		w.Eventually(func() string { return w.problem("h1") }).WithTimeout(patience).Should(
			And(ContainSubstring("hosts.json is refused"), ContainSubstring(row.says)))
	}
	w.in("h1", "ip", "addr", "flush", "dev", "eth0")
	w.Eventually(func() string { return w.network("h1") }).WithTimeout(patience).Should(Equal(good), "it is still repaired")
	w.Expect(os.Remove(w.dir("hosts.json"))).To(Succeed())
	w.Eventually(func() string { return w.problem("h1") }).WithTimeout(patience).Should(ContainSubstring("no such file"))
	w.Consistently(func() string { return w.network("h1") }).Should(Equal(good))
	w.hosts.PFIPs["h1"] = w.hosts.PFIPs["h1"].Masked() // no host's
	w.write()
	w.Eventually(func() string { return w.problem("h1") }).WithTimeout(patience).Should(ContainSubstring("no address of a host"))
	w.hosts.HostPF0, w.hosts.PFIPs["h1"] = "eth7", w.dpus.PerNodeConfig["d1"].VTEPIP
	w.write()
	w.Eventually(func() string { return w.problem("h1") }).WithTimeout(patience).Should(ContainSubstring("there is no interface eth7 on this node"))
	w.Expect(w.network("h1")).To(Equal(good))
}

func TestProvisioner_followsTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.startAll()
	own := w.dpus.PerNodeConfig["d1"]
	own.VTEPIP, own.Gateway = w.hosts.PFIPs["h1"], own.Gateway.Prev()
	w.dpus.PerNodeConfig["d1"] = own
	w.hosts.PFIPs = nil
	w.write()
	w.Eventually(func() string { return w.id("d1", "ovn-encap-ip") }).WithTimeout(patience).Should(Equal("10.0.96.10"))
	w.Eventually(func() string { return w.in("d1", "ip", "-o", "addr", "show", "dev", "br-ovn", "scope", "global") }).WithTimeout(patience).Should(And(
		ContainSubstring("10.0.96.10/24"), Not(ContainSubstring("10.0.96.20/24"))))
	w.untilReady("d1")
	w.Expect(w.in("d1", "ip", "route", "show", "proto", "217")).To(Equal(
		"10.0.96.0/20 via 10.0.96.253 dev br-ovn \n192.168.1.0/24 via 10.0.96.253 dev br-ovn metric 10000"))
}

// Whenever it is killed, the next one goes on, and nothing is left after a clean-up.
func TestProvisioner_killedAtAnyMomentLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	before, ids := w.network("d1"), w.vsctl("d1", "get", "open", ".", "external_ids")
	const rounds, most = 24, 200
	round, partly := 0, 0
	for ; round < rounds || partly == 0 && round < most; round++ { // on a slow computer the first change comes later
		started := w.start("d1")
		time.Sleep(time.Duration(round) * 4 * time.Millisecond)
		w.Expect(syscall.Kill(started.PID(), syscall.SIGKILL)).To(Succeed())
		<-started.Done()
		if now := w.network("d1"); now != before {
			partly++
		}
		if round%2 == 0 { // every other time over what the last one left
			continue
		}
		w.Expect(w.cleanUp("d1")).To(BeEmpty())
		w.Eventually(func() string { return w.network("d1") }).WithTimeout(patience).Should(Equal(before)) // ip's dumps fail beside changes
		w.Expect(w.vsctl("d1", "get", "open", ".", "external_ids")).To(Equal(ids))
	}
	t.Logf("killed %d times, %d of these after the first change", round, partly)
	w.Expect(partly).To(BeNumerically(">", 0))
}

func TestCleanUp_isRefusedWhileTheProvisionerRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.startAll()
	good := w.network("h1")
	w.Expect(w.cleanUp("h1")).To(ContainSubstring("another one runs on this node"))
	w.Expect(w.network("h1")).To(Equal(good))
}

func TestProvisioner_leavesAnotherProgramsRouteAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.in("h1", "ip", "route", "add", "10.0.96.0/20", "dev", "lo")
	w.start("h1")
	w.Eventually(func() string { return w.problem("h1") }).WithTimeout(patience).Should(
		ContainSubstring("there is another route to 10.0.96.0/20 metric 0"))
	w.Expect(w.in("h1", "ip", "route", "show", "10.0.96.0/20")).To(Equal("10.0.96.0/20 dev lo scope link"))
	w.in("h1", "ip", "route", "del", "10.0.96.0/20", "dev", "lo")
	w.untilReady("h1")
}

// stay is a Pod of the clean-up, as the way back starts it: on another port, since a Pod in the node's network could be asked for another one.
func (w *world) stay(node string) *process.Process {
	w.Helper()
	started, err := w.fabric.Start(node, w.command(node, "clean-up", "--stay", "--health-addr=127.0.0.1:9442"))
	w.Expect(err).NotTo(HaveOccurred())
	return started
}

// The way back cleans up after the provisioner: it waits for its end, survives being killed, and is ready when nothing of ours is left. A
// provisioner that merely ends, such as in an update, leaves everything.
func TestCleanUp_thatStaysWaitsForTheProvisionerAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.vsctl("d1", "set", "open", ".", "external_ids:ovn-encap-ip=10.1.1.1")
	w.in("h1", "ip", "route", "add", "10.7.0.0/16", "dev", "lo", "metric", "5")
	before, ids := map[string]string{"h1": w.network("h1"), "d1": w.network("d1")}, w.vsctl("d1", "get", "open", ".", "external_ids")
	provisioners := map[string]*process.Process{"h1": w.start("h1"), "d1": w.start("d1")}
	w.untilReady("h1")
	w.untilReady("d1")
	w.untilPings("h1", "10.0.96.20")
	for _, node := range []string{"h1", "d1"} { // as in an update of its DaemonSet
		set := w.network(node)
		w.Expect(syscall.Kill(provisioners[node].PID(), syscall.SIGTERM)).To(Succeed())
		<-provisioners[node].Done()
		w.Expect(w.network(node)).To(Equal(set))
		provisioners[node] = w.start(node)
		w.untilReady(node)
	}
	for _, node := range []string{"h1", "d1"} {
		set := w.network(node)
		w.stay(node)
		w.Eventually(func() string { return w.answer(node, "9442") }).WithTimeout(patience).Should(ContainSubstring("another one runs on this node"))
		w.Consistently(func() string { return w.network(node) }).Should(Equal(set), "the provisioner still runs")
		w.Expect(syscall.Kill(provisioners[node].PID(), syscall.SIGTERM)).To(Succeed())
		<-provisioners[node].Done()
		w.Eventually(func() string { return w.answer(node, "9442") }).WithTimeout(patience).Should(BeEmpty())
		w.Eventually(func() string { return w.network(node) }).WithTimeout(patience).Should(Equal(before[node])) // ip's dumps fail beside changes
	}
	w.Expect(w.vsctl("d1", "get", "open", ".", "external_ids")).To(Equal(ids))
}

// A clean-up that is killed at any moment is gone on with by the next one.
func TestCleanUp_thatStaysIsKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	before, ids := w.network("d1"), w.vsctl("d1", "get", "open", ".", "external_ids")
	for round := range 8 {
		started := w.start("d1")
		w.untilReady("d1")
		w.Expect(syscall.Kill(started.PID(), syscall.SIGTERM)).To(Succeed())
		<-started.Done()
		killed := w.stay("d1")
		time.Sleep(time.Duration(round) * 10 * time.Millisecond)
		w.Expect(syscall.Kill(killed.PID(), syscall.SIGKILL)).To(Succeed())
		<-killed.Done()
		last := w.stay("d1")
		w.Eventually(func() string { return w.answer("d1", "9442") }).WithTimeout(patience).Should(BeEmpty())
		w.Eventually(func() string { return w.network("d1") }).WithTimeout(patience).Should(Equal(before))
		w.Expect(w.vsctl("d1", "get", "open", ".", "external_ids")).To(Equal(ids))
		w.Expect(syscall.Kill(last.PID(), syscall.SIGTERM)).To(Succeed())
		<-last.Done()
	}
}
