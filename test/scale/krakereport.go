package main

import (
	"fmt"
	"io"
	"time"
)

// Targets for Krake.
const (
	maxKrakeRSS       = 200 << 20
	maxCallsPerMinute = 1.0
)

// krakeFigures are those of a number of Clusters. Times are in seconds, sizes in bytes.
type krakeFigures struct {
	Host     machineRoom `json:"host"`
	Began    time.Time   `json:"began"`
	Clusters int         `json:"clusters"`
	Tempo    tempo       `json:"tempo"`
	Load     float64     `json:"load"` // as in figures

	// Make is, but for times and memory, for each Cluster.
	Make struct {
		OnlineAfter float64            `json:"onlineAfter"`
		CPU         float64            `json:"cpu"`
		Calls       map[string]float64 `json:"calls"`
		Kube        map[string]float64 `json:"kubeRequests"`
		Reconciles  float64            `json:"reconciles"`
		// LongReconciles of Clusters took more than a second, those of the observer not counted.
		LongReconciles float64 `json:"longReconciles"`
		PeakRSS        uint64  `json:"peakRSS"`
		RSS            uint64  `json:"rss"`
	} `json:"make"`

	// Outage of the infrastructure manager. ChangedAfter is when all Clusters that were changed meanwhile had been changed outside, from
	// its end on.
	Outage struct {
		Minutes      float64            `json:"minutes"`
		Calls        map[string]float64 `json:"calls"`
		Cores        float64            `json:"cores"`
		ChangedAfter float64            `json:"changedAfter"`
	} `json:"outage"`

	// Idle are probes of API servers and calls of the infrastructure manager for each Cluster and interval; requests are for each second.
	Idle struct {
		Window  float64            `json:"window"`
		Poll    float64            `json:"poll"`
		Probes  float64            `json:"probes"`
		Calls   map[string]float64 `json:"calls"`
		Cores   float64            `json:"cores"`
		Kube    map[string]float64 `json:"kubeRequests"`
		PeakRSS uint64             `json:"peakRSS"`
		RSS     uint64             `json:"rss"`
	} `json:"idle"`

	Remove removal `json:"remove"`
}

func (f *krakeFigures) print(to io.Writer) {
	fmt.Fprintln(to, f.Host)
	fmt.Fprintf(to, "\n%d Clusters; made at %g times the speed of life (poll interval %s); load %.1f\n",
		f.Clusters, f.Tempo.Speed, f.Tempo.Poll, f.Load)
	table(to, f.lines())
}

func (f *krakeFigures) lines() []line {
	m, o, i := f.Make, f.Outage, f.Idle
	creates, states, outage := m.Calls["createInfrastructure"], i.Calls["getState"], sum(o.Calls)/o.Minutes
	return []line{
		{"all Clusters ONLINE after", fmt.Sprintf("%.1f s", m.OnlineAfter), fmt.Sprintf("%.1f reconciles for each", m.Reconciles), "", true},
		{"creates per Cluster", fmt.Sprintf("%.2f", creates), fmt.Sprintf("%.1f calls: %s", sum(m.Calls), listed(m.Calls, "%.1f")), "1", creates == 1},
		{"reconciles longer than a second", fmt.Sprintf("%.0f", m.LongReconciles), "", "0: no worker waits", m.LongReconciles == 0},
		{"manager's CPU per Cluster", fmt.Sprintf("%.0f ms", 1000*m.CPU), "", "", true},
		{"requests to the API server per Cluster", fmt.Sprintf("%.1f", sum(m.Kube)), listed(m.Kube, "%.1f"), "", true},
		{"manager's peak RSS while making", mib(m.PeakRSS), fmt.Sprintf("%s when all are made", mib(m.RSS)),
			"≤ " + mib(maxKrakeRSS), m.PeakRSS <= maxKrakeRSS},
		{"calls per minute while the infrastructure manager is down", fmt.Sprintf("%.2f", outage),
			fmt.Sprintf("%.1f minutes: %s; %.1f %% of a core", o.Minutes, listed(o.Calls, "%.0f"), 100*o.Cores),
			fmt.Sprintf("≤ %.0f", maxCallsPerMinute), outage <= maxCallsPerMinute},
		{"all changes made after it is back", fmt.Sprintf("%.0f s", o.ChangedAfter), "", "", true},
		{"probes per Cluster and interval at rest", fmt.Sprintf("%.2f", i.Probes), fmt.Sprintf("in %.0f s, every %.0f s", i.Window, i.Poll),
			"≤ 1.1", i.Probes <= 1+noise},
		{"states per Cluster and interval at rest", fmt.Sprintf("%.3f", states), fmt.Sprintf("%.3f calls: %s", sum(i.Calls), listed(i.Calls, "%.3f")),
			"≤ 0.11", states <= 0.1*(1+noise)},
		{"manager's CPU at rest", fmt.Sprintf("%.1f %% of a core", 100*i.Cores), "", "", true},
		{"manager's peak RSS at rest", mib(i.PeakRSS), fmt.Sprintf("%s in the end", mib(i.RSS)), "≤ " + mib(maxKrakeRSS), i.PeakRSS <= maxKrakeRSS},
		{"requests to the API server at rest, per second", fmt.Sprintf("%.2f", sum(i.Kube)), listed(i.Kube, "%.2f"), "", true},
		{"all deleted after", fmt.Sprintf("%.0f s", f.Remove.GoneAfter),
			fmt.Sprintf("%.1f calls for each: %s", sum(f.Remove.Calls), listed(f.Remove.Calls, "%.1f")), "", true},
		{"left outside", fmt.Sprint(f.Remove.Left), "", "0", f.Remove.Left == 0},
	}
}
