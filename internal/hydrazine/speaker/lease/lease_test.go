package lease_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

func spec(restart time.Duration, holds ...time.Duration) (s networkfabricv1.BGPConfigurationSpec) {
	s.RestartTime = &metav1.Duration{Duration: restart}
	for _, hold := range holds {
		s.Neighbors = append(s.Neighbors, networkfabricv1.BGPNeighbor{HoldTime: &metav1.Duration{Duration: hold}})
	}
	return s
}

func TestMemory_isThatOfTheSlowestNeighbor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(lease.Memory(spec(time.Minute, 3*time.Second, 9*time.Second))).To(Equal(69 * time.Second))
	g.Expect(lease.Memory(networkfabricv1.BGPConfigurationSpec{Neighbors: []networkfabricv1.BGPNeighbor{{}}})).To(Equal(210 * time.Second))
	g.Expect(lease.Memory(networkfabricv1.BGPConfigurationSpec{})).To(Equal(120 * time.Second))
}

var memories = []time.Duration{0, 4 * time.Second, 2*time.Minute + 90*time.Second, 2 * time.Hour}

// leaseOf a speaker whose neighbors remember it for so long.
func leaseOf(renewed time.Time, memory time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		RenewTime: &metav1.MicroTime{Time: renewed}, LeaseDurationSeconds: ptr.To(lease.Seconds(memory)),
	}}
}

// A speaker may die at the last moment, and its neighbors keep its routes for as long as they can.
func TestSilent_isAfterTheLastWordIsForgotten(t *testing.T) {
	t.Parallel()
	for _, memory := range memories {
		g := NewWithT(t)
		renewed := time.Unix(1000, 0)
		last := lease.LastWord(memory)
		g.Expect(last).To(BeNumerically(">=", 2*lease.Interval), "it goes on when renewals fail")
		for _, today := range memories { // whatever the configuration has become
			l := leaseOf(renewed, memory)
			longer := max(memory, today)
			g.Expect(lease.Recorded(l)).To(Equal(memory))
			g.Expect(lease.Silent(l, today, renewed.Add(last+longer-1))).To(BeFalse(), "of %s, today %s", memory, today)
			g.Expect(lease.Silent(l, today, renewed.Add(30*time.Second+2*longer))).To(BeTrue(), "of %s, today %s", memory, today)
		}
	}
	g := NewWithT(t)
	g.Expect(lease.Silent(&coordinationv1.Lease{}, time.Second, time.Unix(0, 0))).To(BeTrue())
	older := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Unix(1000, 0)}}}
	g.Expect(lease.Silent(older, time.Minute, time.Unix(1149, 0))).To(BeFalse(), "one that says nothing of it")
	g.Expect(lease.Silent(older, time.Minute, time.Unix(1150, 0))).To(BeTrue())
}
