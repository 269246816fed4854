package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestLeases_endByBothClocks(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	held := func(ends time.Duration) *resourcev1.ManagedResource {
		return &resourcev1.ManagedResource{
			ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "host", UID: "uid"},
			Status:     resourcev1.ManagedResourceStatus{LeaseExpires: &metav1.Time{Time: began.Add(ends)}},
		}
	}
	type look struct {
		wall, own time.Duration // since it began
		ends      time.Duration // as the status says; negative: it ended before
		left      time.Duration
	}
	for name, looks := range map[string][]look{
		"as the clocks go":        {{0, 0, hour, hour}, {hour - 1, hour - 1, hour, 1}, {hour, hour, hour, 0}},
		"the wall's jumps ahead":  {{0, 0, hour, hour}, {9 * hour, 1, hour, hour - 1}, {10 * hour, hour, hour, 0}},
		"the wall's is set back":  {{0, 0, hour, hour}, {-hour, hour, hour, 2 * hour}, {hour, 3 * hour, hour, 0}},
		"restored from a backup":  {{0, 0, -9 * hour, hour}, {hour, hour, -9 * hour, 0}},
		"restored while it runs":  {{0, 0, hour, hour}, {hour / 2, hour / 2, -9 * hour, hour}, {3 * hour / 2, 3 * hour / 2, -9 * hour, 0}},
		"renewed":                 {{0, 0, hour, hour}, {hour / 2, hour / 2, 3 * hour / 2, hour}},
		"longer before a restart": {{0, 0, 5 * hour, 5 * hour}, {4 * hour, 4 * hour, 5 * hour, hour}, {5 * hour, 5 * hour, 5 * hour, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l, now := newHostLeases(hour), look{}
			l.wall, l.own = func() time.Time { return began.Add(now.wall) }, func() time.Duration { return now.own }
			for _, now = range looks {
				left := l.left(held(now.ends))
				if now.left == 0 {
					g.Expect(left).To(BeNumerically("<=", skewOf(hour)), "%v", now)
				} else {
					g.Expect(left).To(Equal(now.left+skewOf(hour)), "%v", now)
				}
			}
			over := held(0)
			over.Status.LeaseExpires = nil
			g.Expect(l.left(over)).To(BeZero())
			g.Expect(l.seen).To(BeEmpty())
		})
	}
}

// The manager's clock was a year ahead when it promised a lease, and is right again. A host whose DPU never comes back can go all the same.
func TestLeases_promisedByAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	const hour, year = time.Hour, 365 * 24 * time.Hour
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, length := range map[string]time.Duration{"as long as today": hour, "longer before a restart": 5 * hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, l, passed := NewWithT(t), newHostLeases(hour), time.Duration(0)
			l.wall, l.own = func() time.Time { return began.Add(passed) }, func() time.Duration { return passed }
			host := &resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "host", UID: "uid"}}
			host.Status.LastReport = &metav1.Time{Time: began.Add(year)}
			host.Status.LeaseExpires = &metav1.Time{Time: began.Add(year + length)}
			g.Expect(l.left(host)).To(Equal(length + skewOf(hour)))
			g.Expect(l.latest(host)).To(Equal(began.Add(length)))
			passed = length - time.Minute
			g.Expect(l.left(host)).To(Equal(time.Minute + skewOf(hour)))
			passed = length + skewOf(hour)
			g.Expect(l.left(host)).To(BeZero())
		})
	}
}

func TestLeases_areOfOneObject(t *testing.T) {
	t.Parallel()
	g, l := NewWithT(t), newHostLeases(time.Hour)
	own := time.Duration(0)
	l.own = func() time.Duration { return own }
	r := &resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: "host", UID: "one"}}
	r.Status.LeaseExpires = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	g.Expect(l.left(r)).To(BeNumerically(">=", time.Hour))
	own = 2 * time.Hour
	g.Expect(l.left(r)).To(BeZero())
	r.UID = "two"
	g.Expect(l.left(r)).To(BeNumerically(">=", time.Hour), "another object of that name")
	l.forget(client.ObjectKeyFromObject(r))
	g.Expect(l.seen).To(BeEmpty())
}

// A lease is one host's. While its DPU serves another host of the group, ovn-controller there continues with what the first one
// had.
func TestStillUses_afterTheLeaseOfOneOfTwoHosts(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Second)
	host := func(name string, lease time.Duration) *resourcev1.ManagedResource {
		r := &resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name, UID: types.UID(name)}}
		r.Spec.DPUIPs = []resourcev1.IPAddress{"172.18.0.5", "172.18.0.105"}
		r.Status.LeaseExpires = &metav1.Time{Time: began.Add(lease)}
		r.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: "172.18.0.5", GroupUID: "blue", DPU: "dpu1"}
		return r
	}
	for name, c := range map[string]struct {
		beside func(r *resourcev1.ManagedResource)
		uses   bool
	}{
		"of its group":          {func(*resourcev1.ManagedResource) {}, true},
		"of another group":      {func(r *resourcev1.ManagedResource) { r.Status.LogicalPortReference.GroupUID = "red" }, false},
		"of another chassis":    {func(r *resourcev1.ManagedResource) { r.Status.LogicalPortReference.DPU = "dpu2" }, false},
		"that isn't attached":   {func(r *resourcev1.ManagedResource) { r.Status.LeaseExpires = nil }, false},
		"whose lease has ended": {func(r *resourcev1.ManagedResource) { r.Status.LeaseExpires.Time = began }, false},
		"by another of its IPs": {func(r *resourcev1.ManagedResource) {
			r.Status.DPUAddresses, r.Spec.DPUIPs[0] = r.Spec.DPUIPs[:1], "172.18.0.6"
		}, true},
		"that it knows by agent": {func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[0] = "172.18.0.7" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, ended, beside := NewWithT(t), host("ended", 0), host("beside", 9*time.Hour)
			c.beside(beside)
			own, l := time.Duration(0), newHostLeases(time.Hour)
			l.own, l.wall = func() time.Duration { return own }, func() time.Time { return began.Add(own) }
			objects := fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).WithObjects(ended, beside)
			r := &publicIPReconciler{Client: testenv.Indexed(t, objects, Index).Build(), networks: &networks{}, leases: l}
			ip := &networkfabricv1.PublicIP{Spec: networkfabricv1.PublicIPSpec{IPAddress: "203.0.113.9"}}
			ip.Status.ManagedResource = &networkfabricv1.ManagedResourceReference{Namespace: "tenant", Name: "ended", UID: "ended"}
			g.Expect(r.stillUses(t.Context(), ip)).To(BeTrue(), "its own lease isn't over")
			_ = l.left(beside)
			own = 2 * time.Hour
			g.Expect(r.stillUses(t.Context(), ip)).To(Equal(c.uses))
		})
	}
}
