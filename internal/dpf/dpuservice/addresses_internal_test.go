package dpuservice

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
)

func pool(name string, spec svcv1.DPUServiceIPAMSpec) svcv1.DPUServiceIPAM {
	spec.Metadata.Labels = map[string]string{"pool": name}
	return svcv1.DPUServiceIPAM{ObjectMeta: metav1.ObjectMeta{Namespace: "dpf-operator-system", Name: name}, Spec: spec}
}

// pools of each type, with and without a gateway.
func pools() []svcv1.DPUServiceIPAM {
	return []svcv1.DPUServiceIPAM{
		pool("subnet", svcv1.DPUServiceIPAMSpec{IPV4Subnet: &svcv1.IPV4Subnet{Gateway: "10.0.0.1"}}),
		pool("bare-subnet", svcv1.DPUServiceIPAMSpec{IPV4Subnet: &svcv1.IPV4Subnet{}}),
		pool("network", svcv1.DPUServiceIPAMSpec{IPV4Network: &svcv1.IPV4Network{GatewayIndex: ptr.To[int32](0)}}),
		pool("routed", svcv1.DPUServiceIPAMSpec{IPV4Network: &svcv1.IPV4Network{GatewayIndex: ptr.To[int32](1), DefaultGateway: true}}),
		pool("bare-network", svcv1.DPUServiceIPAMSpec{IPV4Network: &svcv1.IPV4Network{DefaultGateway: true}}),
	}
}

func TestRequestFor_whatNVIPAMAndMultusRead(t *testing.T) {
	t.Parallel()
	twins := append(pools(), pool("subnet", svcv1.DPUServiceIPAMSpec{}))
	asks := func(name, kind string, gateway bool, route ...string) *request {
		return &request{arguments{[]string{name}, kind, gateway}, route}
	}
	for _, row := range []struct {
		pool           string
		gateway, route bool
		among          []svcv1.DPUServiceIPAM
		want           *request
		problem        string
	}{
		{pool: "subnet", want: asks("subnet", "ippool", false)},
		{pool: "subnet", gateway: true, want: asks("subnet", "ippool", true)},
		{pool: "subnet", route: true, want: asks("subnet", "ippool", false, "10.0.0.1")},
		{pool: "bare-subnet", want: asks("bare-subnet", "ippool", false)},
		{pool: "bare-subnet", gateway: true, problem: "DPUServiceIPAM bare-subnet has no gateway"},
		{pool: "bare-subnet", route: true, problem: "DPUServiceIPAM bare-subnet has no gateway"},
		{pool: "network", gateway: true, want: asks("network", "cidrpool", true)},
		{pool: "network", route: true, problem: "each node has another gateway of DPUServiceIPAM network: set its ipv4Network.defaultGateway"},
		{pool: "routed", route: true, want: asks("routed", "cidrpool", false)},
		{pool: "bare-network", route: true, problem: "DPUServiceIPAM bare-network has no gateway"},
		{pool: "none", problem: "no DPUServiceIPAM of this namespace has the labels pool=none"},
		{pool: "subnet", among: twins, problem: "DPUServiceIPAMs subnet, subnet have the labels pool=subnet: only one may"},
	} {
		g := NewWithT(t)
		if row.among == nil {
			row.among = pools()
		}
		ipam := &svcv1.IPAM{MatchLabels: map[string]string{"pool": row.pool}, DefaultGateway: row.gateway, SetDefaultRoute: row.route}
		got, _, problem := requestFor(ipam, row.among)
		g.Expect(got).To(Equal(row.want), "%+v", row)
		g.Expect(problem).To(HavePrefix(row.problem), "%+v", row)
		g.Expect(problem == "").To(Equal(row.want != nil))
	}
}

func chainOf(name, cluster, pool string) *svcv1.DPUServiceChain {
	c := &svcv1.DPUServiceChain{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"site": cluster}}
	c.Spec.Template.Spec.Template.Spec.Switches = []svcv1.Switch{{Ports: []svcv1.Port{
		{ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"if": "a"}, IPAM: &svcv1.IPAM{MatchLabels: map[string]string{"pool": pool}}}},
		{ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"if": "b"}}},
	}}}
	return c
}

func ifcOf(name, network string) *svcv1.DPUServiceInterface {
	i := &svcv1.DPUServiceInterface{ObjectMeta: metav1.ObjectMeta{Name: name}}
	i.Spec.Template.Spec.Template.Metadata.Labels = map[string]string{"if": name}
	i.Spec.Template.Spec.Template.Spec.Service = &svcv1.ServiceDef{ServiceID: "s", InterfaceName: "e0", Network: network}
	return i
}

// Each DPU cluster has the pool of the chain that it gets; of two chains in one cluster an interface has the pool of either.
func TestRequests_areOfEachCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	north, south := types.NamespacedName{Namespace: "d", Name: "north"}, types.NamespacedName{Namespace: "d", Name: "south"}
	clusters := []dpucluster.Cluster{{Name: north, Labels: labels.Set{"site": "n"}}, {Name: south, Labels: labels.Set{"site": "s"}}}
	all := requests{}
	g.Expect(all.add(ifcOf("a", "net"), chainOf("one", "n", "subnet"), pools(), clusters)).To(BeEmpty())
	g.Expect(all.add(ifcOf("a", "net"), chainOf("two", "s", "network"), pools(), clusters)).To(BeEmpty())
	g.Expect(all.add(ifcOf("b", "net"), chainOf("two", "s", "network"), pools(), clusters)).To(BeEmpty())
	g.Expect(all).To(HaveLen(2))
	g.Expect(all[north]).To(And(HaveLen(1), HaveKeyWithValue("a", HaveField("Args.PoolNames", []string{"subnet"}))))
	g.Expect(all[south]).To(And(HaveLen(1), HaveKeyWithValue("a", HaveField("Args.PoolNames", []string{"network"}))))
	g.Expect(all.add(ifcOf("a", "net"), chainOf("again", "n", "subnet"), pools(), clusters)).To(BeEmpty(), "it says the same")
	g.Expect(all.add(ifcOf("a", "net"), chainOf("other", "n", "network"), pools(), clusters)).To(HavePrefix(
		"in DPU cluster d/north another port asks for another address"))
	g.Expect(all.add(ifcOf("a", ""), chainOf("one", "n", "subnet"), pools(), clusters)).To(ContainSubstring("set its service.network"))
}

// NV-IPAM would never give an address there, and nothing would say why.
func TestRequests_ofAPoolThatTheDPUClusterDoesntGet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clusters := []dpucluster.Cluster{
		{Name: types.NamespacedName{Namespace: "d", Name: "north"}, Labels: labels.Set{"site": "n"}},
		{Name: types.NamespacedName{Namespace: "d", Name: "south"}, Labels: labels.Set{"site": "s"}},
	}
	of := pools()
	of[0].Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"site": "s"}}
	g.Expect(requests{}.add(ifcOf("a", "net"), chainOf("one", "s", "subnet"), of, clusters)).To(BeEmpty())
	g.Expect(requests{}.add(ifcOf("a", "net"), chainOf("two", "n", "subnet"), of, clusters)).To(Equal(
		"DPU cluster d/north doesn't get DPUServiceIPAM subnet: correct its clusterSelector, or that of the chain"))
}
