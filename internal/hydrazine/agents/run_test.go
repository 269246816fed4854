package agents

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// Not parallel: no other test may count meanwhile.
func TestRun_countsEachRestartOnce(t *testing.T) {
	g := NewWithT(t)
	r, start := &run{}, time.Now()
	before := testutil.ToFloat64(switchRestarts)
	// report after so many seconds by this clock and by the DPU's, of a run that began so many seconds after the DPU.
	report := func(here, there int, restarts uint32, started int64) Report {
		said := Report{
			Received: start.Add(time.Duration(here) * time.Second), AsOf: &timestamppb.Timestamp{Seconds: int64(there)},
			Report: &agentv1.Report{OpenVswitch: &agentv1.OpenVSwitch{
				Running: true, Restarts: restarts, Started: &timestamppb.Timestamp{Seconds: started},
			}},
		}
		r.note(&said)
		return said
	}
	counted := func() float64 { return testutil.ToFloat64(switchRestarts) - before }
	first := report(0, 1000, 3, 990)
	g.Expect(counted()).To(BeZero(), "what was before isn't known")
	g.Expect(first.SwitchSince).To(BeTemporally("==", start.Add(-10*time.Second)))
	g.Expect(report(10, 1011, 3, 990).SwitchSince).To(Equal(first.SwitchSince), "a report that was long on its way changes nothing")
	g.Expect(counted()).To(BeZero())
	g.Expect(report(60, 1060, 5, 1055).SwitchSince).To(BeTemporally("==", start.Add(55*time.Second)))
	g.Expect(counted()).To(BeEquivalentTo(2))
	report(70, 1070, 0, 1055)
	g.Expect(counted()).To(BeEquivalentTo(2), "the agent was started again")
	report(80, 1080, 1, 1079)
	g.Expect(counted()).To(BeEquivalentTo(3))
	report(90, 1090, 4_000_000_000, 1089)
	g.Expect(counted()).To(BeEquivalentTo(3 + mostRestarts))
	silent := Report{Report: &agentv1.Report{}}
	r.note(&silent)
	g.Expect(silent.SwitchSince).To(BeZero(), "one that says nothing of it")
}
