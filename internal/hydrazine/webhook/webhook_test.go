package webhook

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/testenv"
)

// victim is a host that runs in a group.
func victim() *resourcev1.ManagedResource {
	return &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "blue", Name: "victim", UID: "victim", CreationTimestamp: metav1.NewTime(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)),
		},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: "web", HostIP: "10.10.10.2", HostMAC: "02:00:0a:0a:0a:02",
			DPUIPs: []resourcev1.IPAddress{"172.18.0.5", "172.18.0.105"},
		},
	}
}

// older is one of another tenant, without anything of the victim's.
func older() *resourcev1.ManagedResource {
	r := victim()
	r.Namespace, r.Name, r.UID = "red", "older", "older"
	r.CreationTimestamp = metav1.NewTime(r.CreationTimestamp.Add(-time.Hour))
	r.Spec.DPUIPs = []resourcev1.IPAddress{"172.18.0.7", "172.18.0.107"}
	return r
}

func web(namespace string) *resourcev1.ResourceGroup {
	return &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: types.UID(namespace)},
		Spec:       resourcev1.ResourceGroupSpec{Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}},
	}
}

// among these objects, found as in the controllers' cache.
func among(t *testing.T, objects ...client.Object) validator {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).WithObjects(objects...)
	return validator{testenv.Indexed(t, builder, controller.Index).Build()}
}

func policy(spec networkfabricv1.FabricPolicySpec) *networkfabricv1.FabricPolicy {
	return &networkfabricv1.FabricPolicy{ObjectMeta: metav1.ObjectMeta{Name: networkfabricv1.FabricPolicyName}, Spec: spec}
}

func publicIP(name string, address resourcev1.IPAddress) *networkfabricv1.PublicIP {
	return &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: networkfabricv1.PublicIPSpec{IPAddress: address},
	}
}

// The older host must not get what another one has by asking for it later.
func TestValidateUpdate_keepsWhoWasThereFirst(t *testing.T) {
	t.Parallel()
	const taken = "is in use by a ManagedResource of another namespace"
	for name, c := range map[string]struct {
		before func(*resourcev1.ManagedResource)
		change func(*resourcev1.ManagedResourceSpec)
		says   string
	}{
		"nothing":           {change: func(*resourcev1.ManagedResourceSpec) {}},
		"an address":        {change: func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = "172.18.0.105" }, says: taken},
		"with no group":     {change: func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup, s.DPUIPs[1] = "none", "172.18.0.105" }, says: taken},
		"a DPU, no group":   {change: func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup, s.DPUIPs[0] = "none", "172.18.0.5" }, says: "is in use for another ResourceGroup"},
		"a public address":  {change: func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = "203.0.113.9" }, says: "203.0.113.9 is a public address"},
		"a public DPU":      {change: func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[0] = "203.0.113.9" }, says: "203.0.113.9 is a public address"},
		"only another name": {change: func(s *resourcev1.ManagedResourceSpec) { s.ResourceGroup = "none" }},
		"while it goes":     {deleting, func(s *resourcev1.ManagedResourceSpec) { s.DPUIPs[1] = "172.18.0.105" }, taken},
		"it goes":           {before: deleting, change: func(*resourcev1.ManagedResourceSpec) {}},
		"it has what is taken": {
			before: func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = "172.18.0.105" },
			change: func(*resourcev1.ManagedResourceSpec) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := older()
			if c.before != nil {
				c.before(before)
			}
			after := before.DeepCopy()
			c.change(&after.Spec)
			_, err := among(t, victim(), web("blue"), web("red"), publicIP("nine", "203.0.113.9"), before).ValidateUpdate(t.Context(), before, after)
			if c.says == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}

// Some addresses are reserved. A host that has one already keeps it.
func TestValidateUpdate_refusesWhatIsReserved(t *testing.T) {
	t.Parallel()
	for address, says := range map[resourcev1.IPAddress]string{
		"172.22.0.20":  "172.22.0.20 is in sharedServices of the FabricPolicy",
		"172.20.0.9":   "172.20.0.9 is in dpuPrefixes",
		"172.18.0.1":   "172.18.0.1 is the gateway of its DPU",
		"172.18.0.254": "172.18.0.254 is in reservedPrefixes",
		"172.18.0.2":   "", // by the report of another DPU, which counts for its own hosts only
		"172.18.0.108": "",
	} {
		t.Run(string(address), func(t *testing.T) {
			t.Parallel()
			g, before, beside, victim := NewWithT(t), older(), older(), victim()
			before.Spec.Identifier, beside.Spec.Identifier = "pf0hpf", "pf1hpf"
			beside.Name, beside.UID, beside.Spec.HostIP, beside.Spec.HostMAC = "beside", "beside", "10.10.10.77", "02:00:0a:0a:0a:77"
			beside.Spec.DPUIPs = []resourcev1.IPAddress{"172.18.0.7"}
			beside.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: "172.18.0.7", FabricGateway: "172.18.0.1"}
			victim.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: "172.18.0.5", FabricGateway: "172.18.0.2"}
			after := before.DeepCopy()
			after.Spec.DPUIPs[1] = address
			in := among(t, victim, beside, web("blue"), web("red"), before, policy(networkfabricv1.FabricPolicySpec{
				ReservedPrefixes: []resourcev1.IPPrefix{"172.18.0.254/32"}, DPUPrefixes: []resourcev1.IPPrefix{"172.20.0.0/24"}, SharedServices: []resourcev1.IPPrefix{"172.22.0.0/24"},
			}))
			_, err := in.ValidateUpdate(t.Context(), before, after)
			if says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(says)))
			_, err = in.ValidateCreate(t.Context(), after)
			g.Expect(err).To(MatchError(ContainSubstring(says)))
			after.Status.LogicalPortReference = &resourcev1.LogicalPortReference{FabricIP: address}
			_, err = in.ValidateUpdate(t.Context(), before, after)
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

func deleting(r *resourcev1.ManagedResource) {
	r.DeletionTimestamp, r.Finalizers = &r.CreationTimestamp, []string{resourcev1.ManagedResourceFinalizer}
}

func TestValidateCreate_ofAGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		network resourcev1.IPNet
		says    string
	}{
		"first":            {network: resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}},
		"last":             {network: resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.10.254"}},
		"no network":       {resourcev1.IPNet{IP: "10.10.10.1", PrefixLength: 24}, "is not a network"},
		"outside":          {resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.11.1"}, "is not in"},
		"own address":      {resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.10.0"}, "10.10.10.0 can't be the gateway"},
		"broadcast":        {resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.10.255"}, "10.10.10.255 can't be the gateway"},
		"IPv6 own address": {resourcev1.IPNet{IP: "fd00::", PrefixLength: 64, Gateway: "fd00::"}, "fd00:: can't be the gateway"},
		"IPv6 last":        {network: resourcev1.IPNet{IP: "fd00::", PrefixLength: 120, Gateway: "fd00::ff"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := web("blue")
			g.Spec.Network = &c.network
			_, err := groupValidator{among(t)}.ValidateCreate(t.Context(), g)
			if c.says == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}

func TestValidateCreate_ofAPublicIP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ip   *networkfabricv1.PublicIP
		says string
	}{
		"free":           {ip: publicIP("ten", "203.0.113.10")},
		"another's":      {publicIP("other", "203.0.113.9"), "spec.ipAddress: Invalid value: \"203.0.113.9\": PublicIP nine has the address"},
		"a host's":       {publicIP("other", "172.18.0.105"), "ManagedResource blue/victim has the address among its dpuIPs"},
		"a DPU's":        {publicIP("other", "172.18.0.5"), "ManagedResource blue/victim has the address among its dpuIPs"},
		"created again":  {ip: publicIP("nine", "203.0.113.9")},
		"a tenant's own": {ip: publicIP("ten", "10.10.10.2")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := publicIPValidator{among(t, victim(), publicIP("nine", "203.0.113.9"))}.ValidateCreate(t.Context(), c.ip)
			if c.says == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}

// DPUs call a group's DHCP server themselves: which one, and of which network, isn't a tenant's choice alone.
func TestValidate_theDHCPServerOfAGroup(t *testing.T) {
	t.Parallel()
	allows := func(servers ...resourcev1.IPAddress) []client.Object {
		return []client.Object{policy(networkfabricv1.FabricPolicySpec{DHCPServers: servers})}
	}
	for name, c := range map[string]struct {
		site   []client.Object
		server resourcev1.IPAddress
		says   string
	}{
		"no policy":    {nil, "172.19.0.10", ""},
		"no list":      {allows(), "172.19.0.10", ""},
		"listed":       {allows("172.19.0.10"), "172.19.0.10", ""},
		"none":         {allows("172.19.0.10"), "", ""},
		"not listed":   {allows("172.19.0.10"), "172.19.0.11", "dhcpServer 172.19.0.11 isn't among dhcpServers of the FabricPolicy"},
		"an empty one": {allows([]resourcev1.IPAddress{}...), "172.19.0.10", "isn't among dhcpServers"},
		"of the management network": {[]client.Object{policy(networkfabricv1.FabricPolicySpec{
			FabricPrefixes: []resourcev1.IPPrefix{"10.0.0.0/8"},
		})}, "172.19.0.10", "the network 10.10.10.0/24 has a dhcpServer, and overlaps 10.0.0.0/8 of fabricPrefixes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, v := NewWithT(t), groupValidator{among(t, c.site...)}
			before := web("blue")
			before.Spec.NetworkImplementationType = resourcev1.SoftwareNetwork
			after := before.DeepCopy()
			after.Spec.DHCPServer = c.server
			_, created := v.ValidateCreate(t.Context(), after)
			_, updated := v.ValidateUpdate(t.Context(), before, after)
			other := after.DeepCopy()
			other.Spec.TenantIdentifier = "other"
			warned, kept := v.ValidateUpdate(t.Context(), after, other)
			g.Expect(kept).NotTo(HaveOccurred(), "what there is can be changed")
			if c.says == "" {
				g.Expect(created).NotTo(HaveOccurred())
				g.Expect(updated).NotTo(HaveOccurred())
				g.Expect(warned).To(BeEmpty())
				return
			}
			g.Expect(created).To(MatchError(And(ContainSubstring("spec.dhcpServer"), ContainSubstring(c.says))))
			g.Expect(updated).To(MatchError(ContainSubstring(c.says)))
			g.Expect(warned).To(ConsistOf(ContainSubstring(c.says)))
			after.Spec.DHCPServer = ""
			_, err := v.ValidateUpdate(t.Context(), other, after)
			g.Expect(err).NotTo(HaveOccurred(), "it can be left out")
			after = before.DeepCopy()
			after.Spec.DHCPServer, after.Spec.NetworkImplementationType = c.server, resourcev1.FabricNetwork
			_, err = v.ValidateCreate(t.Context(), after)
			g.Expect(err).NotTo(HaveOccurred(), "nothing is relayed")
		})
	}
}

// An unknown security group may be added later, so it is no error; but it causes a warning.
func TestWarnings_ofUnknownSecurityGroups(t *testing.T) {
	t.Parallel()
	g, group := NewWithT(t), web("blue")
	group.Spec.NetworkImplementationType = resourcev1.SoftwareNetwork
	group.Spec.SecurityGroups = []resourcev1.SecurityGroup{{Name: "db", Rules: []resourcev1.SecurityRule{
		{Direction: resourcev1.Ingress, SecurityGroups: []string{"web"}},
	}}}
	warned, err := groupValidator{among(t)}.ValidateCreate(t.Context(), group)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(warned).To(ContainElement(ContainSubstring(`rule 1 of security group "db" names "web", which doesn't exist`)))
	before := group.DeepCopy()
	before.Spec.SecurityGroups = nil
	warned, err = groupValidator{among(t)}.ValidateUpdate(t.Context(), before, group)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(warned).NotTo(BeEmpty())
	g.Expect(groupValidator{among(t)}.ValidateUpdate(t.Context(), group, group)).To(BeEmpty(), "nothing has changed")

	among := func(group *resourcev1.ResourceGroup, in ...string) []string {
		host := victim()
		host.Spec.SecurityGroups = in
		warned, err := among(t, group).ValidateCreate(t.Context(), host)
		g.Expect(err).NotTo(HaveOccurred())
		return warned
	}
	g.Expect(among(group, "db")).To(BeEmpty())
	g.Expect(among(group)).To(BeEmpty())
	g.Expect(among(group, "db", "web")).To(ConsistOf(`there is no security group "web": nothing passes by it`))
	group.Spec.NetworkImplementationType = resourcev1.FabricNetwork
	g.Expect(among(group, "web")).To(ConsistOf(ContainSubstring("securityGroups have no effect")))
}

// Each change of them is sent to every DPU of the group, and to every client that watches it.
func TestGroup_securityGroupsMayBeSoLarge(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(names int) *resourcev1.ResourceGroup {
		group := web("blue")
		group.Spec.NetworkImplementationType = resourcev1.SoftwareNetwork
		s := resourcev1.SecurityGroup{Name: "x"}
		for range names {
			s.Rules = append(s.Rules, resourcev1.SecurityRule{Direction: resourcev1.Ingress, SecurityGroups: []string{strings.Repeat("x", 63)}})
		}
		group.Spec.SecurityGroups = []resourcev1.SecurityGroup{s}
		return group
	}
	small, large, larger := of(500), of(700), of(701)
	_, err := groupValidator{among(t)}.ValidateCreate(t.Context(), small)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = groupValidator{among(t)}.ValidateCreate(t.Context(), large)
	g.Expect(err).To(MatchError(ContainSubstring("spec.securityGroups: Too long: together they may have at most 65536 bytes")))
	g.Expect(len(err.Error())).To(BeNumerically("<", 1000), "and not all of them")
	_, err = groupValidator{among(t)}.ValidateUpdate(t.Context(), small, large)
	g.Expect(err).To(HaveOccurred())
	_, err = groupValidator{among(t)}.ValidateUpdate(t.Context(), large, larger)
	g.Expect(err).To(HaveOccurred())
	_, err = groupValidator{among(t)}.ValidateUpdate(t.Context(), larger, large)
	g.Expect(err).NotTo(HaveOccurred(), "one from before can be made smaller")
}

// asked counts what is read.
type asked struct {
	client.Reader
	times int
}

func (a *asked) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	a.times++
	return a.Reader.Get(ctx, key, into, o...)
}

func (a *asked) List(ctx context.Context, into client.ObjectList, o ...client.ListOption) error {
	a.times++
	return a.Reader.List(ctx, into, o...)
}

// Not only the API server reaches the webhooks: a request may have what no schema has let in, and each address is a search.
func TestValidate_looksForFew(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), &asked{Reader: among(t)}
	many := older()
	for i := range 10_000 {
		many.Spec.DPUIPs = append(many.Spec.DPUIPs, resourcev1.IPAddress(strconv.Itoa(i)))
		many.Spec.SecurityGroups = append(many.Spec.SecurityGroups, strconv.Itoa(i))
	}
	for _, before := range []*resourcev1.ManagedResource{many, older()} {
		after := many.DeepCopy()
		after.Spec.HostIP = "10.10.10.9"
		_, err := validator{in}.ValidateUpdate(t.Context(), before, after)
		g.Expect(err).To(MatchError(And(ContainSubstring("spec.dpuIPs: Too many"), ContainSubstring("spec.securityGroups: Too many"))))
	}
	_, err := validator{in}.ValidateCreate(t.Context(), many)
	g.Expect(err).To(MatchError(ContainSubstring("must have at most 3 items")))
	group := web("blue")
	group.Spec.SecurityGroups = make([]resourcev1.SecurityGroup, 17)
	_, err = groupValidator{in}.ValidateCreate(t.Context(), group)
	g.Expect(err).To(MatchError(ContainSubstring("spec.securityGroups: Too many")))
	g.Expect(in.times).To(BeZero(), "it isn't looked for any")
	_, _ = validator{in}.ValidateCreate(t.Context(), older())
	g.Expect(in.times).To(BeNumerically("<", 20))
}
