package agent

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/metricstest"
)

// metricsOf an agent that says this.
func metricsOf(t *testing.T, report *agentv1.Report, err error) (*Metrics, *prometheus.Registry) {
	t.Helper()
	m := NewMetrics()
	m.Report, m.Connected = func() (*agentv1.Report, error) { return report, err }, func() bool { return err == nil }
	registry := prometheus.NewPedanticRegistry()
	NewWithT(t).Expect(registry.Register(m)).To(Succeed())
	return m, registry
}

func TestMetrics_sayHowThePortsAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	held := &agentv1.Assignment{ResourceUid: "1"}
	in := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(time.Now().Add(d)) }
	m, registry := metricsOf(t, &agentv1.Report{
		OvnController: &agentv1.OVNController{Running: true, Connected: true},
		Ports: []*agentv1.Port{
			{Name: "free"}, {Name: "cut"}, {Name: "uncut", Problem: "it can't be taken down"},
			{Name: "on", Assignment: held, Installed: true, LeaseExpires: in(time.Hour)},
			{Name: "coming", Assignment: held, LeaseExpires: in(50 * time.Minute)},
			{Name: "small", Assignment: held, Installed: true, Problem: "raise its MTU", LeaseExpires: in(2 * time.Hour)},
		},
	}, nil)
	g.Expect(testutil.CollectAndLint(m)).To(BeEmpty())
	g.Expect(testutil.CollectAndCompare(m, strings.NewReader(`
# HELP bedplate_hydrazine_agent_connected 1 where there is a connection: of the agent to Open vSwitch, of ovn-controller to the southbound database.
# TYPE bedplate_hydrazine_agent_connected gauge
bedplate_hydrazine_agent_connected{to="OVN_Southbound"} 1
bedplate_hydrazine_agent_connected{to="Open_vSwitch"} 1
# HELP bedplate_hydrazine_agent_ports Ports to hosts, by state.
# TYPE bedplate_hydrazine_agent_ports gauge
bedplate_hydrazine_agent_ports{state="attached"} 1
bedplate_hydrazine_agent_ports{state="isolated"} 2
bedplate_hydrazine_agent_ports{state="problem"} 2
bedplate_hydrazine_agent_ports{state="waiting"} 1
`), "bedplate_hydrazine_agent_connected", "bedplate_hydrazine_agent_ports")).To(Succeed())
	left := metricstest.ValuesOf(t, registry, "bedplate_hydrazine_agent_lease_remaining_seconds")
	g.Expect(left).To(HaveLen(1))
	g.Expect(left[0].GetGauge().GetValue()).To(BeNumerically("~", 3000, 60))
}

func TestMetrics_sayNothingOfWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, registry := metricsOf(t, nil, errors.New("the uplink isn't known yet"))
	g.Expect(metricstest.ValuesOf(t, registry, "bedplate_hydrazine_agent_ports")).To(BeEmpty())
	g.Expect(metricstest.ValuesOf(t, registry, "bedplate_hydrazine_agent_connected")).To(HaveExactElements(
		HaveField("Labels", map[string]string{"to": "Open_vSwitch"})))
}

// The time runs from the first port that is released until all released ports are isolated.
func TestMetrics_takeTheTimeOfIsolation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m, registry := metricsOf(t, nil, errors.New("not asked here"))
		apply := func(took time.Duration, isolation, attachment error, meanwhile ...func()) {
			released := m.begin()
			for _, do := range meanwhile {
				do()
			}
			time.Sleep(took)
			m.applied(released, isolation, attachment)
		}
		failed := errors.New("ovs-vswitchd hangs")
		apply(time.Second, nil, nil) // nothing was released
		m.cut()
		time.Sleep(time.Second)
		m.cut() // the first one counts
		apply(time.Second, failed, nil)
		apply(time.Second, nil, failed, m.cut) // three seconds, and one more port
		apply(2*time.Second, nil, nil)         // three again
		apply(time.Second, nil, nil)

		all := metricstest.ValuesOf(t, registry, "bedplate_hydrazine_agent_isolation_seconds")
		g.Expect(all).To(HaveLen(1))
		g.Expect(all[0].GetHistogram().GetSampleCount()).To(BeEquivalentTo(2))
		g.Expect(all[0].GetHistogram().GetSampleSum()).To(BeNumerically("==", 6))
		outcomes := map[string]float64{}
		for _, value := range metricstest.ValuesOf(t, registry, "bedplate_hydrazine_agent_applies_total") {
			outcomes[value.Labels["outcome"]] = value.GetCounter().GetValue()
		}
		g.Expect(outcomes).To(Equal(map[string]float64{"ok": 3, "not isolated": 1, "not attached": 1}))
	})
}
