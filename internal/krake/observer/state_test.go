package observer

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

// What the looks of the tables show, and the states.
const (
	none = krakev1.StateDegraded
	bad  = krakev1.StateFailed

	connecting = krakev1.StateConnecting
	online     = krakev1.StateOnline
	notReady   = krakev1.StateNotReady
	unhealthy  = krakev1.StateUnhealthy
	degraded   = krakev1.StateDegraded
	offline    = krakev1.StateOffline
	failed     = krakev1.StateFailed
)

type states = []krakev1.ClusterState

func made(state krakev1.ClusterState) *krakev1.Cluster {
	c := &krakev1.Cluster{}
	c.Spec = krakev1.ClusterSpec{TOSCA: "a: b", Kubeconfig: &krakev1.Kubeconfig{}, Backoff: 2, BackoffDelay: 1, BackoffLimit: ptr.To[int32](3)}
	c.Status.State, c.Status.ScheduledTo = state, &krakev1.CloudReference{Kind: krakev1.KindCloud, Name: "a"}
	return c
}

func TestState_changesAfterTwoEqualLooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from  krakev1.ClusterState
		limit int32
		looks states
		then  states
	}{
		"ONLINE":                 {connecting, 3, states{online, online}, states{connecting, online}},
		"NOTREADY":               {connecting, 3, states{notReady, notReady, online, online}, states{connecting, notReady, notReady, online}},
		"UNHEALTHY":              {online, 3, states{unhealthy, unhealthy, notReady, notReady}, states{online, unhealthy, unhealthy, notReady}},
		"DEGRADED, then OFFLINE": {online, 3, states{none, none, none, none, none}, states{online, degraded, degraded, offline, offline}},
		"DEGRADED for ever":      {online, -1, states{none, none, none, none, none}, states{online, degraded, degraded, degraded, degraded}},
		"OFFLINE at once":        {online, 0, states{none, none}, states{online, offline}},
		"after one retry":        {online, 1, states{none, none}, states{online, offline}},
		"back":                   {offline, 3, states{online, online}, states{offline, online}},
		"never there":            {connecting, 3, states{none, none, none, none}, states{connecting, degraded, degraded, offline}},
		"no way back to DEGRADED": {
			offline, 3, states{online, none, none, none}, states{offline, offline, offline, offline},
		},
		"it flaps": {
			online, 3, states{none, online, none, online, none, online, unhealthy, online, none},
			states{online, online, online, online, online, online, online, online, online},
		},
		"retries count from the last answer": {
			degraded, 2, states{none, none, online, none, none, none}, states{degraded, degraded, degraded, degraded, degraded, offline},
		},
	} {
		g := NewWithT(t)
		cluster, h := made(c.from), history{}
		cluster.Spec.BackoffLimit = &c.limit
		for i, seen := range c.looks {
			if h.add(seen) {
				cluster.Status.State = h.state(cluster)
			}
			g.Expect(cluster.Status.State).To(Equal(c.then[i]), "%s, look %d", name, i)
		}
	}
}

func TestState_ofAKubeconfigThatCannotBeUsedIsFAILEDOnlyWhereAPersonHasWrittenIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := history{}
	registered := made("")
	registered.Status.ScheduledTo = nil
	g.Expect(h.add(bad)).To(BeTrue())
	g.Expect(h.state(registered)).To(Equal(failed))
	g.Expect(h.state(made(online))).To(Equal(offline))
}

func TestState_ofTheInfrastructureIsLeftAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, state := range (states{
		"", krakev1.StatePending, krakev1.StateCreating, krakev1.StateReconciling, krakev1.StateDeleting, krakev1.StateFailingReconciliation, failed,
	}) {
		c := made(state)
		g.Expect(isObserved(c)).To(BeFalse(), string(state))
		c.Status.ScheduledTo = nil
		g.Expect(isObserved(c)).To(BeTrue(), "registered, %s", state)
	}
	for _, state := range (states{connecting, online, notReady, unhealthy, degraded, offline}) {
		c := made(state)
		g.Expect(isObserved(c)).To(BeTrue(), string(state))
		c.Spec.Paused = true
		g.Expect(isObserved(c)).To(BeFalse(), "paused")
		c.Spec.Paused, c.DeletionTimestamp = false, ptr.To(metav1.Now())
		g.Expect(isObserved(c)).To(BeFalse(), "deleted")
		c.DeletionTimestamp, c.Spec.Kubeconfig = nil, nil
		g.Expect(isObserved(c)).To(BeFalse(), "no kubeconfig")
	}
}

func TestPause_isWhatTheClusterAsksFor(t *testing.T) {
	t.Parallel()
	const interval = 30 * time.Second
	pause := func(c *krakev1.Cluster, looks ...krakev1.ClusterState) time.Duration {
		h := history{}
		for _, seen := range looks {
			h.add(seen)
		}
		return h.pause(c, interval)
	}
	many := make(states, 2000)
	for i := range many {
		many[i] = none
	}
	g := NewWithT(t)
	g.Expect(pause(made(connecting), online)).To(Equal(interval / 10))
	g.Expect(pause(made(connecting), online, online)).To(Equal(interval))
	g.Expect(pause(made(degraded), none, online)).To(Equal(interval), "it may flap")
	g.Expect(pause(made(online), none)).To(Equal(time.Second))
	g.Expect(pause(made(degraded), none, none, none)).To(Equal(4 * time.Second))
	g.Expect(pause(made(degraded), many...)).To(Equal(10 * interval))
	g.Expect(pause(made(offline), many...)).To(Equal(interval))
	g.Expect(pause(made(online), bad)).To(Equal(10 * interval))
	constant := made(degraded)
	constant.Spec.Backoff = 1
	g.Expect(pause(constant, many[:impatient]...)).To(Equal(time.Second))
	g.Expect(pause(constant, many...)).To(Equal(interval), "not oftener than a cluster that is well")
	constant.Spec.BackoffDelay = 86400
	g.Expect(pause(constant, many...)).To(Equal(24 * time.Hour))
}
