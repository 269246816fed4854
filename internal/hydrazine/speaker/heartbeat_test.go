package speaker

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// lease of a speaker, or nil.
func (f *fixture) lease(name string) func() *coordinationv1.Lease {
	return func() *coordinationv1.Lease {
		l := &coordinationv1.Lease{}
		if f.client.Get(context.Background(), client.ObjectKey{Namespace: f.namespace, Name: lease.Name(name)}, l) != nil {
			return nil
		}
		return l
	}
}

// lastWordOf the fixture's configuration: hold time 30 s and restart time 1 min.
const lastWordOf = 30*time.Second + 90*time.Second - 10*time.Second

func TestLease_isRenewed(t *testing.T) {
	f := newFixture(t)
	c := clocktesting.NewFakeClock(time.Unix(2_000_000_000, 0))
	f.run("one", c, interceptor.Funcs{})
	renewed := func() time.Time {
		if l := f.lease("one")(); l != nil {
			return l.Spec.RenewTime.Time
		}
		return time.Time{}
	}
	f.Eventually(renewed).WithTimeout(patience).Should(BeTemporally("==", c.Now()))
	l := f.lease("one")()
	f.Expect(*l.Spec.HolderIdentity).To(Equal("one"))
	f.Expect(*l.Spec.LeaseDurationSeconds).To(Equal(int32(30 + 2*90)))
	f.Eventually(c.HasWaiters).WithTimeout(patience).Should(BeTrue())
	c.Step(10 * time.Second)
	f.Eventually(renewed).WithTimeout(patience).Should(BeTemporally("==", c.Now()))
}

// Neighbors keep the times of their session, whatever the configuration is by now.
func TestLease_longerTimesCountUntilTheyAreForgotten(t *testing.T) {
	f := newFixture(t)
	c := clocktesting.NewFakeClock(time.Unix(2_000_000_000, 0))
	protocol, stop := f.run("one", c, interceptor.Funcs{})
	memory := func() time.Duration {
		if l := f.lease("one")(); l != nil && l.Spec.RenewTime.Time.Equal(c.Now()) {
			return lease.Recorded(l)
		}
		return 0
	}
	after := func(d time.Duration, expected time.Duration, why string) {
		t.Helper()
		f.Eventually(c.HasWaiters).WithTimeout(patience).Should(BeTrue())
		c.Step(d)
		f.Eventually(memory).WithTimeout(patience).ShouldNot(BeZero())
		f.Expect(memory()).To(Equal(expected), why)
	}
	f.Eventually(memory).WithTimeout(patience).Should(Equal(90 * time.Second))
	protocol.remember(90 * time.Second)
	f.retime(3*time.Second, 6*time.Second)
	after(time.Hour, 90*time.Second, "a session is as it was")
	protocol.remember(9 * time.Second)
	after(10*time.Second, 90*time.Second, "the session has ended just now")
	after(90*time.Second, 90*time.Second, "it may be remembered")
	after(10*time.Second, 9*time.Second, "it is forgotten")
	f.retime(3*time.Second, 27*time.Second)
	after(10*time.Second, 30*time.Second, "longer ones count at once")

	stop()
	f.retime(3*time.Second, 6*time.Second)
	c.Step(10 * time.Second)
	f.run("one", c, interceptor.Funcs{})
	f.Eventually(memory).WithTimeout(patience).Should(Equal(30*time.Second), "what the predecessor has told")
	after(31*time.Second, 9*time.Second, "it is forgotten")
}

// retime gives the configuration other times.
func (f *fixture) retime(hold, restart time.Duration) {
	f.t.Helper()
	configuration := &networkfabricv1.BGPConfiguration{}
	f.Expect(f.client.Get(f.t.Context(), client.ObjectKey{Name: f.configuration}, configuration)).To(Succeed())
	before := configuration.DeepCopy()
	configuration.Spec.RestartTime.Duration, configuration.Spec.Neighbors[0].HoldTime.Duration = restart, hold
	f.Expect(f.client.Patch(f.t.Context(), configuration, client.MergeFrom(before))).To(Succeed()) // the speaker writes its status meanwhile
}

func TestLease_withoutItEverythingIsWithdrawnInTime(t *testing.T) {
	f := newFixture(t)
	var fails atomic.Bool
	c := clocktesting.NewFakeClock(time.Now())
	protocol, _ := f.run("one", c, interceptor.Funcs{
		Update: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			if _, isLease := object.(*coordinationv1.Lease); isLease && fails.Load() {
				return errInjected
			}
			return to.Update(ctx, object, options...)
		},
	})
	f.publicIP("203.0.113.1", hop)
	f.publicIP("2001:db8::1", "fd00::105")
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveLen(2))

	fails.Store(true)
	c.Step(lastWordOf - time.Second)
	f.Consistently(protocol.table).WithTimeout(3*time.Second).Should(HaveLen(2), "packets matter more than the API server")
	c.Step(time.Second)
	f.Eventually(protocol.table).WithTimeout(patience).Should(BeEmpty())
	f.publicIP("203.0.113.2", hop)
	f.Consistently(protocol.table).WithTimeout(2 * time.Second).Should(BeEmpty())

	fails.Store(false)
	f.Eventually(c.HasWaiters).WithTimeout(patience).Should(BeTrue())
	c.Step(10 * time.Second)
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveLen(3))
	for call, named := range protocol.named {
		if call != "withdraw 203.0.113.1/32" && call != "withdraw 2001:db8::1/128" {
			f.Expect(named).To(BeTrue(), call)
		}
	}
}

// The manager may have counted the predecessor as silent and be about to reassign its addresses. Removing a name and
// writing it again shows that the speaker is alive.
func TestLease_afterSilenceNamesCountForNothing(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	f.Expect(f.client.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: lease.Name("one")},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("one"), RenewTime: &metav1.MicroTime{Time: now.Add(-lastWordOf - time.Second)},
		},
	})).To(Succeed())
	ip := f.publicIP("203.0.113.1", hop, "one")
	events, err := f.client.Watch(t.Context(), &networkfabricv1.PublicIPList{}, &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: ip.ResourceVersion,
	}})
	f.Expect(err).NotTo(HaveOccurred())
	defer events.Stop()
	protocol, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	f.Eventually(protocol.table).WithTimeout(patience).Should(HaveLen(1))
	var names [][]string
	for range 2 {
		var event watch.Event
		f.Eventually(events.ResultChan()).WithTimeout(patience).Should(Receive(&event))
		names = append(names, event.Object.(*networkfabricv1.PublicIP).Status.AnnouncedBy)
	}
	f.Expect(names).To(HaveExactElements(BeEmpty(), HaveExactElements("one")))
}
