package membership_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func group() *resourcev1.ResourceGroup {
	return &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "web"},
		Spec:       resourcev1.ResourceGroupSpec{Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}},
	}
}

// host that was made after so many seconds.
func host(name string, after int, change ...func(*resourcev1.ManagedResource)) resourcev1.ManagedResource {
	r := resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "blue", Name: name, UID: types.UID(name),
			CreationTimestamp: metav1.NewTime(began.Add(time.Duration(after) * time.Second)),
		},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: "web", HostIP: "10.10.10.2", HostMAC: "02:00:0a:0a:0a:02",
			DPUIPs: []resourcev1.IPAddress{"172.18.0.5", "172.18.0.105"},
		},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// elsewhere has nothing in common with the host but the group.
func elsewhere(r *resourcev1.ManagedResource) {
	r.Spec.HostIP, r.Spec.HostMAC = "10.10.10.3", "02:00:0a:0a:0a:03"
	r.Spec.DPUIPs = []resourcev1.IPAddress{"172.18.0.7", "172.18.0.107"}
}

// dual gives a group a second network.
func dual(g *resourcev1.ResourceGroup) *resourcev1.ResourceGroup {
	g.Spec.SecondNetwork = &resourcev1.IPNet{IP: "fd00::", PrefixLength: 64}
	return g
}

func dualStack(r *resourcev1.ManagedResource) {
	r.Spec.SecondHostIP, r.Spec.DPUIPs = "fd00::2", append(r.Spec.DPUIPs, "fd01::105")
}

func TestOf_aHostOfTwoNetworks(t *testing.T) {
	t.Parallel()
	g, r := NewWithT(t), host("a", 0, dualStack)
	g.Expect(membership.Of(&r, dual(group()), nil)).To(BeZero())
	problem := membership.Of(&r, group(), nil)
	g.Expect(problem.Field).To(Equal("secondHostIP"))
	g.Expect(problem.Message).To(Equal("ResourceGroup web has no second network: leave fd00::2 out"))
	r.Spec.SecondHostIP = "fd00::1"
	g.Expect(membership.Of(&r, dual(group()), nil).Message).To(HavePrefix("fd00::1 is the gateway of"))
}

func TestOf_aHostAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		group  func(*resourcev1.ResourceGroup)
		hostIP resourcev1.IPAddress
		field  string
		says   string
	}{
		"inside":        {hostIP: "10.10.10.2"},
		"last one":      {hostIP: "10.10.10.254"},
		"outside":       {hostIP: "10.10.11.2", field: "hostIP", says: "10.10.11.2 isn't in the network 10.10.10.0/24 of ResourceGroup web: choose another address of the network"},
		"other family":  {hostIP: "fd00::2", field: "hostIP", says: "fd00::2 isn't in the network 10.10.10.0/24 of"},
		"gateway":       {hostIP: "10.10.10.1", field: "hostIP", says: "10.10.10.1 is the gateway of"},
		"own gateway":   {group: func(g *resourcev1.ResourceGroup) { g.Spec.Network.Gateway = "10.10.10.254" }, hostIP: "10.10.10.254", field: "hostIP", says: "is the gateway"},
		"not gateway":   {group: func(g *resourcev1.ResourceGroup) { g.Spec.Network.Gateway = "10.10.10.254" }, hostIP: "10.10.10.1"},
		"network":       {hostIP: "10.10.10.0", field: "hostIP", says: "is the network's own address"},
		"broadcast":     {hostIP: "10.10.10.255", field: "hostIP", says: "is the broadcast address"},
		"broadcast /28": {group: func(g *resourcev1.ResourceGroup) { g.Spec.Network.PrefixLength = 28 }, hostIP: "10.10.10.15", field: "hostIP", says: "is the broadcast address"},
		"no broadcast":  {group: func(g *resourcev1.ResourceGroup) { *g.Spec.Network = resourcev1.IPNet{IP: "fd00::", PrefixLength: 120} }, hostIP: "fd00::ff"},
		"group goes":    {group: func(g *resourcev1.ResourceGroup) { g.DeletionTimestamp = &metav1.Time{Time: began} }, hostIP: "10.10.10.2", field: "resourceGroup", says: "there is no ResourceGroup blue/web: make it, or name another one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, in := NewWithT(t), group()
			if c.group != nil {
				c.group(in)
			}
			r := host("a", 0, func(r *resourcev1.ManagedResource) { r.Spec.HostIP = c.hostIP })
			problem := membership.Of(&r, in, []resourcev1.ManagedResource{r})
			g.Expect(problem.Field).To(Equal(c.field))
			g.Expect(problem.Message).To(ContainSubstring(c.says))
			g.Expect(problem.Reason == "").To(Equal(c.field == ""))
		})
	}
}

func TestOf_aHostWithoutAGroup(t *testing.T) {
	t.Parallel()
	g, r := NewWithT(t), host("a", 0)
	g.Expect(membership.Of(&r, nil, nil).Reason).To(Equal(membership.ReasonNoGroup))
}

func TestOf_whoWasThereFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*resourcev1.ManagedResource) // of the one that comes second
		reason string
		field  string
		says   string
	}{
		"nothing in common": {change: func(*resourcev1.ManagedResource) {}},
		"host IP":           {func(r *resourcev1.ManagedResource) { r.Spec.HostIP = "10.10.10.2" }, membership.ReasonAddressTaken, "hostIP", "the address 10.10.10.2 is in use by ManagedResource first: "},
		"host MAC":          {func(r *resourcev1.ManagedResource) { r.Spec.HostMAC = "02:00:0A:0A:0A:02" }, membership.ReasonAddressTaken, "hostMAC", "the address 02:00:0A:0A:0A:02 is in use by ManagedResource first: "},
		"both in another group": {change: func(r *resourcev1.ManagedResource) {
			r.Spec.ResourceGroup, r.Spec.HostIP, r.Spec.HostMAC = "other", "10.10.10.2", "02:00:0a:0a:0a:02"
		}},
		"both in another namespace": {change: func(r *resourcev1.ManagedResource) {
			r.Namespace, r.Spec.HostIP, r.Spec.HostMAC = "red", "10.10.10.2", "02:00:0a:0a:0a:02"
		}},
		"second host IP": {func(r *resourcev1.ManagedResource) { r.Spec.SecondHostIP = "fd00::2" }, membership.ReasonAddressTaken, "secondHostIP", "the address fd00::2 is in use by ManagedResource first: "},
		"third DPU IP": {func(r *resourcev1.ManagedResource) {
			r.Spec.SecondHostIP, r.Spec.DPUIPs = "fd00::3", append(r.Spec.DPUIPs, "fd01::105")
		}, membership.ReasonAddressTaken, "dpuIPs", "the fabric's address fd01::105 is in use by ManagedResource first: "},
		"fabric IP in another namespace": {func(r *resourcev1.ManagedResource) {
			r.Namespace, r.Spec.DPUIPs[1] = "red", "172.18.0.105"
		}, membership.ReasonAddressTaken, "dpuIPs", "the fabric's address 172.18.0.105 is in use by a ManagedResource of another namespace: "},
		"fabric IP is a DPU":     {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = "172.18.0.5" }, membership.ReasonAddressTaken, "dpuIPs", "the fabric's address 172.18.0.5 is in use"},
		"DPU is a fabric IP":     {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0] = "172.18.0.105" }, membership.ReasonAddressTaken, "dpuIPs", "the fabric's address 172.18.0.105 is in use"},
		"DPU, no identifiers":    {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0] = "172.18.0.5" }, membership.ReasonDPUOfAnotherHost, "dpuIPs", "the DPU 172.18.0.5 already has the host of ManagedResource first: "},
		"DPU of another group":   {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0], r.Spec.ResourceGroup = "172.18.0.5", "other" }, membership.ReasonDPUOfAnotherHost, "dpuIPs", "the DPU 172.18.0.5 is in use for another ResourceGroup by ManagedResource first: "},
		"DPU and one identifier": {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0], r.Spec.Identifier = "172.18.0.5", "pf1hpf" }, membership.ReasonDPUOfAnotherHost, "dpuIPs", "the DPU 172.18.0.5 already has the host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			first, second := host("first", 0, dualStack), host("second", 1, elsewhere, c.change)
			all := []resourcev1.ManagedResource{second, first}
			g.Expect(membership.Of(&first, dual(group()), all)).To(BeZero(), "who was there first stays")
			in := dual(group())
			in.Namespace, in.Name = second.Namespace, second.Spec.ResourceGroup
			problem := membership.Of(&second, in, all)
			g.Expect(problem.Reason).To(Equal(c.reason))
			g.Expect(problem.Field).To(Equal(c.field))
			g.Expect(problem.Message).To(HavePrefix(c.says))

			asks := second.DeepCopy()
			asks.CreationTimestamp = metav1.Time{} // not there yet
			g.Expect(membership.Of(asks, in, []resourcev1.ManagedResource{first})).To(Equal(problem), "and so says admission")

			// Both are attached, the second one by what it asked for before it was changed.
			was := host("second", 1, elsewhere)
			attach(&first, first.Spec.DPUIPs...)
			attach(&second, was.Spec.DPUIPs...)
			all = []resourcev1.ManagedResource{second, first}
			g.Expect(membership.Of(&first, dual(group()), all)).To(BeZero(), "who was there first stays attached")
			problem = membership.Of(&second, in, all)
			g.Expect(problem.Reason).To(Equal(c.reason))
			g.Expect(problem.Field).To(Equal(c.field))
		})
	}
}

// attach a host to a DPU that answers for these addresses.
func attach(r *resourcev1.ManagedResource, dpuIPs ...resourcev1.IPAddress) {
	r.Status.LeaseExpires = &metav1.Time{Time: began}
	r.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: dpuIPs[0], FabricIP: dpuIPs[1]}
	if len(dpuIPs) > 2 {
		r.Status.LogicalPortReference.SecondFabricIP = dpuIPs[2]
	}
}

// Admission lets in what it doesn't know of yet: an older host, attached all the time, asks for an address that another one has.
func TestOf_whoHasAnAddressKeepsIt(t *testing.T) {
	t.Parallel()
	for name, ip := range map[string]resourcev1.IPAddress{"its own": "172.18.0.105", "its second one": "fd01::105", "its DPU's": "172.18.0.5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, red := NewWithT(t), group()
			red.Namespace = "red"
			older, victim := host("older", 0, elsewhere), host("victim", 1, dualStack)
			attach(&older, older.Spec.DPUIPs...)
			attach(&victim, victim.Spec.DPUIPs...)
			older.Namespace, older.Spec.DPUIPs[1] = "red", ip
			all := []resourcev1.ManagedResource{older, victim}
			g.Expect(membership.Of(&victim, dual(group()), all)).To(BeZero())
			g.Expect(membership.Of(&older, red, all).Reason).To(Equal(membership.ReasonAddressTaken))

			victim.Status = resourcev1.ManagedResourceStatus{}
			all[1] = victim
			g.Expect(membership.Of(&victim, dual(group()), all).Reason).To(Equal(membership.ReasonAddressTaken), "none has it: the older one gets it")
			older.CreationTimestamp = metav1.NewTime(began.Add(time.Hour))
			all[0] = older
			g.Expect(membership.Of(&victim, dual(group()), all)).To(BeZero(), "who is attached with another address isn't there first")
		})
	}
}

func TestOf_twoPortsOfADPU(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	port := func(name string) func(*resourcev1.ManagedResource) {
		return func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0], r.Spec.Identifier = "172.18.0.5", name }
	}
	first, second, third := host("first", 0, port("pf0hpf")), host("second", 1, elsewhere, port("pf1hpf")), host("third", 2, elsewhere, port("pf1hpf"))
	third.Spec.HostIP, third.Spec.HostMAC, third.Spec.DPUIPs[1] = "10.10.10.4", "02:00:0a:0a:0a:04", "172.18.0.109"
	all := []resourcev1.ManagedResource{third, second, first}
	g.Expect(membership.Of(&second, group(), all)).To(BeZero())
	g.Expect(membership.Of(&third, group(), all).Message).To(HavePrefix("the DPU 172.18.0.5 already has the host of ManagedResource second: "))
}

// What a DPU answers for isn't free because a spec names something else by now, however old the host that wants it is.
func TestOf_anAddressThatADPUMayStillAnswerFor(t *testing.T) {
	t.Parallel()
	for name, has := range map[string]resourcev1.LogicalPortReference{
		"the present one":  {FabricIP: "172.18.0.107"},
		"its second one":   {SecondFabricIP: "172.18.0.107"},
		"one of before it": {FormerFabricIPs: []resourcev1.IPAddress{"172.18.0.99", "172.18.0.107"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			wants := host("wants", 0, elsewhere)
			holds := host("holds", 1, func(r *resourcev1.ManagedResource) { r.Namespace, r.Status.LogicalPortReference = "red", &has })
			problem := membership.Of(&wants, group(), []resourcev1.ManagedResource{wants, holds})
			g.Expect(problem.Reason).To(Equal(membership.ReasonAddressTaken))
			g.Expect(problem.Message).To(HavePrefix("the DPU of a ManagedResource of another namespace may still answer for the fabric's address 172.18.0.107: "))
			holds.Status.LogicalPortReference = nil
			g.Expect(membership.Of(&wants, group(), []resourcev1.ManagedResource{wants, holds})).To(BeZero())
		})
	}
}

// A host that moves keeps its address, and hasn't left the DPU that answers for it: an older one waits.
func TestOf_anAddressOfAHostThatMoves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	wants := host("wants", 0, elsewhere, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = "172.18.0.105" })
	moves := host("moves", 1, func(r *resourcev1.ManagedResource) {
		r.Namespace, r.Spec.DPUIPs[0] = "red", "172.18.0.9"
		r.Status.LeaseExpires = &metav1.Time{Time: began}
		r.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: "172.18.0.5", FabricIP: "172.18.0.105"}
	})
	problem := membership.Of(&wants, group(), []resourcev1.ManagedResource{moves, wants})
	g.Expect(problem.Reason).To(Equal(membership.ReasonAddressTaken))
	g.Expect(problem.Message).To(HavePrefix("the DPU of a ManagedResource of another namespace may still answer for the fabric's address 172.18.0.105: "))

	moves.Status.LeaseExpires, moves.Status.LogicalPortReference = nil, nil
	g.Expect(membership.Of(&wants, group(), []resourcev1.ManagedResource{moves, wants})).To(BeZero(), "it has left")
}

func TestOf_aDPUOfTwoAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(first, second *resourcev1.ManagedResource)
		reason string
	}{
		"as the first one's certificate says": {func(first, _ *resourcev1.ManagedResource) {
			first.Status.DPUAddresses = []resourcev1.IPAddress{"172.18.0.5", "172.18.0.7"}
		}, membership.ReasonDPUOfAnotherHost},
		"as the second one's certificate says": {func(_, second *resourcev1.ManagedResource) {
			second.Status.DPUAddresses = []resourcev1.IPAddress{"172.18.0.5", "172.18.0.7"}
		}, membership.ReasonDPUOfAnotherHost},
		"and one of them is to be a host's": {func(first, _ *resourcev1.ManagedResource) {
			first.Status.DPUAddresses = []resourcev1.IPAddress{"172.18.0.5", "172.18.0.107"}
		}, membership.ReasonAddressTaken},
		"that are others": {func(first, _ *resourcev1.ManagedResource) {
			first.Status.DPUAddresses = []resourcev1.IPAddress{"172.18.0.5", "172.18.0.6"}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, first, second := NewWithT(t), host("first", 0), host("second", 1, elsewhere)
			second.Spec.ResourceGroup = "other"
			c.change(&first, &second)
			other := group()
			other.Name = "other"
			all := []resourcev1.ManagedResource{second, first}
			g.Expect(membership.Of(&first, group(), all)).To(BeZero(), "who was there first stays")
			g.Expect(membership.Of(&second, other, all).Reason).To(Equal(c.reason))
		})
	}
}

// An older one may ask for something later.
func TestOf_whoIsAttachedStays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	attached := func(r *resourcev1.ManagedResource) {
		r.Status.LeaseExpires = &metav1.Time{Time: began}
		r.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: r.Spec.DPUIPs[0]}
	}
	young := host("young", 1, attached)
	old := host("old", 0, elsewhere, attached, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0] = "172.18.0.5" })
	all := []resourcev1.ManagedResource{old, young}
	g.Expect(membership.Of(&young, group(), all)).To(BeZero())
	g.Expect(membership.Of(&old, group(), all).Message).To(HavePrefix("the DPU 172.18.0.5 already has the host of ManagedResource young: "))
}

// Of two created in the same second one is first, always the same.
func TestOlder_isATotalOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := []resourcev1.ManagedResource{host("c", 1), host("b", 0), host("a", 1), host("new", 0)}
	all[3].CreationTimestamp = metav1.Time{}
	slices.SortFunc(all, func(a, b resourcev1.ManagedResource) int { return membership.Older(&a, &b) })
	names := make([]string, 0, len(all))
	for _, r := range all {
		names = append(names, r.Name)
	}
	g.Expect(names).To(Equal([]string{"b", "a", "c", "new"}))
}
