package agents

import "time"

// run of ovs-vswitchd on a DPU, as it was reported last. The agent can't report while it is dead.
type run struct {
	known    bool
	restarts uint32
	started  time.Duration // by the agent's clock
	since    time.Time     // by the clock of this process
}

// mostRestarts is how many restarts one report may add to the metric: an agent may report any number.
const mostRestarts = 100

// note the run of a report, and count the restarts since the previous report.
func (r *run) note(report *Report) {
	said := report.GetOpenVswitch()
	if said == nil {
		return
	}
	now := said.GetRestarts()
	if r.known && now != r.restarts {
		more := now
		if now > r.restarts { // otherwise the agent was restarted, and counts from 0
			more -= r.restarts
		}
		switchRestarts.Add(float64(min(more, mostRestarts)))
	}
	if started := said.GetStarted().AsTime().Sub(time.Unix(0, 0)); !r.known || started != r.started {
		r.started, r.since = started, report.Received.Add(said.GetStarted().AsTime().Sub(report.AsOf.AsTime()))
	}
	r.known, r.restarts, report.SwitchSince = true, now, r.since
}
