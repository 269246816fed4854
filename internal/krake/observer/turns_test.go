package observer

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

func TestTurns_leaveWorkersToOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var fresh turns
	begun := 0
	for range workers {
		if fresh.begin("a") {
			begun++
		}
	}
	g.Expect(begun).To(Equal(shareOfOwner))
	for i := range workers {
		if fresh.begin(fmt.Sprint(i)) {
			begun++
		}
	}
	g.Expect(begun).To(Equal(share))
	fresh.end("a")
	g.Expect(fresh.begin("b")).To(BeTrue())
	g.Expect(fresh.begin("a")).To(BeFalse())
	g.Expect(2*share).To(BeNumerically("<", workers), "some are always for clusters that answer")
}

func TestTurns_areForClustersThatHaveNotAnsweredLately(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var o clusters
	looked := func(looks ...krakev1.ClusterState) *record {
		r := &record{}
		for _, seen := range looks {
			r.add(seen)
		}
		return r
	}
	g.Expect(o.turnsOf(made(connecting), looked())).To(BeIdenticalTo(&o.fresh))
	g.Expect(o.turnsOf(made(connecting), looked(online))).To(BeNil())
	g.Expect(o.turnsOf(made(online), looked(online, none))).To(BeIdenticalTo(&o.failing))
	g.Expect(o.turnsOf(made(degraded), looked(none, notReady))).To(BeNil())
	known := made(online)
	set(known, krakev1.ReachableCondition, metav1.ConditionTrue, "Online", "")
	g.Expect(o.turnsOf(known, looked())).To(BeNil(), "it answered before a restart of the manager")
}
