package provisioner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/dpf/provisioner"
	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

const (
	// asSide makes the test's own program behave as a provisioner.
	asSide   = "BEDPLATE_TEST_AS_SIDE"
	patience = 3 * time.Minute // also where other packages' tests have the CPUs
)

func TestMain(m *testing.M) {
	for _, side := range []provisioner.Side{provisioner.Host, provisioner.DPU} {
		if os.Getenv(asSide) == side.Name {
			if err := provisioner.Command(side).ExecuteContext(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, "Error:", err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

// world has pairs of host hN and DPU dN in racks of their own, 10.0.(95+N).0/24, and a machine of the host cluster at 192.168.1.10.
type world struct {
	testing.TB
	*WithT
	fabric *fabric.Fabric
	dpus   config.DPU
	hosts  config.Host
}

const machine = "machine"

func newWorld(t testing.TB, pairs int) *world {
	t.Helper()
	toolstest.Programs(t, "ovs-vsctl", "ping")
	w := &world{TB: t, WithT: NewWithT(t),
		dpus: config.DPU{
			PerNodeConfig: map[string]config.DPUNode{}, VTEPCIDR: netip.MustParsePrefix("10.0.96.0/20"),
			HostCIDR: netip.MustParsePrefix("192.168.1.0/24"), HostPF0: "eth0", HostNodes: map[string]string{},
		},
		hosts: config.Host{
			PFIPs: map[string]netip.Prefix{}, Gateways: map[string]netip.Addr{}, VTEPCIDR: netip.MustParsePrefix("10.0.96.0/20"), HostPF0: "eth0",
		},
	}
	subnets := []fabric.Subnet{{
		Name: "machines", Gateways: []netip.Prefix{netip.MustParsePrefix("192.168.1.254/24")},
		Servers: []fabric.Server{{Name: machine, Addresses: []netip.Addr{netip.MustParseAddr("192.168.1.10")}}},
	}}
	for n := 1; n <= pairs; n++ {
		host, dpu := fmt.Sprintf("h%d", n), fmt.Sprintf("d%d", n)
		at := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(95 + n), last}) }
		subnets = append(subnets, fabric.Subnet{
			Name: fmt.Sprintf("rack%d", n), Gateways: []netip.Prefix{netip.PrefixFrom(at(254), 24)},
			DPUs: []fabric.DPU{{Name: dpu, Hosts: []fabric.Host{{Name: host, MAC: net.HardwareAddr{2, 0, 0, 0, 0, byte(n)}}}}},
		})
		w.dpus.PerNodeConfig[dpu] = config.DPUNode{VTEPIP: netip.PrefixFrom(at(20), 24), Gateway: at(254)}
		w.dpus.HostNodes[dpu] = host
		w.hosts.PFIPs[host], w.hosts.Gateways[host] = netip.PrefixFrom(at(10), 24), at(254)
	}
	w.fabric = fabrictest.Up(t, fabric.Topology{Subnets: subnets})
	for _, dpu := range w.fabric.Topology().DPUs() {
		w.addBridge(dpu.Name)
		for _, port := range []string{"p0", "pf0hpf"} { // the kernel answers ARP there, besides the userspace datapath
			w.in(dpu.Name, "ip", "link", "set", port, "arp", "off")
		}
	}
	w.write()
	t.Cleanup(func() {
		files, _ := filepath.Glob(w.dir("*") + "/*.log")
		for _, file := range files {
			if data, _ := os.ReadFile(file); t.Failed() {
				t.Logf("%s:\n%s", file, data[max(0, len(data)-3000):])
			}
		}
	})
	return w
}

// dir is a node's own.
func (w *world) dir(node string) string { return w.fabric.RunDir(node) }

// write the configurations, as kubelet does: the file is replaced.
func (w *world) write() {
	w.Helper()
	w.put("dpus.json", w.dpus)
	w.put("hosts.json", w.hosts)
}

func (w *world) put(name string, content any) {
	w.Helper()
	data, err := json.Marshal(content)
	w.Expect(err).NotTo(HaveOccurred())
	w.putText(name, string(data))
}

func (w *world) putText(name, text string) {
	w.Helper()
	w.Expect(os.WriteFile(w.dir(name)+".new", []byte(text), 0o600)).To(Succeed())
	w.Expect(os.Rename(w.dir(name)+".new", w.dir(name))).To(Succeed())
}

func (w *world) in(node string, command ...string) string {
	w.Helper()
	output, err := w.fabric.Command(w.Context(), node, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		w.Fatalf("%s: %v: %v\n%s", node, command, err, output)
	}
	return strings.TrimSpace(string(output))
}

func (w *world) vsctl(dpu string, args ...string) string {
	w.Helper()
	return w.in(dpu, append([]string{"ovs-vsctl", "--db=unix:" + w.fabric.Database(dpu)}, args...)...)
}

func (w *world) addBridge(dpu string) {
	w.Helper()
	w.vsctl(dpu, "add-br", provisioner.Bridge, "--", "set", "bridge", provisioner.Bridge, "datapath_type=netdev", "--",
		"add-port", provisioner.Bridge, "p0", "--", "add-port", provisioner.Bridge, "pf0hpf")
}

// cleanUp returns what the command says.
func (w *world) cleanUp(node string) string {
	w.Helper()
	c := w.command(node, "clean-up")
	command := w.fabric.Command(w.Context(), node, c.Path, c.Args...)
	command.Env = append(os.Environ(), c.Env...)
	output, _ := command.CombinedOutput()
	return string(output)
}

// id is a setting of Open vSwitch, "" if there is none.
func (w *world) id(dpu, key string) string {
	return strings.Trim(w.vsctl(dpu, "--if-exists", "get", "open", ".", "external_ids:"+key), `"`)
}

func (w *world) command(node string, args ...string) process.Command {
	w.Helper()
	self, err := os.Executable()
	w.Expect(err).NotTo(HaveOccurred())
	side, file := provisioner.Host.Name, "hosts.json"
	if node[0] == 'd' {
		side, file = provisioner.DPU.Name, "dpus.json"
		args = append(args, "--ovs-db=unix:"+w.fabric.Database(node))
	}
	w.Expect(os.MkdirAll(w.dir(node), 0o700)).To(Succeed())
	return process.Command{
		Name: side + " of " + node, Path: self, Env: []string{asSide + "=" + side, "NODE_NAME=" + node}, Log: w.dir(node) + "/provisioner.log",
		Args: append(args, "--config="+w.dir(file), "--state-dir="+w.dir(node)+"/state", "--interval=200ms"),
	}
}

func (w *world) start(node string) *process.Process {
	w.Helper()
	started, err := w.fabric.Start(node, w.command(node))
	w.Expect(err).NotTo(HaveOccurred())
	return started
}

// startAll of them, until they are ready.
func (w *world) startAll() {
	w.Helper()
	for node := range w.hosts.PFIPs {
		w.start(node)
	}
	for node := range w.dpus.PerNodeConfig {
		w.start(node)
	}
	for node := range w.hosts.PFIPs {
		w.untilReady(node)
	}
	for node := range w.dpus.PerNodeConfig {
		w.untilReady(node)
	}
}

func (w *world) untilReady(node string) {
	w.Helper()
	w.Eventually(func() string { return w.problem(node) }).WithTimeout(patience).Should(BeEmpty())
}

// problem is what the readiness probe hears: "" if all is well.
func (w *world) problem(node string) string { return w.answer(node, "9441") }

// answer of the one that listens at a port.
func (w *world) answer(node, port string) string {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (connection net.Conn, err error) {
			err = w.fabric.Do(node, func() error { // a socket stays where it was made
				connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
				return err
			})
			return connection, err
		}}}
	answer, err := client.Get("http://127.0.0.1:" + port + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return fmt.Sprintf("%d: %s", answer.StatusCode, text)
	}
	return ""
}

func (w *world) pings(from, to string) func() bool {
	return func() bool {
		return w.fabric.Command(w.Context(), from, "ping", "-c1", "-W1", "-n", to).Run() == nil
	}
}

func (w *world) untilPings(from, to string) {
	w.Helper()
	w.Eventually(w.pings(from, to)).WithTimeout(patience).Should(BeTrue(), "%s to %s", from, to)
}

// network of a node: addresses and routes, without those of the kernel's own, and links.
//
// ip opens all named network namespaces to name the other end of a link. If another test is just making or removing one, it prints an error
// ("Peer netns reference is invalid"), and all links.
func (w *world) network(node string) string {
	return w.in(node, "sh", "-c", "ip -o addr show scope global; ip -d route show; ip -o link 2>/dev/null | sed 's/.*: \\([^:]*\\): <\\([^>]*\\)>.*/\\1 \\2/'")
}
