package controller_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/metricstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "tenant", Name: name} }

func is(kind, status, reason string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason}}
}

func member(name string, ends time.Duration, conditions ...metav1.Condition) *resourcev1.ManagedResource {
	r := &resourcev1.ManagedResource{
		ObjectMeta: named(name), Spec: resourcev1.ManagedResourceSpec{DPUIPs: []resourcev1.IPAddress{"192.0.2.9"}},
		Status: resourcev1.ManagedResourceStatus{Conditions: conditions},
	}
	if ends != 0 {
		r.Status.LeaseExpires = &metav1.Time{Time: time.Now().Add(ends)}
	}
	return r
}

// site is one of which something is in each state.
func site() []client.Object {
	group := func(name string, central []metav1.Condition, p *resourcev1.Propagation) *resourcev1.ResourceGroup {
		g := &resourcev1.ResourceGroup{ObjectMeta: named(name), Status: resourcev1.ResourceGroupStatus{Conditions: central, Propagation: p}}
		g.Spec.NetworkImplementationType = resourcev1.SoftwareNetwork
		return g
	}
	ip := func(name, address string, s networkfabricv1.PublicIPStatus) *networkfabricv1.PublicIP {
		return &networkfabricv1.PublicIP{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Status: s,
			Spec: networkfabricv1.PublicIPSpec{IPAddress: resourcev1.IPAddress(address)},
		}
	}
	fabric := group("fabric", is("CentralReady", "True", "CarriedByFabric"), nil)
	fabric.Spec.NetworkImplementationType = resourcev1.FabricNetwork
	given := networkfabricv1.PublicIPStatus{Allocated: true, NextHop: "172.18.0.5"}
	announced, withdrawing := given, given
	announced.AnnouncedBy, withdrawing.AnnouncedBy = []string{"a"}, []string{"a"}
	withdrawing.Conditions = is("Ready", "False", "Withdrawing")
	return []client.Object{
		fabric,
		group("blue", append(is("CentralReady", "True", "AsWanted"), is("Propagated", "False", "Propagating")...),
			&resourcev1.Propagation{Change: 3, DPUs: 5, Current: 3}),
		group("red", is("CentralReady", "False", "Refilling"), nil), group("green", is("CentralReady", "False", "CentralFailed"), nil),
		group("new", nil, nil), group("starting", is("CentralReady", "False", "CentralStarting"), nil),
		member("on", 50*time.Minute, is("Ready", "True", "AsWanted")...),
		member("lost", 10*time.Minute, append(is("Ready", "False", "AgentUnreachable"), is("Attached", "Unknown", "AgentUnreachable")...)...),
		member("leaving", time.Minute, append(is("Ready", "False", "Isolating"), is("Attached", "False", "Isolating")...)...),
		member("off", 0, append(is("Ready", "True", "AsWanted"), is("Attached", "False", "Isolated")...)...),
		member("fabrics", 0, is("Ready", "True", "CarriedByFabric")...),
		ip("a", "203.0.113.1", networkfabricv1.PublicIPStatus{Conditions: is("Ready", "True", "Available")}),
		ip("b", "203.0.113.2", given), ip("c", "203.0.113.3", announced), ip("d", "203.0.113.4", withdrawing),
		ip("e", "203.0.113.4", networkfabricv1.PublicIPStatus{Conditions: is("Ready", "False", "AddressTaken")}),
		ip("f", "2001:db8::1", announced),
	}
}

func TestState_tellsHowEverythingIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := agents.NewPool(t.Context(), agents.Config{Port: 1, Heartbeat: time.Second, Credentials: insecure.NewCredentials(),
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, errors.New("no agent is there")
		}})
	_, err := pool.Report("192.0.2.1")
	g.Expect(err).To(MatchError(agents.ErrUnheard))
	state := controller.NewState(fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).WithObjects(site()...).Build(),
		controller.Config{Agents: pool, Lease: time.Hour})
	problems, err := testutil.CollectAndLint(state)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
	exact := []string{
		"bedplate_hydrazine_objects", "bedplate_hydrazine_hosts", "bedplate_hydrazine_lease_seconds", "bedplate_hydrazine_centrals",
		"bedplate_hydrazine_unpropagated_networks", "bedplate_hydrazine_dpus_behind", "bedplate_hydrazine_public_ips",
		"bedplate_hydrazine_agents",
	}
	g.Expect(testutil.CollectAndCompare(state, strings.NewReader(expected), exact...)).To(Succeed())

	registry := prometheus.NewPedanticRegistry()
	g.Expect(registry.Register(state)).To(Succeed())
	left := metricstest.ValuesOf(t, registry, "bedplate_hydrazine_lease_remaining_seconds")
	g.Expect(left).To(HaveLen(1))
	g.Expect(left[0].GetGauge().GetValue()).To(BeNumerically("~", 600, 60), "who leaves isn't waited for")
}

const expected = `
# HELP bedplate_hydrazine_agents Agents that are watched, by state.
# TYPE bedplate_hydrazine_agents gauge
bedplate_hydrazine_agents{state="heard"} 0
bedplate_hydrazine_agents{state="invalid"} 0
bedplate_hydrazine_agents{state="newer"} 0
bedplate_hydrazine_agents{state="unheard"} 1
bedplate_hydrazine_agents{state="unreachable"} 0
# HELP bedplate_hydrazine_centrals OVN centrals that are wanted, by state.
# TYPE bedplate_hydrazine_centrals gauge
bedplate_hydrazine_centrals{state="failed"} 1
bedplate_hydrazine_centrals{state="pending"} 2
bedplate_hydrazine_centrals{state="ready"} 1
bedplate_hydrazine_centrals{state="refilling"} 1
# HELP bedplate_hydrazine_dpus_behind DPUs that haven't got the last change of their network yet.
# TYPE bedplate_hydrazine_dpus_behind gauge
bedplate_hydrazine_dpus_behind 2
# HELP bedplate_hydrazine_hosts Hosts whose network OVN carries: attached are those that a DPU may have on a network.
# TYPE bedplate_hydrazine_hosts gauge
bedplate_hydrazine_hosts{state="attached"} 3
bedplate_hydrazine_hosts{state="isolated"} 1
# HELP bedplate_hydrazine_lease_seconds How long a host stays attached without a renewal of its lease.
# TYPE bedplate_hydrazine_lease_seconds gauge
bedplate_hydrazine_lease_seconds 3600
# HELP bedplate_hydrazine_objects Objects, by the status and the reason of their condition Ready.
# TYPE bedplate_hydrazine_objects gauge
bedplate_hydrazine_objects{kind="ManagedResource",ready="False",reason="AgentUnreachable"} 1
bedplate_hydrazine_objects{kind="ManagedResource",ready="False",reason="Isolating"} 1
bedplate_hydrazine_objects{kind="ManagedResource",ready="True",reason="AsWanted"} 2
bedplate_hydrazine_objects{kind="ManagedResource",ready="True",reason="CarriedByFabric"} 1
bedplate_hydrazine_objects{kind="PublicIP",ready="False",reason="AddressTaken"} 1
bedplate_hydrazine_objects{kind="PublicIP",ready="False",reason="Withdrawing"} 1
bedplate_hydrazine_objects{kind="PublicIP",ready="True",reason="Available"} 1
bedplate_hydrazine_objects{kind="PublicIP",ready="Unknown",reason="Pending"} 3
bedplate_hydrazine_objects{kind="ResourceGroup",ready="Unknown",reason="Pending"} 6
# HELP bedplate_hydrazine_public_ips Public addresses, by state and IP version.
# TYPE bedplate_hydrazine_public_ips gauge
bedplate_hydrazine_public_ips{family="IPv4",state="allocated"} 1
bedplate_hydrazine_public_ips{family="IPv4",state="announced"} 1
bedplate_hydrazine_public_ips{family="IPv4",state="free"} 1
bedplate_hydrazine_public_ips{family="IPv4",state="refused"} 1
bedplate_hydrazine_public_ips{family="IPv4",state="withdrawing"} 1
bedplate_hydrazine_public_ips{family="IPv6",state="allocated"} 0
bedplate_hydrazine_public_ips{family="IPv6",state="announced"} 1
bedplate_hydrazine_public_ips{family="IPv6",state="free"} 0
bedplate_hydrazine_public_ips{family="IPv6",state="refused"} 0
bedplate_hydrazine_public_ips{family="IPv6",state="withdrawing"} 0
# HELP bedplate_hydrazine_unpropagated_networks Networks whose last change not all DPUs have yet.
# TYPE bedplate_hydrazine_unpropagated_networks gauge
bedplate_hydrazine_unpropagated_networks 1
`

// What the controllers do is counted: agents that are called, transactions, centrals that end, changes that arrive.
func TestMetrics_countWhatIsDone(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	count := func(metric string, labels ...string) (total float64) {
		for _, value := range metricstest.ValuesOf(t, metrics.Registry, metric) {
			if h := value.GetHistogram(); h != nil {
				total += float64(h.GetSampleCount())
			} else if said := slices.Sorted(maps.Values(value.Labels)); len(labels) == 0 || slices.Equal(said, labels) {
				total += value.GetCounter().GetValue()
			}
		}
		return total
	}
	f.Expect(count("bedplate_hydrazine_agent_calls_total", "Attach", "OK")).To(BeNumerically(">", 0))
	f.Expect(count("bedplate_hydrazine_agent_call_duration_seconds")).To(BeNumerically(">", 0))
	f.Expect(count("bedplate_hydrazine_ovn_transactions_total", "OVN_Northbound", "ok")).
		To(BeNumerically(">", 0))
	f.Expect(count("bedplate_hydrazine_ovn_operations_total", "OVN_Northbound")).To(BeNumerically(">", 5))
	f.Expect(count("bedplate_hydrazine_ovn_transaction_duration_seconds")).To(BeNumerically(">", 0))

	f.wipe(group)
	f.Eventually(func() float64 { return count("bedplate_hydrazine_central_restarts_total") }).Should(BeNumerically(">=", 3))
	agent.Stop()
	f.Eventually(func() float64 {
		return count("bedplate_hydrazine_agent_calls_total", "Unavailable", "Watch")
	}).Should(BeNumerically(">", 0))
}
