package controller_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// PublicIPs are the cluster's, so this test is the only one that has some of IPv4.
func TestPublicIP(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	for n := 2; n <= 5; n++ {
		f.agent(n)
	}
	pool := []*networkfabricv1.PublicIP{f.publicIP("203.0.113.9"), f.publicIP("203.0.113.10"), f.publicIP("203.0.113.100")}
	public := func(r *resourcev1.ManagedResource) { r.Spec.HostAccess = resourcev1.PublicAccess }
	hosts := []*resourcev1.ManagedResource{f.host("blue", 2, public), f.host("blue", 3, public), f.host("blue", 4, public)}

	// Each has one, and another one than the others.
	given := []resourcev1.IPAddress{}
	for _, host := range hosts {
		message := f.becomes(host, resourcev1.PublicIPReadyCondition, metav1.ConditionFalse, "NotAnnounced")
		f.Expect(message).To(ContainSubstring("check that hydrazine-speaker runs"))
		given = append(given, host.Status.HostAccessIPs.PublicIP)
	}
	f.Expect(given).To(ConsistOf(resourcev1.IPAddress("203.0.113.9"), resourcev1.IPAddress("203.0.113.10"), resourcev1.IPAddress("203.0.113.100")))
	for _, ip := range pool {
		f.get(ip)
		f.Expect(ip.Status.Allocated).To(BeTrue())
		f.Expect(ip.Status.NextHop).To(BeElementOf(hosts[0].Spec.DPUIPs[1], hosts[1].Spec.DPUIPs[1], hosts[2].Spec.DPUIPs[1]))
	}

	// The last one gets none, and says what helps.
	last := f.host("blue", 5, public)
	f.Expect(f.becomes(last, resourcev1.PublicIPReadyCondition, metav1.ConditionFalse, "PoolExhausted")).To(
		ContainSubstring("make another one, or give another host less than PublicAccess"))

	// Announced: the host is ready for it, and its address in the topology.
	first := f.of(hosts[0])
	f.announce(first, "speaker-a")
	f.becomes(hosts[0], resourcev1.PublicIPReadyCondition, metav1.ConditionTrue, "Announced")
	f.Eventually(func(g Gomega) {
		g.Expect(f.ovn(g, "ovn-nbctl", group, "--bare", "--columns=external_ip", "find", "NAT", "type=dnat")).To(
			ContainSubstring(string(first.Spec.IPAddress)))
	}).Should(Succeed())

	// A deleted host's address is free when no speaker announces it any more and not before.
	f.Expect(f.client.Delete(t.Context(), hosts[0])).To(Succeed())
	f.gone(hosts[0])
	f.becomes(first, resourcev1.ReadyCondition, metav1.ConditionFalse, "Withdrawing")
	f.Expect(first.Status.NextHop).To(BeEmpty())
	f.Consistently(func(g Gomega) {
		f.get(first)
		g.Expect(first.Status.ManagedResource.UID).To(Equal(hosts[0].UID))
	}).WithTimeout(2 * time.Second).Should(Succeed())
	f.withdraw(first, "speaker-a")
	f.Eventually(func() resourcev1.IPAddress {
		f.get(last)
		return last.Status.HostAccessIPs.PublicIP
	}).Should(Equal(first.Spec.IPAddress))

	// A speaker whose Lease says that it has been dead for long is kept until it was silent for so long here: clocks may be wrong.
	second := f.of(hosts[1])
	f.leaseOf("speaker-dead", time.Now().Add(-time.Hour), time.Minute)
	f.announce(second, "speaker-dead")
	f.Consistently(func() []string {
		f.get(second)
		return second.Status.AnnouncedBy
	}).WithTimeout(2 * time.Second).Should(ConsistOf("speaker-dead"))
	f.withdraw(second, "speaker-dead")
	f.becomes(second, resourcev1.ReadyCondition, metav1.ConditionFalse, "NotAnnounced")

	// One that is not to be public any more gives its address back once its DPU has that change.
	f.change(hosts[1], func(s *resourcev1.ManagedResourceSpec) { s.HostAccess = resourcev1.FabricAccess })
	f.Expect(f.becomes(second, resourcev1.ReadyCondition, metav1.ConditionFalse, "Withdrawing")).To(ContainSubstring("may still use it"))
	for _, host := range []*resourcev1.ManagedResource{hosts[1], hosts[2], last} { // what ovn-controller says when it has everything
		f.hears(group, host.Status.LogicalPortReference.DPU)
	}
	f.becomes(second, resourcev1.ReadyCondition, metav1.ConditionTrue, "Available")

	// One whose speaker may still live is kept: unknown is not absent.
	third := f.of(hosts[2])
	f.announce(third, "speaker-alive")
	f.leaseOf("speaker-alive", time.Now().Add(-time.Minute), 0) // whatever it says, it may have the times of today
	f.announce(third, "speaker-slow")
	f.leaseOf("speaker-slow", time.Now().Add(-time.Hour), time.Hour) // its neighbors remember it for so long
	f.announce(third, "speaker-unknown")
	f.change(hosts[2], func(s *resourcev1.ManagedResourceSpec) { s.HostAccess = resourcev1.FabricAccess })
	f.Expect(f.becomes(third, resourcev1.ReadyCondition, metav1.ConditionFalse, "Withdrawing")).To(ContainSubstring("speaker-alive"))
	f.Consistently(func() []string {
		f.get(third)
		return third.Status.AnnouncedBy
	}).WithTimeout(2 * time.Second).Should(ConsistOf("speaker-alive", "speaker-slow", "speaker-unknown"))
	f.withdraw(third, "speaker-slow")
	f.withdraw(third, "speaker-alive")
	f.withdraw(third, "speaker-unknown")
	f.becomes(third, resourcev1.ReadyCondition, metav1.ConditionTrue, "Available")

	// A speaker that has written its name too late announces nothing. Until it has removed it, the address isn't assigned.
	f.speak(third, func(s *networkfabricv1.PublicIPStatus) error {
		s.AnnouncedBy = append(s.AnnouncedBy, "speaker-late")
		return nil
	})
	f.Expect(f.becomes(third, resourcev1.ReadyCondition, metav1.ConditionFalse, "Withdrawing")).To(ContainSubstring("speaker-late"))
	f.withdraw(third, "speaker-late")
	f.becomes(third, resourcev1.ReadyCondition, metav1.ConditionTrue, "Available")

	// Two objects with one address are given once.
	twin := f.publicIP("203.0.113.10")
	f.Expect(f.becomes(twin, resourcev1.ReadyCondition, metav1.ConditionFalse, "AddressTaken")).To(ContainSubstring("delete one of the two"))

	// One that is the fabric's by mistake isn't assigned.
	mistaken := f.publicIP(last.Spec.DPUIPs[1])
	f.Expect(f.becomes(mistaken, resourcev1.ReadyCondition, metav1.ConditionFalse, "AddressTaken")).To(
		ContainSubstring("ManagedResource " + f.namespace + "/" + last.Name + " has the address in its dpuIPs"))

	// A PublicIP that is deleted under its host is withdrawn first, and the host gets another one.
	lasts := f.of(last)
	f.announce(lasts, "speaker-a")
	f.Expect(f.client.Delete(t.Context(), lasts)).To(Succeed())
	f.becomes(lasts, resourcev1.ReadyCondition, metav1.ConditionFalse, "Withdrawing")
	f.withdraw(lasts, "speaker-a")
	f.gone(lasts)
	another := f.of(last)
	f.Expect(another.Name).NotTo(Equal(mistaken.Name))
	f.Eventually(func() resourcev1.IPAddress {
		f.get(last)
		return last.Status.HostAccessIPs.PublicIP
	}).Should(Equal(another.Spec.IPAddress))

	// Isolated, the host keeps its address, which leads nowhere meanwhile.
	kept := f.of(last)
	f.change(last, func(s *resourcev1.ManagedResourceSpec) { s.State = resourcev1.Isolated })
	f.becomes(kept, resourcev1.ReadyCondition, metav1.ConditionFalse, "HostNotAttached")
	f.Expect(kept.Status.NextHop).To(BeEmpty())
	f.Expect(kept.Status.ManagedResource.UID).To(Equal(last.UID))
}

// Another client writes into a PublicIP between the manager's reading and writing. That is no failure.
func TestPublicIP_isWrittenByOthersToo(t *testing.T) {
	t.Parallel()
	f := start(t)
	var others atomic.Int32
	f.faults.SubResourcePatch = func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch,
		options ...client.SubResourcePatchOption,
	) error {
		if _, is := object.(*networkfabricv1.PublicIP); is && others.Add(1) <= 3 {
			note := fmt.Sprintf(`{"metadata":{"annotations":{"note":"%d"}}}`, others.Load())
			err := f.client.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(note)))
			if err != nil {
				return err
			}
		}
		return c.SubResource(sub).Patch(ctx, object, patch, options...)
	}
	f.run()
	ip := f.publicIP("2001:db8::9") // no other test has hosts that it could be given to
	f.becomes(ip, resourcev1.ReadyCondition, metav1.ConditionTrue, "Available")
	f.Expect(others.Load()).To(BeNumerically(">", 3))
	f.Expect(f.failures.Load()).To(BeZero())
}

// of a host: the one PublicIP that it has.
func (f *fixture) of(host *resourcev1.ManagedResource) *networkfabricv1.PublicIP {
	f.t.Helper()
	var found *networkfabricv1.PublicIP
	f.Eventually(func(g Gomega) {
		list := &networkfabricv1.PublicIPList{}
		g.Expect(f.client.List(f.t.Context(), list, client.MatchingLabels{"fixture": f.namespace})).To(Succeed())
		mine := slices.DeleteFunc(list.Items, func(ip networkfabricv1.PublicIP) bool {
			return ip.Status.ManagedResource == nil || ip.Status.ManagedResource.UID != host.UID
		})
		g.Expect(mine).To(HaveLen(1))
		found = &mine[0]
	}).Should(Succeed())
	return found
}

func (f *fixture) publicIP(address resourcev1.IPAddress) *networkfabricv1.PublicIP {
	f.t.Helper()
	ip := &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{GenerateName: f.namespace + "-", Labels: map[string]string{"fixture": f.namespace}},
		Spec:       networkfabricv1.PublicIPSpec{IPAddress: address},
	}
	f.Expect(f.client.Create(f.t.Context(), ip)).To(Succeed())
	return ip
}

func (f *fixture) get(object client.Object) {
	f.t.Helper()
	f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// announce does what a BGP speaker does before it announces an address.
func (f *fixture) announce(ip *networkfabricv1.PublicIP, speaker string) {
	f.t.Helper()
	f.speak(ip, func(s *networkfabricv1.PublicIPStatus) error {
		if s.NextHop == "" {
			return fmt.Errorf("%s has no next hop", ip.Spec.IPAddress)
		}
		s.AnnouncedBy = append(s.AnnouncedBy, speaker)
		return nil
	})
}

// withdraw does what it does afterwards.
func (f *fixture) withdraw(ip *networkfabricv1.PublicIP, speaker string) {
	f.t.Helper()
	f.speak(ip, func(s *networkfabricv1.PublicIPStatus) error {
		s.AnnouncedBy = slices.DeleteFunc(s.AnnouncedBy, func(name string) bool { return name == speaker })
		return nil
	})
}

func (f *fixture) speak(ip *networkfabricv1.PublicIP, change func(*networkfabricv1.PublicIPStatus) error) {
	f.t.Helper()
	f.Eventually(func() error {
		f.get(ip)
		base := client.MergeFromWithOptions(ip.DeepCopy(), client.MergeFromWithOptimisticLock{})
		if err := change(&ip.Status); err != nil {
			return err
		}
		return f.client.Status().Patch(f.t.Context(), ip, base)
	}).Should(Succeed())
}

// lease of a speaker, which was renewed last at a time, and whose neighbors remember it for so long.
func (f *fixture) leaseOf(speaker string, renewed time.Time, memory time.Duration) {
	f.t.Helper()
	renewal := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: lease.Name(speaker)},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(speaker), LeaseDurationSeconds: ptr.To(lease.Seconds(memory)), RenewTime: &metav1.MicroTime{Time: renewed},
		},
	}
	f.Expect(f.client.Create(f.t.Context(), renewal)).To(Succeed())
}

// clearPublicIPs deletes what a fixture has created: it isn't in the fixture's namespace.
func (f *fixture) clearPublicIPs() {
	list := &networkfabricv1.PublicIPList{}
	f.Expect(f.client.List(context.Background(), list, client.MatchingLabels{"fixture": f.namespace})).To(Succeed())
	for i := range list.Items {
		ip := &list.Items[i]
		if err := f.client.Delete(context.Background(), ip); apierrors.IsNotFound(err) {
			continue
		}
		ip.Finalizers = nil
		_ = f.client.Update(context.Background(), ip)
	}
}
