package speaker

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
)

func TestPublicIP_hasTheNameAsLongAsItIsAnnounced(t *testing.T) {
	f := newFixture(t)
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	ip := f.publicIP("203.0.113.1", hop)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.1/32", hop))
	f.setNextHop(ip, hop2)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.1/32", hop2))
	f.Expect(client.IgnoreNotFound(f.client.Delete(t.Context(), f.publicIP("203.0.113.2", "")))).To(Succeed())
	f.setNextHop(ip, "")
	f.Eventually(f.names("203.0.113.1")).WithTimeout(patience).Should(BeEmpty())
	f.Expect(protocol.table()).To(BeEmpty())
	f.Expect(protocol.named).To(Equal(map[string]bool{"announce 203.0.113.1/32": true, "withdraw 203.0.113.1/32": true}))
	f.Expect(protocol.calls()).To(ContainElements(
		"announce 203.0.113.1/32", "withdraw 203.0.113.1/32", "announce 203.0.113.1/32", "withdraw 203.0.113.1/32"))
}

// ofPublicIP reports whether a PublicIP is written, not the BGPConfiguration.
func ofPublicIP(object runtime.ApplyConfiguration) bool {
	return object.(interface{ GetKind() string }).GetKind() == "PublicIP"
}

// failing makes the API server refuse a speaker's name.
func failing(fails *atomic.Bool, attempts *atomic.Int32) interceptor.Funcs {
	return interceptor.Funcs{SubResourceApply: func(
		ctx context.Context, c client.Client, sub string, object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption,
	) error {
		if ofPublicIP(object) && fails.Load() {
			attempts.Add(1)
			return errInjected
		}
		return c.SubResource(sub).Apply(ctx, object, options...)
	}}
}

func TestPublicIP_isNotAnnouncedWithoutTheName(t *testing.T) {
	f := newFixture(t)
	var fails atomic.Bool
	var attempts atomic.Int32
	fails.Store(true)
	protocol, _ := f.run("one", clock.RealClock{}, failing(&fails, &attempts))
	f.publicIP("203.0.113.1", hop)
	f.Eventually(attempts.Load).WithTimeout(patience).Should(BeNumerically(">", 5))
	f.Expect(f.failures.Load()).NotTo(BeZero())
	f.Expect(protocol.calls()).NotTo(ContainElement(HavePrefix("announce")))

	fails.Store(false)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.1/32", hop))
}

// Others write at the same time. That is no failure.
func TestPublicIP_isWrittenAgainAfterAConflict(t *testing.T) {
	f := newFixture(t)
	var conflicts atomic.Int32
	conflict := func(object client.Object) error {
		conflicts.Add(1)
		return apierrors.NewConflict(schema.GroupResource{Resource: "publicips"}, object.GetName(), errInjected)
	}
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, object runtime.ApplyConfiguration,
			options ...client.SubResourceApplyOption,
		) error {
			if ofPublicIP(object) && conflicts.Load() < 3 {
				return conflict(&networkfabricv1.PublicIP{})
			}
			return c.SubResource(sub).Apply(ctx, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch,
			options ...client.SubResourcePatchOption,
		) error {
			if conflicts.Load() < 6 {
				return conflict(object)
			}
			return c.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	})
	ip := f.publicIP("203.0.113.1", hop)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveLen(1))
	f.setNextHop(ip, "")
	f.Eventually(f.names("203.0.113.1")).WithTimeout(patience).Should(BeEmpty())
	f.Expect(conflicts.Load()).To(BeEquivalentTo(6))
	f.Expect(f.failures.Load()).To(BeZero())
}

// The name may come too late: the manager saw no name when it removed the next hop, and gives the address to another
// host.
func TestPublicIP_isNotAnnouncedAsItWasBeforeTheName(t *testing.T) {
	f := newFixture(t)
	ip := f.publicIP("203.0.113.1", hop)
	var once atomic.Bool
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{SubResourceApply: func(
		ctx context.Context, c client.Client, sub string, object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption,
	) error {
		if ofPublicIP(object) && once.CompareAndSwap(false, true) {
			f.setNextHop(ip, hop2)
		}
		return c.SubResource(sub).Apply(ctx, object, options...)
	}})
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.1/32", hop2))
	f.Eventually(protocol.calls).WithTimeout(patience).Should(ConsistOf("configure 1", "announce 203.0.113.1/32"), "never with the old one")
}

func TestPublicIP_keepsTheNameUntilNobodyBelievesInIt(t *testing.T) {
	f := newFixture(t)
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	ip := f.publicIP("203.0.113.1", hop)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveLen(1))
	protocol.settle(time.Second)
	f.setNextHop(ip, "")
	f.Eventually(protocol.table).WithTimeout(patience).Should(BeEmpty())
	f.Consistently(f.names("203.0.113.1")).WithTimeout(2*time.Second).Should(HaveExactElements("one"), "a neighbor can't be told")
	protocol.settle(0)
	f.Eventually(f.names("203.0.113.1")).WithTimeout(patience).Should(BeEmpty())
}

func TestPublicIP_hasTheNamesOfAllSpeakers(t *testing.T) {
	f := newFixture(t)
	one, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	two, _ := f.run("two", clock.RealClock{}, interceptor.Funcs{})
	ip := f.publicIP("203.0.113.1", hop)
	f.Eventually(one.table).WithTimeout(patience).Should(HaveLen(1))
	f.Eventually(two.table).WithTimeout(patience).Should(HaveLen(1))
	f.Expect(f.namesOf("203.0.113.1")).To(ConsistOf("one", "two"))
	f.setNextHop(ip, "")
	f.Eventually(f.names("203.0.113.1")).WithTimeout(patience).Should(BeEmpty())
}

// A restarted speaker announces what has its name before it opens sessions, and gives up what it doesn't announce.
func TestPublicIP_isTakenOverFromAPredecessor(t *testing.T) {
	f := newFixture(t)
	_, stop := f.run("one", clock.RealClock{}, interceptor.Funcs{}) // leaves a Lease
	f.Eventually(f.lease("one")).WithTimeout(patience).ShouldNot(BeNil())
	stop()
	f.publicIP("203.0.113.1", hop, "one", "other")
	f.publicIP("203.0.113.2", "", "one", "other")
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	f.Eventually(f.names("203.0.113.2")).WithTimeout(patience).Should(HaveExactElements("other"))
	f.Expect(f.namesOf("203.0.113.1")).To(ConsistOf("one", "other"))
	f.Eventually(protocol.calls).WithTimeout(patience).Should(HaveLen(2))
	f.Expect(protocol.calls()).To(HaveExactElements("announce 203.0.113.1/32", "configure 1"))
}

func TestPublicIP_isAnnouncedAnewWhenTheNameWasTakenAway(t *testing.T) {
	f := newFixture(t)
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	f.Eventually(protocol.calls).WithTimeout(patience).Should(HaveLen(1), "it is configured")
	ip := f.publicIP("203.0.113.1", hop)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveLen(1))
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(ip), ip)).To(Succeed())
	ip.Status.AnnouncedBy = nil
	f.Expect(f.client.Status().Update(t.Context(), ip)).To(Succeed())
	f.Eventually(protocol.calls).WithTimeout(patience).Should(HaveExactElements(
		"configure 1", "announce 203.0.113.1/32", "withdraw 203.0.113.1/32", "announce 203.0.113.1/32"))
	f.Expect(f.namesOf("203.0.113.1")).To(HaveExactElements("one"))
}

func TestPublicIP_theSameAddressTwiceIsAnnouncedOnce(t *testing.T) {
	f := newFixture(t)
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	first := f.publicIP("203.0.113.1", hop)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.1/32", hop))
	second := f.publicIP("203.0.113.1", hop2)
	f.Consistently(protocol.table).WithTimeout(time.Second).Should(HaveKeyWithValue("203.0.113.1/32", hop))
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(second), second)).To(Succeed())
	f.Expect(second.Status.AnnouncedBy).To(BeEmpty())
	f.Expect(f.client.Delete(t.Context(), first)).To(Succeed())
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.1/32", hop2))
}

func TestPublicIP_isNotAnnouncedToNobody(t *testing.T) {
	f := newFixture(t)
	configuration := &networkfabricv1.BGPConfiguration{}
	f.Expect(f.client.Get(t.Context(), client.ObjectKey{Name: f.configuration}, configuration)).To(Succeed())
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	f.publicIP("203.0.113.1", hop)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveLen(1))
	neighbors := configuration.Spec.Neighbors
	f.changeNeighbors()
	f.Eventually(protocol.table).WithTimeout(patience).Should(BeEmpty())
	f.Eventually(f.names("203.0.113.1")).WithTimeout(patience).Should(BeEmpty())
	f.changeNeighbors(neighbors...)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveLen(1))
}

func (f *fixture) changeNeighbors(neighbors ...networkfabricv1.BGPNeighbor) {
	f.t.Helper()
	configuration := &networkfabricv1.BGPConfiguration{}
	f.Expect(f.client.Get(f.t.Context(), client.ObjectKey{Name: f.configuration}, configuration)).To(Succeed())
	before := configuration.DeepCopy()
	configuration.Spec.Neighbors = neighbors
	f.Expect(f.client.Patch(f.t.Context(), configuration, client.MergeFrom(before))).To(Succeed())
}
