package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

const patience = 3 * time.Minute // also where other packages' tests have the CPUs

func TestMain(m *testing.M) { testenv.Program(main); testenv.Main(m) }

// world is one DPU, whose node has the name of the test's namespace, and what is behind its ports: hN at pf(N-1)hpf, with the address
// 10.1.0.N. They stand for hosts, and for pods of services.
type world struct {
	testing.TB
	*WithT
	client.Client
	namespace string
	fabric    *fabric.Fabric
	agent     *process.Process
}

const dpu = "dpu"

func newWorld(t testing.TB, hosts int) *world {
	t.Helper()
	fabrictest.Require(t)
	toolstest.Programs(t, "ovs-vsctl", "ovs-ofctl", "ping")
	w := &world{TB: t, WithT: NewWithT(t), Client: testenv.Client(t), namespace: testenv.Namespace(t)}
	d := fabric.DPU{Name: dpu}
	for n := 1; n <= hosts; n++ {
		d.Hosts = append(d.Hosts, fabric.Host{Name: fmt.Sprintf("h%d", n), MAC: net.HardwareAddr{2, 0, 0, 0, 1, byte(n)}})
	}
	w.fabric = fabrictest.Up(t, fabric.Topology{Subnets: []fabric.Subnet{{
		Name: "rack", Gateways: []netip.Prefix{netip.MustParsePrefix("172.18.0.1/24")}, DPUs: []fabric.DPU{d},
	}}})
	for _, h := range d.Hosts {
		w.in(h.Name, "ip", "addr", "add", ip(h.Name)+"/24", "dev", "eth0")
	}
	t.Cleanup(func() {
		for _, file := range []string{"agent.log", "ovs-vswitchd.log"} {
			if data, _ := os.ReadFile(w.dir(file)); t.Failed() {
				t.Logf("%s:\n%s", file, data[max(0, len(data)-4000):])
			}
		}
	})
	return w
}

func ip(host string) string { return "10.1.0." + strings.TrimPrefix(host, "h") }

func (w *world) dir(file string) string { return filepath.Join(w.fabric.RunDir(dpu), file) }

func (w *world) in(node string, command ...string) string {
	w.Helper()
	output, err := w.fabric.Command(w.Context(), node, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		w.Fatalf("%s: %v: %v\n%s", node, command, err, output)
	}
	return strings.TrimSpace(string(output))
}

func (w *world) vsctl(args ...string) string {
	w.Helper()
	return w.in(dpu, append([]string{"ovs-vsctl", "--db=unix:" + w.fabric.Database(dpu)}, args...)...)
}

func (w *world) ofctl(args ...string) string {
	w.Helper()
	return w.in(dpu, append([]string{"ovs-ofctl", "-OOpenFlow14", args[0], "unix:" + w.dir("br-sfc.mgmt")}, args[1:]...)...)
}

// start the agent. It works outside of the DPU's namespace: sockets are all that it needs.
func (w *world) start() { w.agent = w.startAs("agent", testenv.Kubeconfig(w.TB)) }

func (w *world) startAs(name, kubeconfig string, args ...string) *process.Process {
	w.Helper()
	agent, err := w.fabric.Start(fabric.Root, process.Command{
		Name: name, Path: os.Args[0], Env: []string{testenv.AsProgram, "NODE_NAME=" + w.namespace}, Log: w.dir(name + ".log"),
		Args: append(args, "--kubeconfig="+kubeconfig, "--ovs-db=unix:"+w.fabric.Database(dpu), "--ovs-rundir="+w.fabric.RunDir(dpu),
			"--health-addr=127.0.0.1:0", "--metrics-addr=0", "--interval=500ms", "--poll-interval=1s"),
	})
	w.Expect(err).NotTo(HaveOccurred())
	return agent
}

// made writes an object.
func (w *world) made(o client.Object) {
	w.Helper()
	o.SetNamespace(w.namespace)
	w.Expect(w.Create(w.Context(), o)).To(Succeed())
}

// ifc writes a ServiceInterface, which has a label of its name.
func (w *world) ifc(name string, spec ServiceInterfaceSpec) *ServiceInterface {
	w.Helper()
	spec.Node = w.namespace
	i := &ServiceInterface{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"if": name}}, Spec: spec}
	w.made(i)
	return i
}

// service writes the ServiceInterface of a service of the same name.
func (w *world) service(name string) *ServiceInterface {
	w.Helper()
	return w.ifc(name, ServiceInterfaceSpec{InterfaceType: InterfaceService, Service: &ServiceDef{ServiceID: name, InterfaceName: "net1"}})
}

func physical(port string) ServiceInterfaceSpec {
	return ServiceInterfaceSpec{InterfaceType: InterfacePhysical, Physical: &Physical{InterfaceName: port}}
}

func vlan(id int32, port string) ServiceInterfaceSpec {
	return ServiceInterfaceSpec{InterfaceType: InterfaceVLAN, VLAN: &VLAN{VLANID: id, ParentInterfaceRef: port}}
}

// chain of switches, each of ServiceInterfaces.
func (w *world) chain(name string, switches ...[]string) *ServiceChain {
	w.Helper()
	c := &ServiceChain{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: ServiceChainSpec{Node: w.namespace, Switches: switchesOf(switches...)}}
	w.made(c)
	return c
}

func switchesOf(switches ...[]string) (all []Switch) {
	for _, names := range switches {
		s := Switch{}
		for _, each := range names {
			s.Ports = append(s.Ports, Port{ServiceInterface: ServiceIfc{MatchLabels: map[string]string{"if": each}}})
		}
		all = append(all, s)
	}
	return all
}

// pod of a service runs behind a port, as the CNI has connected it.
func (w *world) pod(service, port string) *corev1.Pod {
	w.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: service + "-", Labels: map[string]string{ServiceIDLabel: service}},
		Spec:       corev1.PodSpec{NodeName: w.namespace, Containers: []corev1.Container{{Name: "a", Image: "example.com/a"}}},
	}
	w.made(p)
	w.vsctl("--may-exist", "add-br", "br-sfc", "--", "set", "bridge", "br-sfc", "datapath_type=netdev", "--", "add-port", "br-sfc", port, "--",
		"set", "interface", port, fmt.Sprintf(`external_ids:dpf-id="%s/%s/net1"`, w.namespace, p.Name))
	return p
}

// condition as "status reason: message".
func (w *world) condition(o Object, kind string) string {
	object := o.(client.Object)
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(o.GetStatus().Conditions, kind)
	if c == nil {
		return "none"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message))
}

func (w *world) untilReady(all ...Object) {
	w.Helper()
	for _, o := range all {
		w.Eventually(func() string { return w.condition(o, ReadyCondition) }).WithTimeout(patience).Should(Equal("True Success"), o.GetName())
	}
}

func (w *world) untilSays(o Object, what string) {
	w.Helper()
	w.Eventually(func() string { return w.condition(o, ReadyCondition) }).WithTimeout(patience).Should(Equal(what), o.GetName())
}

func (w *world) pings(from, to string) func() bool {
	return func() bool { return w.fabric.Command(w.Context(), from, "ping", "-c1", "-W1", "-n", to).Run() == nil }
}

func (w *world) untilPings(from, to string) {
	w.Helper()
	w.Eventually(w.pings(from, ip(to))).WithTimeout(patience).Should(BeTrue(), "%s to %s", from, to)
}
