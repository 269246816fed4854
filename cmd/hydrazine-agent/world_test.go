package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Program(main); os.Exit(m.Run()) }

// world is a fabric of one subnet with DPUs, hosts behind them, and OVN's central.
type world struct {
	testing.TB
	*WithT
	fabric  *fabric.Fabric
	central string // its southbound database, as DPUs know it
}

const (
	centralNode = "ctl"
	centralIP   = "172.18.0.2"
)

// newWorld has DPUs of these numbers of hosts, which are called h2, h3, and so on, and of uplinks.
func newWorld(t testing.TB, dpus ...fabric.DPU) *world {
	t.Helper()
	return newWorldOn(t, rack(dpus...))
}

// rack is the only subnet of a world.
func rack(dpus ...fabric.DPU) fabric.Subnet {
	return fabric.Subnet{
		Name: "rack", Gateways: []netip.Prefix{netip.MustParsePrefix("172.18.0.1/24")}, DPUs: dpus,
		Servers: []fabric.Server{{Name: centralNode, Addresses: []netip.Addr{netip.MustParseAddr(centralIP)}}},
	}
}

func newWorldOn(t testing.TB, subnet fabric.Subnet) *world {
	t.Helper()
	needOVN(t)
	f := fabrictest.Up(t, fabric.Topology{Subnets: []fabric.Subnet{subnet}})
	w := &world{TB: t, WithT: NewWithT(t), fabric: f, central: "tcp:" + centralIP + ":6642"}
	w.SetDefaultEventuallyTimeout(patience)
	t.Cleanup(func() {
		if t.Failed() {
			w.logs()
		}
	})
	w.startCentral()
	for _, host := range f.Topology().Hosts() {
		at := netip.PrefixFrom(netip.MustParseAddr(address(host.Name)), 24)
		w.Expect(f.Configure(host.Name, at, netip.MustParseAddr("10.10.10.1"))).To(Succeed())
		w.nb("lsp-add", "ls", host.Name, "--", "lsp-set-addresses", host.Name, fmt.Sprintf("%s %s", host.MAC, at.Addr()))
	}
	return w
}

// hostsBehind describes DPU N with its uplinks, and hosts N behind it.
func hostsBehind(n, uplinks int, hosts ...int) fabric.DPU {
	d := fabric.DPU{
		Name: fmt.Sprintf("dpu%d", n), NICs: uplinks, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{172, 18, 0, byte(4 + n)})},
	}
	for _, host := range hosts {
		mac := net.HardwareAddr{2, 0, 10, 10, 10, byte(host)}
		d.Hosts = append(d.Hosts, fabric.Host{Name: fmt.Sprintf("h%d", host), MAC: mac})
	}
	return d
}

func needOVN(t testing.TB) {
	t.Helper()
	fabrictest.Require(t)
	toolstest.Programs(t, "ovn-controller", "ovn-northd", "ovn-nbctl", "ping")
}

// logs shows the ends of all logs.
func (w *world) logs() {
	files, _ := filepath.Glob(w.fabric.RunDir("*") + "/*.log")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		w.Logf("%s:\n%s", file, data[max(0, len(data)-3000):])
	}
}

func (w *world) run(command ...string) string {
	w.Helper()
	return w.output(exec.Command(command[0], command[1:]...))
}

func (w *world) command(node string, command ...string) *exec.Cmd {
	return w.fabric.Command(w.Context(), node, command[0], command[1:]...)
}

func (w *world) in(node string, command ...string) string {
	w.Helper()
	return w.output(w.command(node, command...))
}

func (w *world) output(cmd *exec.Cmd) string {
	w.Helper()
	output, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%v: %v\n%s", cmd.Args, err, output)
	}
	return string(output)
}

// startCentral starts OVN's central with one logical switch.
func (w *world) startCentral() {
	w.Helper()
	d := w.fabric.RunDir("central")
	w.Expect(os.MkdirAll(d, 0o700)).To(Succeed())
	daemon := func(name, program string, args ...string) {
		_, err := w.fabric.Start(centralNode, process.Command{
			Name: name, Path: program, Log: d + "/" + name + ".log",
			Args: append(args, "--unixctl="+d+"/"+name+".ctl", "--no-chdir", "-vsyslog:off"),
		})
		w.Expect(err).NotTo(HaveOccurred())
	}
	for _, kind := range []string{"nb", "sb"} {
		w.run("ovsdb-tool", "create", d+"/"+kind+".db", "/usr/share/ovn/ovn-"+kind+".ovsschema")
	}
	daemon("nb", "ovsdb-server", d+"/nb.db", "--remote=punix:"+d+"/nb.sock")
	daemon("sb", "ovsdb-server", d+"/sb.db", "--remote=punix:"+d+"/sb.sock", "--remote=ptcp:6642:"+centralIP)
	w.Eventually(func() error { return exec.Command("ovn-nbctl", "--db=unix:"+d+"/nb.sock", "init").Run() }).
		WithTimeout(patience).Should(Succeed())
	daemon("northd", "ovn-northd", "--ovnnb-db=unix:"+d+"/nb.sock", "--ovnsb-db=unix:"+d+"/sb.sock")
	w.nb("ls-add", "ls", "--", "acl-add", "ls", "from-lport", "1", "ip4", "allow-related")
}

func (w *world) nb(args ...string) string {
	w.Helper()
	return w.run(append([]string{"ovn-nbctl", "--db=unix:" + w.fabric.RunDir("central") + "/nb.sock"}, args...)...)
}

// pings reports whether one host gets an answer from another one, which may take a moment after a change.
func (w *world) pings(from, to string) func() bool {
	return func() bool {
		return w.command(from, "ping", "-c1", "-W1", "-n", address(to)).Run() == nil
	}
}

// reaches expects that one host gets an answer from another one. On a busy computer that takes more than one ping.
func (w *world) reaches(from, to string) {
	w.Helper()
	w.Eventually(w.pings(from, to)).WithTimeout(patience).Should(BeTrue(), "%s doesn't reach %s", from, to)
}

func address(host string) string { return "10.10.10." + strings.TrimPrefix(host, "h") }

// stream pings every 10 ms until its result is asked for.
type stream struct {
	*world
	cmd    *exec.Cmd
	output *gbytes.Buffer
}

func (w *world) stream(from, to string) *stream {
	w.Helper()
	s := &stream{world: w, cmd: w.command(from, "ping", "-i0.01", "-n", address(to)), output: gbytes.NewBuffer()}
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	w.Expect(s.cmd.Start()).To(Succeed())
	s.answered()
	return s
}

// answered waits for one more answer: ping has begun, and what was sent since the last change arrives.
func (s *stream) answered() {
	s.Helper()
	before := len(answer.FindAll(s.output.Contents(), -1))
	s.Eventually(func() int { return len(answer.FindAll(s.output.Contents(), -1)) }).WithTimeout(patience).Should(BeNumerically(">", before))
}

var (
	answer  = regexp.MustCompile(`icmp_seq=(\d+) ttl`)
	summary = regexp.MustCompile(`(\d+) packets transmitted`)
)

// end returns how many packets were sent and how many of them had no answer. The answers to the last few may still be on
// their way; when they are more than a few, they are lost too.
func (s *stream) end() (sent, lost int) {
	s.Helper()
	const few = 30
	s.answered()
	s.cmd.Process.Signal(os.Interrupt)
	s.cmd.Wait()
	output := string(s.output.Contents())
	total := summary.FindStringSubmatch(output)
	s.Expect(total).NotTo(BeNil(), output)
	sent, _ = strconv.Atoi(total[1])
	answered, last := map[int]bool{}, 0
	for _, found := range answer.FindAllStringSubmatch(output, -1) {
		number, _ := strconv.Atoi(found[1])
		answered[number], last = true, max(last, number)
	}
	lost = last - len(answered)
	if sent-last > few {
		lost += sent - last
	}
	return sent, lost
}
