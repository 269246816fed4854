package overlay_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
)

// byHand is the same network without Hydrazine: OVN's and Open vSwitch's own commands, in the order in which an expert
// would type them. It is the baseline that Hydrazine is compared with.
type byHand struct {
	*WithT
	*fabric.Fabric
	t   testing.TB
	dir string // of the central
}

const byHandCentral = 16642 // port of the southbound database

// upByHand starts a central, prepares all DPUs, and writes the network and its router.
func upByHand(t testing.TB, topology fabric.Topology) *byHand {
	t.Helper()
	h := upBare(t, topology)
	h.nb("ls-add ls -- lr-add lr -- lrp-add lr lr-ls 02:00:0a:0a:0a:01 10.10.10.1/24" +
		" -- lsp-add ls ls-lr -- lsp-set-type ls-lr router -- lsp-set-addresses ls-lr router -- lsp-set-options ls-lr router-port=lr-ls")
	return h
}

// upBare starts a central and prepares all DPUs.
func upBare(t testing.TB, topology fabric.Topology) *byHand {
	t.Helper()
	h := &byHand{WithT: NewWithT(t), Fabric: fabrictest.Up(t, topology), t: t, dir: fabrictest.Dir(t)}
	for _, kind := range []string{"nb", "sb"} {
		database := filepath.Join(h.dir, kind+".db")
		h.run(fabric.Control, "ovsdb-tool", "create", database, "/usr/share/ovn/ovn-"+kind+".ovsschema")
		remotes := []string{"--remote=punix:" + filepath.Join(h.dir, kind+".sock")}
		if kind == "sb" {
			remotes = append(remotes, fmt.Sprintf("--remote=ptcp:%d:0.0.0.0", byHandCentral))
		}
		h.daemon(fabric.Control, h.dir, kind, append([]string{"ovsdb-server", database}, remotes...)...)
	}
	h.daemon(fabric.Control, h.dir, "northd", "ovn-northd",
		"--ovnnb-db=unix:"+filepath.Join(h.dir, "nb.sock"), "--ovnsb-db=unix:"+filepath.Join(h.dir, "sb.sock"))
	h.nb("init")
	h.sb("init")
	for _, dpu := range topology.DPUs() {
		h.prepare(dpu)
	}
	return h
}

func (h *byHand) daemon(node, dir, name string, command ...string) {
	h.t.Helper()
	command = append(command, "--unixctl="+filepath.Join(dir, name+".ctl"), "--pidfile="+filepath.Join(dir, name+".pid"),
		"--log-file="+filepath.Join(dir, name+".log"), "--detach", "--no-chdir", "-vconsole:off")
	h.run(node, command...)
}

func (h *byHand) run(node string, command ...string) {
	h.t.Helper()
	output, err := h.Command(h.t.Context(), node, command[0], command[1:]...).CombinedOutput()
	h.Expect(err).NotTo(HaveOccurred(), "%s\n%s", strings.Join(command, " "), output)
}

// tool runs a client of a database in this namespace: its socket is a file.
func (h *byHand) tool(command ...string) {
	h.t.Helper()
	output, err := exec.CommandContext(h.t.Context(), command[0], command[1:]...).CombinedOutput()
	h.Expect(err).NotTo(HaveOccurred(), "%s\n%s", strings.Join(command, " "), output)
}

// nb runs commands of ovn-nbctl in one transaction. A plus stands for a space within a word.
func (h *byHand) nb(command string) {
	h.t.Helper()
	words := strings.Fields(command)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "+", " ")
	}
	h.tool(append([]string{"ovn-nbctl", "--db=unix:" + filepath.Join(h.dir, "nb.sock")}, words...)...)
}

func (h *byHand) sb(command string) {
	h.t.Helper()
	h.tool(append([]string{"ovn-sbctl", "--db=unix:" + filepath.Join(h.dir, "sb.sock")}, strings.Fields(command)...)...)
}

func (h *byHand) vs(dpu, command string) {
	h.t.Helper()
	h.tool(append([]string{"ovs-vsctl", "--db=unix:" + h.Database(dpu)}, strings.Fields(command)...)...)
}

// prepare what a DPU has before a host joins, and keeps when it leaves: the bridge of the uplink.
func (h *byHand) prepare(dpu fabric.DPU) {
	h.t.Helper()
	h.vs(dpu.Name, "add-br br-transport -- set bridge br-transport datapath_type=netdev -- add-port br-transport p0")
	h.run(dpu.Name, "ip", "link", "set", "p0", "arp", "off")
	for i := range dpu.Hosts {
		h.run(dpu.Name, "ip", "link", "set", fabric.Port(i), "arp", "off")
	}
	h.run(dpu.Name, "ip", "addr", "flush", "dev", "p0")
	h.run(dpu.Name, "ip", "link", "set", "br-transport", "up")
	for _, address := range dpu.Addresses {
		for _, gateway := range h.Topology().Subnets[0].Gateways {
			if gateway.Contains(address) {
				h.run(dpu.Name, "ip", "addr", "add", netip.PrefixFrom(address, gateway.Bits()).String(), "dev", "br-transport", "nodad")
				h.run(dpu.Name, "ip", "route", "replace", "default", "via", gateway.Addr().String())
			}
		}
	}
}

// join puts the host of a DPU onto the network: what the agent does, then what the manager does.
func (h *byHand) join(index int, ip string) {
	h.t.Helper()
	dpu := h.Topology().DPUs()[index]
	h.connect(dpu, dpu.Hosts[0].Name)
	h.member(index, dpu.Name, dpu.Hosts[0], ip)
}

// connect a DPU to the central, with the logical ports of its hosts: what the agent does.
func (h *byHand) connect(dpu fabric.DPU, logicalPorts ...string) {
	h.t.Helper()
	name, central := dpu.Name, serverOf(h.Topology(), fabric.Control)
	ports := ""
	for i, logical := range logicalPorts {
		ports += fmt.Sprintf(" -- add-port br-int %s -- set interface %s external_ids:iface-id=%s", fabric.Port(i), fabric.Port(i), logical)
	}
	h.vs(name, "add-br br-int -- set bridge br-int datapath_type=netdev fail-mode=secure other-config:disable-in-band=true"+ports+
		" -- set open . external_ids:system-id="+name+" external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip="+dpu.Addresses[0].String()+
		" external_ids:ovn-bridge-mappings=fabric:br-transport external_ids:ovn-remote=tcp:"+fmt.Sprintf("%s:%d", central, byHandCentral))
	controller := h.Command(h.t.Context(), name, "ovn-controller", "unix:"+h.Database(name), "--pidfile="+filepath.Join(h.RunDir(name), "ovn-controller.pid"),
		"--log-file="+filepath.Join(h.RunDir(name), "ovn-controller.log"), "--detach", "--no-chdir", "-vconsole:off")
	controller.Env = append(controller.Environ(), h.Environment(name)...)
	output, err := controller.CombinedOutput()
	h.Expect(err).NotTo(HaveOccurred(), "%s", output)
}

// member writes the rows of a host: its port, and its own way to the fabric.
func (h *byHand) member(index int, chassis string, host fabric.Host, ip string) {
	h.t.Helper()
	first, n := index*4, host.Name
	link := func(last int) string { return fmt.Sprintf("169.254.%d.%d", 64+(first+last)/256, (first+last)%256) }
	mac := func(kind int) string { return fmt.Sprintf("02:00:%02x:00:%02x:%02x", kind, index/256, index%256) }
	router := func(port, peer string) string {
		return fmt.Sprintf(" -- lsp-set-type %s router -- lsp-set-addresses %s router -- lsp-set-options %s router-port=%s", port, port, port, peer)
	}
	// One transaction, so that northd computes once. Its words end at spaces, but for the one within an address.
	addresses := host.MAC.String() + "+" + ip
	h.nb(fmt.Sprintf("lsp-add ls %s -- lsp-set-addresses %s %s -- lsp-set-port-security %s %s", n, n, addresses, n, addresses) +
		fmt.Sprintf(" -- ls-add ts-%s -- lrp-add lr lr-ts-%s %s %s/30 -- lsp-add ts-%s ts-lr-%s", n, n, mac(1), link(1), n, n) + router("ts-lr-"+n, "lr-ts-"+n) +
		fmt.Sprintf(" -- lr-add gr-%s -- set logical_router gr-%s options:chassis=%s", n, n, chassis) +
		fmt.Sprintf(" -- lrp-add gr-%s gr-ts-%s %s %s/30 -- lsp-add ts-%s ts-gr-%s", n, n, mac(2), link(2), n, n) + router("ts-gr-"+n, "gr-ts-"+n) +
		fmt.Sprintf(" -- ls-add ps-%s -- lrp-add gr-%s gr-ps-%s %s %s/24 -- lsp-add ps-%s ps-gr-%s", n, n, n, mac(3), host.FabricIP, n, n) + router("ps-gr-"+n, "gr-ps-"+n) +
		fmt.Sprintf(" -- lsp-add ps-%s ps-ln-%s -- lsp-set-type ps-ln-%s localnet -- lsp-set-addresses ps-ln-%s unknown -- lsp-set-options ps-ln-%s network_name=fabric", n, n, n, n, n) +
		fmt.Sprintf(" -- lr-route-add gr-%s 10.10.10.0/24 %s -- lr-route-add gr-%s 0.0.0.0/0 172.18.0.1", n, link(1), n) +
		fmt.Sprintf(" -- --policy=src-ip lr-route-add lr %s/32 %s", ip, link(2)) +
		fmt.Sprintf(" -- lr-nat-add gr-%s snat %s 10.10.10.0/24 -- lr-nat-add gr-%s dnat %s %s", n, host.FabricIP, n, host.FabricIP, ip))
}

// leave takes the host of a DPU off the network.
func (h *byHand) leave(index int, ip string) {
	h.t.Helper()
	dpu := h.Topology().DPUs()[index]
	controls, err := filepath.Glob(filepath.Join(h.RunDir(dpu.Name), "ovn-controller.*.ctl"))
	h.Expect(err).NotTo(HaveOccurred())
	h.Expect(controls).To(HaveLen(1))
	h.tool("ovs-appctl", "-t", controls[0], "exit")
	h.Eventually(controls[0]).WithTimeout(patience).ShouldNot(BeAnExistingFile())
	h.vs(dpu.Name, "del-br br-int")
	n := dpu.Hosts[0].Name
	h.nb(fmt.Sprintf("lsp-del %s -- lr-route-del lr %s/32 -- lrp-del lr-ts-%s -- ls-del ts-%s -- lr-del gr-%s -- ls-del ps-%s", n, ip, n, n, n, n))
	h.sb("--if-exists chassis-del " + dpu.Name)
	h.nb("--wait=sb sync")
}
