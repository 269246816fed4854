package v1alpha1_test

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func group(namespace string) *resourcev1.ResourceGroup {
	return &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "group-"},
		Spec: resourcev1.ResourceGroupSpec{
			TenantIdentifier: "tenant", Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.10.1"},
			DHCPServer: "172.18.0.3", NetworkImplementationType: resourcev1.SoftwareNetwork,
		},
	}
}

func resource(namespace string) *resourcev1.ManagedResource {
	return &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "host-"},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: "group", HostIP: "10.10.10.2", HostMAC: "02:00:0a:0a:0a:02",
			DPUIPs: []resourcev1.IPAddress{"172.18.0.5", "172.18.0.105"}, HostAccess: resourcev1.FabricAccess,
		},
	}
}

// refusal is a change that the API server has to answer with a message; "" means that it takes it.
type refusal[T client.Object] struct {
	change  func(T)
	message string
}

func check[T client.Object](t *testing.T, make func(namespace string) T, update bool, rows map[string]refusal[T]) {
	t.Helper()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, object := NewWithT(t), make(namespace)
			var err error
			if update {
				g.Expect(c.Create(t.Context(), object)).To(Succeed())
				row.change(object)
				err = c.Update(t.Context(), object)
			} else {
				row.change(object)
				err = c.Create(t.Context(), object)
			}
			if row.message == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(MatchRegexp(strings.ReplaceAll(regexp.QuoteMeta(row.message), "Invalid value: ", "Invalid value: .*"))))
		})
	}
}

func TestResourceGroup_isChecked(t *testing.T) {
	t.Parallel()
	type row = refusal[*resourcev1.ResourceGroup]
	network := func(ip resourcev1.IPAddress, prefixLength uint32, gateway resourcev1.IPAddress, message string) row {
		return row{func(g *resourcev1.ResourceGroup) {
			*g.Spec.Network = resourcev1.IPNet{IP: ip, PrefixLength: prefixLength, Gateway: gateway}
		}, message}
	}
	second := func(n *resourcev1.IPNet, message string) row {
		return row{func(g *resourcev1.ResourceGroup) { g.Spec.SecondNetwork = n }, message}
	}
	rule := func(r resourcev1.SecurityRule, message string) row {
		return row{func(g *resourcev1.ResourceGroup) {
			g.Spec.SecurityGroups = []resourcev1.SecurityGroup{{Name: "web", Rules: []resourcev1.SecurityRule{r}}}
		}, message}
	}
	check(t, group, false, map[string]row{
		"as it is":   {func(*resourcev1.ResourceGroup) {}, ""},
		"no gateway": network("10.10.10.0", 24, "", ""),
		"IPv6": {func(g *resourcev1.ResourceGroup) {
			g.Spec.Network, g.Spec.DHCPServer = &resourcev1.IPNet{IP: "fd00::", PrefixLength: 64, Gateway: "fd00::1"}, "fd01::5"
		}, ""},
		"IPv6 with an IPv4 DHCP server": network("fd00::", 64, "",
			"spec.dhcpServer: Invalid value: dhcpServer must be of the IP version of one of the networks"),
		"smallest":             network("10.10.10.4", 30, "10.10.10.6", ""),
		"no network":           {func(g *resourcev1.ResourceGroup) { g.Spec.Network = nil }, "spec.network: Required value"},
		"no address":           network("tenant", 24, "", "spec.network.ip: Invalid value: write an IP address in its canonical form"),
		"not canonical":        network("fd00:0::", 64, "", "spec.network.ip: Invalid value: write an IP address in its canonical form"),
		"loopback":             network("127.0.0.0", 8, "", "choose an address that one host can have"),
		"prefix too long":      network("10.10.10.0", 31, "", "spec.network.prefixLength: Invalid value: a network needs room for a gateway and a host"),
		"prefix too short":     network("10.0.0.0", 7, "", "spec.network.prefixLength: Invalid value: 7: spec.network.prefixLength in body should be greater than or equal to 8"),
		"IPv6 prefix too long": network("fd00::", 127, "", "spec.network.prefixLength: Invalid value: 127"),
		"no prefix":            network("10.10.10.0", 0, "", "spec.network.prefixLength: Required value"),
		"bad DHCP server":      {func(g *resourcev1.ResourceGroup) { g.Spec.DHCPServer = "dhcp" }, "spec.dhcpServer: Invalid value: write an IP address"},
		"dual stack":           second(&resourcev1.IPNet{IP: "fd00::", PrefixLength: 64}, ""),
		"two IPv4":             second(&resourcev1.IPNet{IP: "10.10.20.0", PrefixLength: 24}, "spec.secondNetwork: Invalid value: network and secondNetwork must be of different IP versions"),
		"rules": rule(resourcev1.SecurityRule{
			Direction: "Ingress", Protocol: "TCP", Ports: []resourcev1.PortRange{{First: 22}, {First: 80, Last: 90}},
			Prefixes: []resourcev1.IPPrefix{"0.0.0.0/0", "fd00::/8"}, SecurityGroups: []string{"web"},
		}, ""),
		"ports of ICMP": rule(resourcev1.SecurityRule{
			Direction: "Egress", Protocol: "ICMP", Ports: []resourcev1.PortRange{{First: 1}},
		}, "spec.securityGroups[0].rules[0].ports: Invalid value: only TCP and UDP have ports"),
		"ports backwards": rule(resourcev1.SecurityRule{
			Direction: "Egress", Protocol: "UDP", Ports: []resourcev1.PortRange{{First: 9, Last: 8}},
		}, "ports[0].last: Invalid value: last must not be less than first"),
		"no prefix at all": rule(resourcev1.SecurityRule{
			Direction: "Egress", Prefixes: []resourcev1.IPPrefix{"10.0.0.1/8"},
		}, "prefixes[0]: Invalid value: write a network in its canonical form"),
		"raw match": rule(resourcev1.SecurityRule{
			Direction: "Egress", Prefixes: []resourcev1.IPPrefix{"0.0.0.0/0 || ip"},
		}, "prefixes[0]: Invalid value: write a network in its canonical form"),
		"rules for the fabric": {func(g *resourcev1.ResourceGroup) {
			g.Spec.NetworkImplementationType, g.Spec.SecurityGroups = "", []resourcev1.SecurityGroup{{Name: "web"}}
		}, "spec.securityGroups: Invalid value: only a Software network has security groups"},
		"unknown type": {func(g *resourcev1.ResourceGroup) { g.Spec.NetworkImplementationType = "VLAN" }, `supported values: "Fabric", "Software"`},
	})
	check(t, group, true, map[string]row{
		"another network":  {func(g *resourcev1.ResourceGroup) { g.Spec.Network.PrefixLength = 25 }, "spec.network: Invalid value: the network is immutable: make another ResourceGroup"},
		"another gateway":  {func(g *resourcev1.ResourceGroup) { g.Spec.Network.Gateway = "" }, "spec.network: Invalid value: the network is immutable: make another ResourceGroup"},
		"a second network": second(&resourcev1.IPNet{IP: "fd00::", PrefixLength: 64}, "spec.secondNetwork: Invalid value: the network is immutable"),
		"another rule":     rule(resourcev1.SecurityRule{Direction: "Egress"}, ""),
		"another type":     {func(g *resourcev1.ResourceGroup) { g.Spec.NetworkImplementationType = "Fabric" }, "spec.networkImplementationType: Invalid value: networkImplementationType is immutable"},
		"another tenant":   {func(g *resourcev1.ResourceGroup) { g.Spec.TenantIdentifier = "other" }, ""},
	})
}

func TestManagedResource_isChecked(t *testing.T) {
	t.Parallel()
	type row = refusal[*resourcev1.ManagedResource]
	check(t, resource, false, map[string]row{
		"as it is":       {func(*resourcev1.ManagedResource) {}, ""},
		"upper case MAC": {func(r *resourcev1.ManagedResource) { r.Spec.HostMAC = "02:00:0A:0A:0A:02" }, ""},
		"IPv6": {func(r *resourcev1.ManagedResource) {
			r.Spec.HostIP, r.Spec.DPUIPs[1] = "fd00::2", "fd01::5"
		}, ""},
		"network only": {func(r *resourcev1.ManagedResource) { r.Spec.HostAccess, r.Spec.DPUIPs = "", r.Spec.DPUIPs[:1] }, ""},
		"no group":     {func(r *resourcev1.ManagedResource) { r.Spec.ResourceGroup = "" }, "spec.resourceGroup: Required value"},
		"no host IP":   {func(r *resourcev1.ManagedResource) { r.Spec.HostIP = "" }, "spec.hostIP: Required value"},
		"no MAC":       {func(r *resourcev1.ManagedResource) { r.Spec.HostMAC = "" }, "spec.hostMAC: Required value"},
		"no DPU":       {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs = nil }, "spec.dpuIPs: Required value"},
		"four DPU IPs": {func(r *resourcev1.ManagedResource) {
			r.Spec.DPUIPs = append(r.Spec.DPUIPs, "172.18.0.9", "172.18.0.10")
		}, "spec.dpuIPs: Too many: 4"},
		"dual stack": {func(r *resourcev1.ManagedResource) {
			r.Spec.SecondHostIP, r.Spec.DPUIPs = "fd00::2", append(r.Spec.DPUIPs, "fd01::5")
		}, ""},
		"third DPU IP for nothing": {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs = append(r.Spec.DPUIPs, "fd01::5") }, "spec.dpuIPs: Invalid value: secondHostIP and the third of dpuIPs must both be"},
		"third DPU IP of the first version": {func(r *resourcev1.ManagedResource) {
			r.Spec.SecondHostIP, r.Spec.DPUIPs = "fd00::2", append(r.Spec.DPUIPs, "172.18.0.9")
		}, "spec.dpuIPs: Invalid value: secondHostIP and the third of dpuIPs must both be"},
		"two IPv4 addresses": {func(r *resourcev1.ManagedResource) { r.Spec.SecondHostIP = "10.10.10.3" }, "spec.secondHostIP: Invalid value: hostIP and secondHostIP must be of different IP versions"},
		"one DPU IP twice":   {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = r.Spec.DPUIPs[0] }, "spec.dpuIPs[1]: Duplicate value"},
		"bad DPU IP":         {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0] = "dpu1" }, "spec.dpuIPs[0]: Invalid value: write an IP address"},
		"multicast DPU IP":   {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0] = "224.0.0.5" }, "spec.dpuIPs[0]: Invalid value: choose an address that one host can have"},
		"multicast MAC":      {func(r *resourcev1.ManagedResource) { r.Spec.HostMAC = "03:00:0a:0a:0a:02" }, "spec.hostMAC: Invalid value"},
		"no MAC at all":      {func(r *resourcev1.ManagedResource) { r.Spec.HostMAC = "00:00:00:00:00:00" }, "spec.hostMAC: Invalid value: 00:00:00:00:00:00 is no host's address"},
		"no second IP":       {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs = r.Spec.DPUIPs[:1] }, "spec.dpuIPs: Invalid value: to be reached from outside its network a host needs a second DPU IP"},
		"no second public IP": {func(r *resourcev1.ManagedResource) {
			r.Spec.HostAccess, r.Spec.DPUIPs = "PublicAccess", r.Spec.DPUIPs[:1]
		}, "to be reached from outside its network a host needs a second DPU IP"},
		"two IP versions": {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = "fd01::5" }, "spec.dpuIPs: Invalid value: hostIP and the second of dpuIPs must both be IPv4 or both IPv6"},
		"unknown state":   {func(r *resourcev1.ManagedResource) { r.Spec.State = "Off" }, `supported values: "Attached", "Isolated"`},
		"unknown type":    {func(r *resourcev1.ManagedResource) { r.Spec.Type = "VM" }, `supported values: "BareMetal"`},
		"unknown access":  {func(r *resourcev1.ManagedResource) { r.Spec.HostAccess = "All" }, `supported values: "NetworkAccess", "FabricAccess", "PublicAccess"`},
	})
}

func TestManagedResource_hasDefaults(t *testing.T) {
	t.Parallel()
	g, r := NewWithT(t), resource(testenv.Namespace(t))
	r.Spec.HostAccess = ""
	g.Expect(testenv.Client(t).Create(t.Context(), r)).To(Succeed())
	g.Expect(r.Spec.Type).To(Equal(resourcev1.BareMetal))
	g.Expect(r.Spec.State).To(Equal(resourcev1.Attached))
	g.Expect(r.Spec.HostAccess).To(Equal(resourcev1.NetworkAccess))
}

func TestResourceGroup_isCarriedByTheFabricByDefault(t *testing.T) {
	t.Parallel()
	g, r := NewWithT(t), group(testenv.Namespace(t))
	r.Spec.NetworkImplementationType = ""
	g.Expect(testenv.Client(t).Create(t.Context(), r)).To(Succeed())
	g.Expect(r.Spec.NetworkImplementationType).To(Equal(resourcev1.FabricNetwork))
}

func TestPublicIP_keepsItsAddress(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), testenv.Client(t)
	ip := &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "public-"}, Spec: networkfabricv1.PublicIPSpec{IPAddress: "203.0.113.10"},
	}
	g.Expect(c.Create(t.Context(), ip)).To(Succeed())
	ip.Spec.IPAddress = "203.0.113.11"
	g.Expect(c.Update(t.Context(), ip)).To(MatchError(ContainSubstring("ipAddress is immutable: create another PublicIP")))
	g.Expect(c.Delete(t.Context(), ip)).To(Succeed())
}

// There is one FabricPolicy, which other tests have: this one is only checked.
func TestFabricPolicy_deniesWhatItCan(t *testing.T) {
	t.Parallel()
	c := client.NewDryRunClient(testenv.Client(t))
	for prefix, message := range map[resourcev1.IPPrefix]string{
		"172.20.0.0/16": "", "0.0.0.0/0": "", "224.0.0.0/4": "", "fd00::/8": "", "::/0": "", "fc00::/6": "",
		"255.255.255.255/32": "leaves for the fabric", "ff00::/8": "leaves for the fabric", "ff05::/16": "leaves for the fabric",
		"fe80::/64": "leaves for the fabric", "169.254.200.0/24": "leaves for the fabric", "10.0.0.1/8": "canonical form", "all": "canonical form",
	} {
		t.Run(string(prefix), func(t *testing.T) {
			t.Parallel()
			err := c.Create(t.Context(), &networkfabricv1.FabricPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: networkfabricv1.FabricPolicyName},
				Spec:       networkfabricv1.FabricPolicySpec{DeniedPrefixes: []resourcev1.IPPrefix{"10.0.0.0/8", prefix}},
			})
			g := NewWithT(t)
			if message == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring("spec.deniedPrefixes[1]"), ContainSubstring(message))))
		})
	}
}

// An empty list of DHCP servers allows none, and stays one: without the field any may be named.
func TestFabricPolicy_listsDHCPServers(t *testing.T) {
	t.Parallel()
	c := client.NewDryRunClient(testenv.Client(t))
	for name, test := range map[string]struct {
		servers []resourcev1.IPAddress
		says    string
	}{
		"any":       {nil, ""},
		"none":      {[]resourcev1.IPAddress{}, ""},
		"two":       {[]resourcev1.IPAddress{"172.19.0.10", "fd19::10"}, ""},
		"twice":     {[]resourcev1.IPAddress{"172.19.0.10", "172.19.0.10"}, "Duplicate value"},
		"a network": {[]resourcev1.IPAddress{"172.19.0.0/24"}, "canonical form"},
		"all hosts": {[]resourcev1.IPAddress{"255.255.255.255"}, "one host can have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			policy := &networkfabricv1.FabricPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: networkfabricv1.FabricPolicyName},
				Spec:       networkfabricv1.FabricPolicySpec{DHCPServers: test.servers},
			}
			err := c.Create(t.Context(), policy)
			if test.says != "" {
				g.Expect(err).To(MatchError(And(ContainSubstring("spec.dhcpServers"), ContainSubstring(test.says))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(policy.Spec.DHCPServers).To(Equal(test.servers), "%#v", policy.Spec.DHCPServers)
		})
	}
}
