package speaker

import (
	"context"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/bgp"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
	"github.com/bedplate/bedplate/internal/metricstest"
)

// speakers of the fixture's configuration, by name.
func (f *fixture) speakers() map[string]networkfabricv1.BGPSpeaker {
	configuration := &networkfabricv1.BGPConfiguration{}
	if f.client.Get(context.Background(), client.ObjectKey{Name: f.configuration}, configuration) != nil {
		return nil
	}
	all := map[string]networkfabricv1.BGPSpeaker{}
	for _, s := range configuration.Status.Speakers {
		all[s.Name] = s
	}
	return all
}

func TestStatus_eachSpeakerWritesOfItself(t *testing.T) {
	f := newFixture(t)
	one, _ := f.run("one", clock.RealClock{}, interceptor.Funcs{})
	f.run("two", clock.RealClock{}, interceptor.Funcs{})
	since := time.Now().Add(-time.Hour)
	one.mu.Lock()
	one.sessions = []bgp.Session{{Neighbor: netip.MustParseAddr("172.18.0.1"), State: "Active", Since: since, Message: "see that it runs"}}
	one.mu.Unlock()
	f.publicIP("203.0.113.1", hop)
	f.Eventually(f.speakers).WithTimeout(patience).Should(And(HaveLen(2),
		HaveKeyWithValue("one", And(HaveField("Announced", int32(1)), HaveField("RouterID", BeEquivalentTo("172.18.0.11")),
			HaveField("Addresses", HaveExactElements(BeEquivalentTo("172.18.0.11"), BeEquivalentTo("fd18::11"))),
			HaveField("Sessions", HaveExactElements(And(
				HaveField("Neighbor", BeEquivalentTo("172.18.0.1")), HaveField("State", "Active"), HaveField("Message", "see that it runs"),
				HaveField("Since.Unix()", since.Unix())))))),
		HaveKeyWithValue("two", And(HaveField("Announced", int32(1)), HaveField("Sessions", HaveExactElements(
			And(HaveField("Neighbor", BeEquivalentTo("172.18.0.1")), HaveField("State", "Idle")))))),
	))
}

func TestStatus_thoseThatAreGoneAreRemoved(t *testing.T) {
	f := newFixture(t)
	configuration := &networkfabricv1.BGPConfiguration{}
	f.Expect(f.client.Get(t.Context(), client.ObjectKey{Name: f.configuration}, configuration)).To(Succeed())
	configuration.Status.Speakers = []networkfabricv1.BGPSpeaker{{Name: "gone"}, {Name: "silent"}, {Name: "away"}}
	f.Expect(f.client.Status().Update(t.Context(), configuration)).To(Succeed())
	for name, ago := range map[string]time.Duration{"silent": time.Hour, "away": time.Minute} {
		f.Expect(f.client.Create(t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: lease.Name(name)},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Now().Add(-ago)}},
		})).To(Succeed())
	}
	f.run("one", clock.RealClock{}, interceptor.Funcs{})
	f.Eventually(f.speakers).WithTimeout(patience).Should(And(HaveLen(2), HaveKey("one"), HaveKey("away")))
}

func TestMetrics_sayHowTheSessionsAre(t *testing.T) {
	g := NewWithT(t)
	count([]bgp.Session{{Neighbor: netip.MustParseAddr("fd00::1"), State: "Idle"}, {Neighbor: netip.MustParseAddr("172.18.0.1"), State: "Established"}})
	var found []map[string]string
	for _, value := range metricstest.ValuesOf(t, metrics.Registry, "bedplate_hydrazine_speaker_sessions") {
		g.Expect(value.GetGauge().GetValue()).To(Equal(1.))
		found = append(found, value.Labels)
	}
	g.Expect(found).To(ConsistOf(
		map[string]string{"neighbor": "fd00::1", "state": "Idle"}, map[string]string{"neighbor": "172.18.0.1", "state": "Established"}))
}
