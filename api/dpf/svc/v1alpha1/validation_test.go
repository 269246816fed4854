package v1alpha1_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// refusal is a change that the API server has to answer with a message; "" means that it takes it.
type refusal[T client.Object] struct {
	name    string
	change  func(T)
	message string
}

func checkCreate[T client.Object](t *testing.T, valid func() T, refusals []refusal[T]) {
	t.Helper()
	namespace := testenv.Namespace(t)
	for _, row := range refusals {
		object := valid()
		object.SetNamespace(namespace)
		testenv.Created(t, row.name, object, row.change, row.message)
	}
}

func checkUpdate[T client.Object](t *testing.T, valid func() T, refusals []refusal[T]) {
	t.Helper()
	namespace := testenv.Namespace(t)
	for _, row := range refusals {
		object := valid()
		object.SetNamespace(namespace)
		testenv.Updated(t, row.name, object, row.change, row.message)
	}
}

func service() *DPUService {
	return &DPUService{Spec: DPUServiceSpec{
		HelmChart: HelmChart{
			Source: ChartSource{RepoURL: "oci://example.com/charts", Chart: "hbn", Version: "1.0.0"},
			Values: &runtime.RawExtension{Raw: []byte(`{"a":{"b":1}}`)},
		},
		ServiceID: "hbn", Interfaces: []string{"p0"},
	}}
}

func TestDPUService_isValidated(t *testing.T) {
	t.Parallel()
	source := func(change func(*ChartSource)) func(*DPUService) {
		return func(s *DPUService) { change(&s.Spec.HelmChart.Source) }
	}
	checkCreate(t, service, []refusal[*DPUService]{
		{"valid", func(*DPUService) {}, ""},
		{"interfaces without a service", func(s *DPUService) { s.Spec.ServiceID = "" }, "interfaces belong to a service"},
		{"no interface", func(s *DPUService) { s.Spec.Interfaces, s.Spec.ServiceID = nil, "" }, ""},
		{"too many interfaces", func(s *DPUService) { s.Spec.Interfaces = strings.Fields(strings.Repeat("x ", 51)) }, "at most 50 items"},
		{"an interface twice", func(s *DPUService) { s.Spec.Interfaces = []string{"a", "a"} }, "Duplicate value"},
		{"in the host cluster, with interfaces", func(s *DPUService) { s.Spec.DeployInCluster = true }, "only services on DPUs have interfaces"},
		{"a service ID that can't be a label", func(s *DPUService) { s.Spec.ServiceID = "a/b" }, "should match"},
		{"http", source(func(c *ChartSource) { c.RepoURL = "http://example.com" }), "should match"},
		{"https", source(func(c *ChartSource) { c.RepoURL = "https://example.com" }), ""},
		{"a registry with a port", source(func(c *ChartSource) { c.RepoURL, c.Chart = "oci://localhost:5000/a_b/charts", "team/hbn" }), ""},
		{"an escaped space", source(func(c *ChartSource) { c.RepoURL = "https://example.com/a%20b/_git/c" }), ""},
		{"a path out of what is permitted", source(func(c *ChartSource) { c.RepoURL = "https://example.com/team/../others/a" }), "lead out of"},
		{"an escaped path out of it", source(func(c *ChartSource) { c.RepoURL = "https://example.com/team/.%2e/others/a" }), "lead out of"},
		{"two escapes out of it", source(func(c *ChartSource) { c.RepoURL = "https://example.com/team%2f%2E%2E%2Fothers/a" }), "lead out of"},
		{"a path out of it at the end", source(func(c *ChartSource) { c.RepoURL = "oci://example.com/team/.." }), "lead out of"},
		{"dots in a name", source(func(c *ChartSource) { c.RepoURL = "https://example.com/.github/a..b/c.git" }), ""},
		{"what can't be parsed", source(func(c *ChartSource) { c.RepoURL = "https://example.com/%zz" }), "should match"},
		{"a user", source(func(c *ChartSource) { c.RepoURL = "https://example.com@example.org/a" }), "should match"},
		{"a query", source(func(c *ChartSource) { c.RepoURL = "https://example.com/a?b" }), "should match"},
		{"another scheme behind the first", source(func(c *ChartSource) { c.RepoURL = "oci://https://example.org/a" }), "should match"},
		{"a slash at the end", source(func(c *ChartSource) { c.RepoURL = "https://example.com/a/" }), ""},
		{"a chart out of its repository", source(func(c *ChartSource) { c.Chart = "../others/a" }), "should match"},
		{"a chart and a path", source(func(c *ChartSource) { c.Path = "charts/a" }), "either the chart"},
		{"a path", source(func(c *ChartSource) { c.Path, c.Chart = "charts/a", "" }), ""},
		{"neither", source(func(c *ChartSource) { c.Chart = "" }), "either the chart"},
		{"no version", source(func(c *ChartSource) { c.Version = "" }), "Required value"},
		{"a long release name", source(func(c *ChartSource) { c.ReleaseName = strings.Repeat("a", 54) }), "Too long"},
		{"values that are none", func(s *DPUService) { s.Spec.HelmChart.Values.Raw = []byte(`"a"`) }, "must be of type object"},
	})
	checkUpdate(t, service, []refusal[*DPUService]{
		{"another version", source(func(c *ChartSource) { c.Version = "2" }), ""},
		{"other interfaces", func(s *DPUService) { s.Spec.Interfaces = []string{"p1"} }, ""},
		{"to the host cluster", func(s *DPUService) { s.Spec.DeployInCluster, s.Spec.Interfaces = true, nil }, "can't move"},
		{"paused", func(s *DPUService) { s.Spec.Paused = true }, ""},
	})
}

func TestDPUService_keepsTheValuesOfItsChart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	s := service()
	s.Namespace, s.Name = testenv.Namespace(t), "a"
	g.Expect(c.Create(t.Context(), s)).To(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
	g.Expect(s.Spec.HelmChart.Values.Raw).To(MatchJSON(`{"a":{"b":1}}`))
}

func ifc() *DPUServiceInterface {
	i := &DPUServiceInterface{}
	i.Spec.Template.Spec.Template.Spec = ServiceInterfaceSpec{
		InterfaceType: InterfaceService, Service: &ServiceDef{ServiceID: "hbn", InterfaceName: "p0_if", Network: "mybrhbn"},
	}
	return i
}

func TestDPUServiceInterface_isAUnion(t *testing.T) {
	t.Parallel()
	is := func(spec ServiceInterfaceSpec) func(*DPUServiceInterface) {
		return func(i *DPUServiceInterface) { i.Spec.Template.Spec.Template.Spec = spec }
	}
	checkCreate(t, ifc, []refusal[*DPUServiceInterface]{
		{"a service's", func(*DPUServiceInterface) {}, ""},
		{"physical", is(ServiceInterfaceSpec{InterfaceType: "physical", Physical: &Physical{InterfaceName: "p0"}}), ""},
		{"vlan", is(ServiceInterfaceSpec{InterfaceType: "vlan", VLAN: &VLAN{VLANID: 4094, ParentInterfaceRef: "p0"}}), ""},
		{"pf 0", is(ServiceInterfaceSpec{InterfaceType: "pf", PF: &PF{ID: ptr.To[int32](0)}}), ""},
		{"vf 0", is(ServiceInterfaceSpec{InterfaceType: "vf", VF: &VF{VFID: ptr.To[int32](0), PFID: ptr.To[int32](0)}}), ""},
		{"ovn", is(ServiceInterfaceSpec{InterfaceType: "ovn"}), ""},
		{"ovn with a bridge", is(ServiceInterfaceSpec{InterfaceType: "ovn", OVN: &OVN{ExternalBridge: "br-x"}}), ""},
		{"no type", is(ServiceInterfaceSpec{Physical: &Physical{InterfaceName: "p0"}}), "interfaceType: Required value"},
		{"another type", is(ServiceInterfaceSpec{InterfaceType: "tap"}), "Unsupported value"},
		{"nothing of the type", is(ServiceInterfaceSpec{InterfaceType: "physical"}), "physical is set for"},
		{"of another type", is(ServiceInterfaceSpec{InterfaceType: "ovn", Physical: &Physical{InterfaceName: "p0"}}), "physical is set for"},
		{"ovn of another type", is(ServiceInterfaceSpec{InterfaceType: "pf", PF: &PF{ID: ptr.To[int32](0)}, OVN: &OVN{}}), "ovn is set for"},
		{"two", is(ServiceInterfaceSpec{InterfaceType: "pf", PF: &PF{ID: ptr.To[int32](0)},
			Physical: &Physical{InterfaceName: "p0"}}), "physical is set for"},
		{"VLAN 4095", is(ServiceInterfaceSpec{InterfaceType: "vlan", VLAN: &VLAN{VLANID: 4095, ParentInterfaceRef: "p0"}}),
			"less than or equal to 4094"},
		{"an interface's name that Linux doesn't take", is(ServiceInterfaceSpec{InterfaceType: "physical",
			Physical: &Physical{InterfaceName: "a/b"}}), "should match"},
		{"a long name", is(ServiceInterfaceSpec{InterfaceType: "physical", Physical: &Physical{InterfaceName: "a234567890123456"}}),
			"Too long"},
		{"a node in a template", func(i *DPUServiceInterface) { i.Spec.Template.Spec.Template.Spec.Node = "n" }, "the set fills in the node"},
	})
	checkUpdate(t, ifc, []refusal[*DPUServiceInterface]{
		{"another type", is(ServiceInterfaceSpec{InterfaceType: "ovn"}), "can't be changed"},
		{"another name in the pod", func(i *DPUServiceInterface) { i.Spec.Template.Spec.Template.Spec.Service.InterfaceName = "p1_if" }, ""},
	})
	on := func() *ServiceInterface {
		return &ServiceInterface{Spec: ServiceInterfaceSpec{Node: "a", InterfaceType: InterfaceOVN}}
	}
	checkUpdate(t, on, []refusal[*ServiceInterface]{
		{"another node", func(i *ServiceInterface) { i.Spec.Node = "b" }, "stays on its node"},
		{"no node", func(i *ServiceInterface) { i.Spec.Node = "" }, "stays on its node"},
	})
}

func chain() *DPUServiceChain {
	c := &DPUServiceChain{}
	c.Spec.Template.Spec.Template.Spec.Switches = []Switch{{Ports: []Port{
		{ServiceInterface: ServiceIfc{MatchLabels: map[string]string{"a": "b"}}},
		{ServiceInterface: ServiceIfc{MatchLabels: map[string]string{"a": "c"}, IPAM: &IPAM{MatchLabels: map[string]string{"p": "q"}}}},
	}}}
	return c
}

func TestDPUServiceChain_isValidated(t *testing.T) {
	t.Parallel()
	spec := func(change func(*ServiceChainSpec)) func(*DPUServiceChain) {
		return func(c *DPUServiceChain) { change(&c.Spec.Template.Spec.Template.Spec) }
	}
	checkCreate(t, chain, []refusal[*DPUServiceChain]{
		{"valid", func(*DPUServiceChain) {}, ""},
		{"no switch", spec(func(s *ServiceChainSpec) { s.Switches = nil }), "Required value"},
		{"no port", spec(func(s *ServiceChainSpec) { s.Switches[0].Ports = nil }), "ports: Required value"},
		{"a port that is any", spec(func(s *ServiceChainSpec) { s.Switches[0].Ports[0].ServiceInterface.MatchLabels = nil }), "Required value"},
		{"the gateway's address, with a route by it", spec(func(s *ServiceChainSpec) {
			s.Switches[0].Ports[1].ServiceInterface.IPAM.DefaultGateway, s.Switches[0].Ports[1].ServiceInterface.IPAM.SetDefaultRoute = true, true
		}), "set defaultGateway or setDefaultRoute"},
		{"a default route", spec(func(s *ServiceChainSpec) { s.Switches[0].Ports[1].ServiceInterface.IPAM.SetDefaultRoute = true }), ""},
		{"a pool that is any", spec(func(s *ServiceChainSpec) { s.Switches[0].Ports[1].ServiceInterface.IPAM.MatchLabels = nil }),
			"Required value"},
		{"a node in a template", spec(func(s *ServiceChainSpec) { s.Node = "n" }), "the set fills in the node"},
		{"a selector", func(c *DPUServiceChain) {
			c.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, ""},
	})
	on := func() *ServiceChain {
		spec := chain().Spec.Template.Spec.Template.Spec
		spec.Node = "a"
		return &ServiceChain{Spec: spec}
	}
	checkUpdate(t, on, []refusal[*ServiceChain]{
		{"another node", func(c *ServiceChain) { c.Spec.Node = "b" }, "stays on its node"},
		{"another switch", func(c *ServiceChain) { c.Spec.Switches = append(c.Spec.Switches, c.Spec.Switches[0]) }, ""},
	})
}

func pool() *DPUServiceIPAM {
	return &DPUServiceIPAM{Spec: DPUServiceIPAMSpec{IPV4Network: &IPV4Network{
		Network: "10.0.0.0/16", PrefixSize: 24, GatewayIndex: ptr.To[int32](1), Exclusions: []IPv4{"10.0.0.1"},
		Allocations: map[string]IPv4CIDR{"n": "10.0.1.0/24"}, Routes: []Route{{Dst: "10.1.0.0/16"}},
	}}}
}

func TestDPUServiceIPAM_isValidated(t *testing.T) {
	t.Parallel()
	network := func(change func(*IPV4Network)) func(*DPUServiceIPAM) {
		return func(p *DPUServiceIPAM) { change(p.Spec.IPV4Network) }
	}
	subnet := func(s IPV4Subnet) func(*DPUServiceIPAM) {
		return func(p *DPUServiceIPAM) { p.Spec.IPV4Network, p.Spec.IPV4Subnet = nil, &s }
	}
	checkCreate(t, pool, []refusal[*DPUServiceIPAM]{
		{"valid", func(*DPUServiceIPAM) {}, ""},
		{"a subnet", subnet(IPV4Subnet{Subnet: "10.0.0.0/24", Gateway: "10.0.0.1", PerNodeIPCount: 8}), ""},
		{"a gateway of another subnet", subnet(IPV4Subnet{Subnet: "10.0.0.0/24", Gateway: "10.0.1.1", PerNodeIPCount: 8}),
			"the gateway is an address"},
		{"no addresses", subnet(IPV4Subnet{Subnet: "10.0.0.0/24"}), "perNodeIPCount: Required value"},
		{"both", func(p *DPUServiceIPAM) { p.Spec.IPV4Subnet = &IPV4Subnet{Subnet: "10.0.0.0/24", PerNodeIPCount: 8} }, "set either"},
		{"neither", func(p *DPUServiceIPAM) { p.Spec.IPV4Network, p.Spec.Metadata.Labels = nil, map[string]string{"a": "b"} }, "set either"},
		{"no network", network(func(n *IPV4Network) { n.Network = "a" }), "an IPv4 network"},
		{"a host's address", network(func(n *IPV4Network) { n.Network = "10.0.0.1/16" }), "an IPv4 network"},
		{"IPv6", network(func(n *IPV4Network) { n.Network = "fd00::/64" }), "an IPv4 network"},
		{"a prefix that is larger", network(func(n *IPV4Network) { n.PrefixSize = 15 }), "a part of the network"},
		{"an exclusion elsewhere", network(func(n *IPV4Network) { n.Exclusions = []IPv4{"10.1.0.0"} }), "addresses of the network"},
		{"an allocation elsewhere", network(func(n *IPV4Network) { n.Allocations["n"] = "10.1.0.0/24" }), "prefixes of the network"},
		{"an allocation of another length", network(func(n *IPV4Network) { n.Allocations["n"] = "10.0.0.0/25" }), "prefixes of the network"},
	})
	checkUpdate(t, pool, []refusal[*DPUServiceIPAM]{
		{"another type", subnet(IPV4Subnet{Subnet: "10.0.0.0/24", PerNodeIPCount: 8}), "can't become one of the other type"},
		{"more exclusions", network(func(n *IPV4Network) { n.Exclusions = append(n.Exclusions, "10.0.0.2") }), ""},
	})
}
