package controller

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
	"github.com/bedplate/bedplate/internal/waiting"
)

var (
	objectsDesc = prometheus.NewDesc("bedplate_hydrazine_objects",
		"Objects, by the status and the reason of their condition Ready.", []string{"kind", "ready", "reason"}, nil)
	hostsDesc = prometheus.NewDesc("bedplate_hydrazine_hosts",
		"Hosts whose network OVN carries: attached are those that a DPU may have on a network.", []string{"state"}, nil)
	leaseDesc = prometheus.NewDesc("bedplate_hydrazine_lease_seconds",
		"How long a host stays attached without a renewal of its lease.", nil, nil)
	remainingDesc = prometheus.NewDesc("bedplate_hydrazine_lease_remaining_seconds",
		"Until the first lease ends of those hosts that are to stay attached. Below 0 it has ended.", nil, nil)
	centralsDesc = prometheus.NewDesc("bedplate_hydrazine_centrals",
		"OVN centrals that are wanted, by state.", []string{"state"}, nil)
	unpropagatedDesc = prometheus.NewDesc("bedplate_hydrazine_unpropagated_networks",
		"Networks whose last change not all DPUs have yet.", nil, nil)
	behindDesc = prometheus.NewDesc("bedplate_hydrazine_dpus_behind",
		"DPUs that haven't got the last change of their network yet.", nil, nil)
	publicIPsDesc = prometheus.NewDesc("bedplate_hydrazine_public_ips",
		"Public addresses, by state and IP version.", []string{"state", "family"}, nil)
	agentsDesc = prometheus.NewDesc("bedplate_hydrazine_agents",
		"Agents that are watched, by state.", []string{"state"}, nil)
)

// readTimeout bounds reads of the cache: late metrics are lost.
const readTimeout = 5 * time.Second

// Expose the state of all objects in the manager's metrics, while the manager leads.
func Expose(mgr ctrl.Manager, config Config) error {
	waits := waiting.New(mgr.GetClient(), &resourcev1.ResourceGroupList{}, &resourcev1.ManagedResourceList{})
	waits.Conditions = waitsFor
	return errors.Join(mgr.Add(waiting.WhileLeading{Collector: waits}),
		mgr.Add(waiting.WhileLeading{Collector: NewState(mgr.GetClient(), config)})) // only the leader knows the agents
}

// waitsFor are the conditions that have to be met before an object is as wanted. A host that is to be isolated isn't
// attached, and waits for nothing.
func waitsFor(object runtime.Object) []metav1.Condition {
	of := object.(conditioned)
	if !isReady(of) {
		return of.GetConditions()
	}
	if c := condition(of, resourcev1.PropagatedCondition); c != nil { // which is no part of Ready
		return []metav1.Condition{*c}
	}
	return nil
}

// State reports the state of all objects, from the cache and the watched agents. It keeps no state.
type State struct {
	cache  client.Reader
	agents *agents.Pool
	lease  time.Duration
	now    func() time.Time
}

// NewState returns a collector that reads from a cache.
func NewState(cache client.Reader, config Config) *State {
	return &State{cache: cache, agents: config.Agents, lease: config.Lease, now: time.Now}
}

// Describe implements prometheus.Collector.
func (s *State) Describe(into chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		objectsDesc, hostsDesc, leaseDesc, remainingDesc, centralsDesc, unpropagatedDesc, behindDesc, publicIPsDesc, agentsDesc,
	} {
		into <- d
	}
}

// Collect implements prometheus.Collector. What can't be read is left out, so that the other metrics aren't lost too.
func (s *State) Collect(into chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	groups, hosts, ips := &resourcev1.ResourceGroupList{}, &resourcev1.ManagedResourceList{}, &networkfabricv1.PublicIPList{}
	for _, list := range []client.ObjectList{groups, hosts, ips} {
		if err := s.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			klog.Background().Error(err, "Can't say in the metrics how the networks are")
			return
		}
	}
	g := gauges{into}
	countObjects(g, groups, hosts, ips)
	countGroups(g, groups.Items)
	s.countHosts(g, hosts.Items)
	countPublicIPs(g, ips.Items)
	g.set(leaseDesc, s.lease.Seconds())
	for state, n := range s.agents.States() {
		g.set(agentsDesc, float64(n), state)
	}
}

type gauges struct{ into chan<- prometheus.Metric }

func (g gauges) set(d *prometheus.Desc, value float64, labels ...string) {
	g.into <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func countObjects(g gauges, lists ...client.ObjectList) {
	type state struct{ kind, ready, reason string }
	counts := map[state]int{}
	for i, kind := range []string{"ResourceGroup", "ManagedResource", "PublicIP"} {
		_ = meta.EachListItem(lists[i], func(object runtime.Object) error {
			at := state{kind, string(metav1.ConditionUnknown), reasonPending}
			if c := condition(object.(conditioned), resourcev1.ReadyCondition); c != nil {
				at.ready, at.reason = string(c.Status), c.Reason
			}
			counts[at]++
			return nil
		})
	}
	for at, n := range counts {
		g.set(objectsDesc, float64(n), at.kind, at.ready, at.reason)
	}
}

func countGroups(g gauges, all []resourcev1.ResourceGroup) {
	centrals := map[string]int{"ready": 0, "refilling": 0, "failed": 0, "pending": 0}
	unpropagated, behind := 0, 0
	for i := range all {
		if all[i].Spec.NetworkImplementationType != resourcev1.SoftwareNetwork {
			continue
		}
		centrals[centralState(&all[i])]++
		if c := condition(&all[i], resourcev1.PropagatedCondition); c != nil && c.Status != metav1.ConditionTrue {
			unpropagated++
		}
		if p := all[i].Status.Propagation; p != nil {
			behind += int(p.DPUs - p.Current)
		}
	}
	for state, n := range centrals {
		g.set(centralsDesc, float64(n), state)
	}
	g.set(unpropagatedDesc, float64(unpropagated))
	g.set(behindDesc, float64(behind))
}

func centralState(group *resourcev1.ResourceGroup) string {
	switch c := condition(group, resourcev1.CentralReadyCondition); {
	case c == nil || c.Reason == reasonCentralStarting || c.Reason == reasonCentralEnding:
		return "pending"
	case c.Status == metav1.ConditionTrue:
		return "ready"
	case c.Reason == reasonRefilling:
		return "refilling"
	}
	return "failed"
}

func (s *State) countHosts(g gauges, all []resourcev1.ManagedResource) {
	hosts := map[string]int{"attached": 0, "isolated": 0}
	var first time.Time
	for i := range all {
		switch {
		case attachedByUs(&all[i]):
			hosts["attached"]++
		case condition(&all[i], resourcev1.AttachedCondition) != nil: // the fabric attaches those that have none
			hosts["isolated"]++
		}
		if ends := s.ends(&all[i]); !ends.IsZero() && toStay(&all[i]) && (first.IsZero() || ends.Before(first)) {
			first = ends
		}
	}
	for state, n := range hosts {
		g.set(hostsDesc, float64(n), state)
	}
	if !first.IsZero() {
		g.set(remainingDesc, first.Sub(s.now()).Seconds())
	}
}

// ends is when a host's lease ends: by its agent's report, or else by the promise in the status, which is too late if the agent
// refused to renew.
func (s *State) ends(r *resourcev1.ManagedResource) time.Time {
	if !attachedByUs(r) {
		return time.Time{}
	}
	promised := r.Status.LeaseExpires.Time
	report, ok := s.agents.Known(string(place(r)))
	if !ok {
		return promised
	}
	port := portOf(r, report.GetPorts())
	switch {
	case port != nil:
		return leaseEnds(r, report, port)
	case condition(r, resourcev1.PortUpCondition) == nil:
		return promised // it has never been on its network
	}
	return s.now() // it was, and its DPU has isolated it
}

// toStay reports whether the lease of a host has to be renewed.
func toStay(r *resourcev1.ManagedResource) bool {
	c := condition(r, resourcev1.AttachedCondition)
	return r.DeletionTimestamp.IsZero() && (c == nil || c.Reason != reasonIsolating && c.Reason != reasonMoving)
}

func countPublicIPs(g gauges, all []networkfabricv1.PublicIP) {
	type state struct{ name, family string }
	counts := map[state]int{}
	for _, family := range []string{"IPv4", "IPv6"} {
		for _, name := range []string{"free", "allocated", "announced", "withdrawing", "refused"} {
			counts[state{name, family}] = 0
		}
	}
	for i := range all {
		family := "IPv4"
		if overlay.Address(all[i].Spec.IPAddress).Is6() {
			family = "IPv6"
		}
		counts[state{publicIPState(&all[i]), family}]++
	}
	for at, n := range counts {
		g.set(publicIPsDesc, float64(n), at.name, at.family)
	}
}

func publicIPState(ip *networkfabricv1.PublicIP) string {
	c := condition(ip, resourcev1.ReadyCondition)
	switch {
	case c != nil && c.Reason == reasonWithdrawing:
		return "withdrawing"
	case c != nil && c.Reason == reasonSameAddress:
		return "refused"
	case !ip.Status.Allocated:
		return "free"
	case len(ip.Status.AnnouncedBy) > 0:
		return "announced"
	}
	return "allocated"
}
