package dpuagent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/openvswitch"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var errKilled = errors.New("killed")

// node is a DPU with Open vSwitch, on which agents are killed.
type node struct {
	testing.TB
	*WithT
	api      client.WithWatch
	name     string // and namespace
	kind     string // of the ports to hardware
	fabric   *fabric.Fabric
	database *openvswitch.Database
}

// bareNode has no bridge.
func bareNode(t *testing.T) *node {
	t.Helper()
	fabrictest.Require(t)
	toolstest.Programs(t, "ovs-vsctl", "ovs-ofctl")
	n := &node{TB: t, WithT: NewWithT(t), api: testenv.Client(t), name: testenv.Namespace(t)}
	n.fabric = fabrictest.Up(t, fabric.Topology{Subnets: []fabric.Subnet{{Name: "rack", DPUs: []fabric.DPU{{Name: "dpu"}}}}})
	var err error
	n.database, err = openvswitch.New("unix:"+n.fabric.Database("dpu"), func() {})
	n.Expect(err).NotTo(HaveOccurred())
	n.database.Connect(t.Context())
	t.Cleanup(n.database.Close)
	return n
}

// newNode has a bridge with a port of a service's pod, as the CNI has made it.
func newNode(t *testing.T) *node {
	t.Helper()
	n := bareNode(t)
	n.vsctl("add-br", "br-sfc", "--", "set", "bridge", "br-sfc", "datapath_type=netdev", "--",
		"add-port", "br-sfc", "svc", "--", "set", "interface", "svc", "type=internal", `external_ids:dpf-id="`+n.name+`/pod/net1"`)
	n.made(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Labels: map[string]string{svcv1.ServiceIDLabel: "svc"}},
		Spec:       corev1.PodSpec{NodeName: n.name, Containers: []corev1.Container{{Name: "a", Image: "example.com/a"}}},
	})
	return n
}

func (n *node) vsctl(args ...string) string {
	n.Helper()
	output, err := exec.Command("ovs-vsctl", append([]string{"--db=unix:" + n.fabric.Database("dpu")}, args...)...).CombinedOutput()
	n.Expect(err).NotTo(HaveOccurred(), "%s", output)
	return strings.TrimSpace(string(output))
}

func (n *node) made(o client.Object) {
	n.Helper()
	o.SetNamespace(n.name)
	n.Expect(n.api.Create(n.Context(), o)).To(Succeed())
}

// death of an agent: at a write to the API server, counted from 0, before or after it is done; or between ports and flows.
type death struct {
	write int
	after bool
	flows bool
}

// reconcile with an agent that has no predecessor's memory, and reports whether it was killed.
func (n *node) reconcile(at *death) (killed bool) {
	n.Helper()
	count, program := 0, "ovs-ofctl"
	patch := func(do func() error) error {
		count++
		if at == nil || at.flows || count-1 < at.write {
			return do()
		}
		first := !killed
		killed = true
		if first && at.after {
			n.Expect(do()).To(Succeed())
		}
		return errKilled // nor does it write anything later
	}
	if at != nil && at.flows {
		program = "/bin/false"
	}
	c := interceptor.NewClient(n.api, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return patch(func() error { return c.Patch(ctx, o, p, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			return patch(func() error { return c.SubResource(name).Patch(ctx, o, p, options...) })
		},
	})
	a := &agent{
		Client: c, cache: n.api, config: Config{Node: n.name, DatapathType: "netdev", InterfaceType: n.kind, Interval: time.Second}, database: n.database,
		flows: &flows{program: program, dir: n.fabric.RunDir("dpu")},
	}
	_, err := a.Reconcile(n.Context(), reconcile.Request{})
	if at != nil && at.flows {
		n.Expect(err).To(HaveOccurred())
		return true
	}
	if !killed {
		n.Expect(err).NotTo(HaveOccurred())
	}
	return killed
}

// write what makes an agent busy.
func (n *node) write() {
	n.Helper()
	for name, spec := range map[string]svcv1.ServiceInterfaceSpec{
		"svc": {InterfaceType: svcv1.InterfaceService, Service: &svcv1.ServiceDef{ServiceID: "svc", InterfaceName: "net1"}},
		"p0":  {InterfaceType: svcv1.InterfacePhysical, Physical: &svcv1.Physical{InterfaceName: "p0"}},
		"vf":  {InterfaceType: svcv1.InterfaceVF, VF: &svcv1.VF{PFID: ptr.To[int32](0), VFID: ptr.To[int32](1)}}, // there is none
	} {
		spec.Node = n.name
		n.made(&svcv1.ServiceInterface{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"if": name}}, Spec: spec})
	}
	port := func(name string) svcv1.Port {
		return svcv1.Port{ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"if": name}}}
	}
	n.made(&svcv1.ServiceChain{ObjectMeta: metav1.ObjectMeta{Name: "chain"}, Spec: svcv1.ServiceChainSpec{
		Node: n.name, Switches: []svcv1.Switch{{Ports: []svcv1.Port{port("svc"), port("p0")}}},
	}})
}

// state of the DPU and of the objects, without what differs from one life to the next.
func (n *node) state() string {
	n.Helper()
	var said strings.Builder
	fmt.Fprintln(&said, n.vsctl("list-ports", "br-sfc"), n.vsctl("get", "bridge", "br-sfc", "fail_mode"))
	flows, err := (&flows{program: "ovs-ofctl", dir: n.fabric.RunDir("dpu")}).dump(n.Context())
	n.Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(flows) {
		fmt.Fprintln(&said, strings.Count(line, "in_port"), strings.Count(line, "output"))
	}
	var interfaces svcv1.ServiceInterfaceList
	var chains svcv1.ServiceChainList
	n.Expect(n.api.List(n.Context(), &interfaces, client.InNamespace(n.name))).To(Succeed())
	n.Expect(n.api.List(n.Context(), &chains, client.InNamespace(n.name))).To(Succeed())
	show := func(o svcv1.Object) {
		fmt.Fprintln(&said, o.GetName(), o.GetFinalizers(), o.GetDeletionTimestamp())
		for _, c := range o.GetStatus().Conditions {
			fmt.Fprintln(&said, " ", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for i := range interfaces.Items {
		show(&interfaces.Items[i])
	}
	for i := range chains.Items {
		show(&chains.Items[i])
	}
	return said.String()
}

func (n *node) deleteAll() {
	n.Helper()
	for _, kind := range []client.Object{&svcv1.ServiceInterface{}, &svcv1.ServiceChain{}} {
		n.Expect(n.api.DeleteAllOf(n.Context(), kind, client.InNamespace(n.name))).To(Succeed())
	}
}

// Whichever write of an agent is its last one, its successor gets to the same state.
func TestCrash_atEveryWrite(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.reconcile(nil)
	nothing := n.state()
	n.write()
	n.reconcile(nil)
	whole := n.state()
	n.Expect(whole).To(And(ContainSubstring("chain [svc.dpu.nvidia.com/servicechain]"), ContainSubstring("Ready True"), ContainSubstring("No such device")))
	points := 0
	for _, creating := range []bool{true, false} {
		deaths := []death{{flows: true}}
		for i := 0; i < len(deaths); i++ {
			n.deleteAll()
			n.reconcile(nil)
			n.Expect(n.state()).To(Equal(nothing))
			n.write()
			wanted := whole
			if !creating {
				n.reconcile(nil)
				n.deleteAll()
				wanted = nothing
			}
			killed := n.reconcile(&deaths[i])
			n.reconcile(nil)
			n.Expect(n.state()).To(Equal(wanted), "%+v, creating: %t", deaths[i], creating)
			if killed {
				points++
			}
			switch last := deaths[i]; {
			case last.flows:
				deaths = append(deaths, death{})
			case killed && !last.after:
				deaths = append(deaths, death{write: last.write, after: true})
			case killed:
				deaths = append(deaths, death{write: last.write + 1})
			}
		}
	}
	t.Logf("killed at %d points", points)
	n.Expect(points).To(BeNumerically(">", 20))
}
