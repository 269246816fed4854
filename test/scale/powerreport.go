package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// maxOverChain is how much longer than the services a cluster may take.
const maxOverChain = 0.1

// powerReport is what a bench of powervs' manager has found. What wasn't measured is nil.
type powerReport struct {
	Host  machineRoom   `json:"host"`
	Began time.Time     `json:"began"`
	Alone *powerFigures `json:"alone,omitempty"`
	Fleet *powerFigures `json:"fleet,omitempty"`
}

// powerFigures are those of a number of clusters. Times are in seconds, sizes in bytes.
type powerFigures struct {
	Clusters int     `json:"clusters"`
	Machines int     `json:"machines"`
	Tempo    tempo   `json:"tempo"`
	Chain    chain   `json:"chain"`
	Load     float64 `json:"load"` // as in figures

	// Make is, but for times and memory, for each cluster.
	Make struct {
		// ClustersAfter and MachinesAfter are when the last of them was provisioned.
		ClustersAfter float64            `json:"clustersAfter"`
		MachinesAfter float64            `json:"machinesAfter"`
		CPU           float64            `json:"cpu"`
		Calls         map[string]float64 `json:"calls"`
		Kube          map[string]float64 `json:"kubeRequests"`
		Reconciles    float64            `json:"reconciles"`
		PeakRSS       uint64             `json:"peakRSS"`
		RSS           uint64             `json:"rss"`
	} `json:"make"`

	Idle   idleFigures `json:"idle"`
	Remove removal     `json:"remove"`
}

// chain is when a cluster and its machines could be provisioned, in seconds.
type chain struct {
	Cluster  float64 `json:"cluster"`
	Machines float64 `json:"machines"`
}

func (r *powerReport) print(to io.Writer) {
	fmt.Fprintln(to, r.Host)
	for _, f := range []*powerFigures{r.Alone, r.Fleet} {
		if f == nil {
			continue
		}
		fmt.Fprintf(to, "\n%d clusters with %d machines; made at %g times the speed of life (poll interval %s); load %.1f\n",
			f.Clusters, f.Machines, f.Tempo.Speed, f.Tempo.Poll, f.Load)
		table(to, f.lines())
	}
}

func (f powerFigures) lines() []line {
	lines := f.makeLines()
	if f.Idle.Window > 0 {
		lines = append(lines, f.idleLines()...)
	}
	return append(lines,
		line{"all deleted after", fmt.Sprintf("%.0f s", f.Remove.GoneAfter),
			fmt.Sprintf("%.1f outside calls per machine: %s", sum(f.Remove.Calls), listed(byService(f.Remove.Calls), "%.1f")), "", true},
		line{"left outside", fmt.Sprint(f.Remove.Left), "", "0", f.Remove.Left == 0})
}

func (f powerFigures) makeLines() []line {
	m := f.Make
	after := func(what string, took, least float64) line {
		l := line{what, fmt.Sprintf("%.1f s", took), fmt.Sprintf("the services take %.1f s: × %.2f", least, took/least), "", true}
		if f.Clusters == 1 { // many share the processor with the services
			most := (1 + maxOverChain) * least
			l.target, l.met = fmt.Sprintf("≤ %.1f s", most), took <= most
		}
		return l
	}
	return []line{
		after("all clusters provisioned after", m.ClustersAfter, f.Chain.Cluster),
		after("all machines provisioned after", m.MachinesAfter, f.Chain.Machines),
		{"outside calls per cluster until provisioned", fmt.Sprintf("%.1f", sum(m.Calls)), listed(byService(m.Calls), "%.1f"), "", true},
		{"  of these", "", listed(m.Calls, "%.1f"), "", true},
		{"logins per cluster until provisioned", fmt.Sprintf("%.1f", byService(m.Calls)["iam"]), fmt.Sprintf("%.1f reconciles", m.Reconciles),
			"≤ 1: one token", byService(m.Calls)["iam"] <= 1},
		{"manager's CPU per cluster", fmt.Sprintf("%.0f ms", 1000*m.CPU), "", "", true},
		{"requests to the API server per cluster", fmt.Sprintf("%.1f", sum(m.Kube)), listed(m.Kube, "%.1f"), "", true},
		{"manager's peak RSS while making", mib(m.PeakRSS), fmt.Sprintf("%s when all are made", mib(m.RSS)),
			"≤ " + mib(maxRSS), m.PeakRSS <= maxRSS},
	}
}

func (f powerFigures) idleLines() []line {
	i := f.Idle
	intervals := i.Window / i.Poll
	calls := per(i.Calls, intervals*float64(f.Clusters))
	lists, most := i.Calls["power.listServers"], int(math.Ceil(float64(i.ExpectedCalls)*(1+noise)))
	logins, singly := byService(i.Calls)["iam"], i.Calls["power.getServer"]
	return []line{
		{"a new manager is at rest after", fmt.Sprintf("%.1f s", i.RestAfter),
			fmt.Sprintf("%d outside calls: %s", sum(i.RestartCalls), listed(byService(i.RestartCalls), "%d")), "", true},
		{"manager's peak RSS at rest", mib(i.PeakRSS), fmt.Sprintf("%s in the end", mib(i.RSS)),
			"≤ " + mib(maxRSS), i.PeakRSS <= maxRSS},
		{"manager's CPU at rest", fmt.Sprintf("%.1f %% of a core", 100*i.Cores),
			fmt.Sprintf("%.2f reconciles per second", i.Reconciles), fmt.Sprintf("≤ %.0f %%", 100*maxIdleCores), i.Cores <= maxIdleCores},
		{"logins at rest", fmt.Sprint(logins), fmt.Sprintf("in %.0f s, every %.0f s", i.Window, i.Poll), "0", logins == 0},
		{"lists of virtual machines at rest", fmt.Sprint(lists), fmt.Sprintf("expected are %d: workspaces × intervals", i.ExpectedCalls),
			fmt.Sprintf("≤ %d", most), lists <= most},
		{"virtual machines read one by one at rest", fmt.Sprint(singly), "", "0", singly == 0},
		{"outside calls per cluster and interval at rest", fmt.Sprintf("%.2f", sum(calls)), listed(byService(calls), "%.2f"), "", true},
		{"  of these", "", listed(calls, "%.2f"), "", true},
		{"requests to the API server at rest, per second", fmt.Sprintf("%.2f", sum(i.Kube)), listed(i.Kube, "%.2f"), "", true},
	}
}

// byService sums up what the operations of each service add to it.
func byService[N int | float64](calls map[string]N) map[string]N {
	sums := map[string]N{}
	for operation, n := range calls {
		service, _, _ := strings.Cut(operation, ".")
		sums[service] += n
	}
	return sums
}
