package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The targets.
const (
	maxCallsPerMachine = 3
	maxDelayOverPoll   = 2.0 // seconds
	maxRSS             = 300 << 20
	maxIdleCores       = 0.05
	maxGrowth          = 1.0
	// noise is how much two measurements of the same differ.
	noise = 0.1
)

// report is what a bench has found.
type report struct {
	Host  machineRoom `json:"host"`
	Began time.Time   `json:"began"`
	// Serial is nil if that wasn't measured.
	Serial *serialFigures `json:"serial,omitempty"`
	// Hostile is nil if that wasn't measured.
	Hostile *hostileFigures `json:"hostile,omitempty"`
	// Dead is nil likewise.
	Dead *deadFigures `json:"dead,omitempty"`
	Runs []figures    `json:"runs"`
	// Nodes is nil if the cloud controller manager wasn't measured.
	Nodes *nodeFigures `json:"nodes,omitempty"`
}

// line of the table. One without a target is there to be understood.
type line struct {
	what, value, detail, target string
	met                         bool
}

// write a report for programs.
func write(report any, file string) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return os.WriteFile(file, append(data, '\n'), 0o600)
}

func (r *report) print(to io.Writer) {
	fmt.Fprintln(to, r.Host)
	if r.Serial != nil {
		fmt.Fprintf(to, "\n%d machines at a service that makes one after the other, at the speed of life, all flags at their defaults\n",
			r.Serial.Machines)
		table(to, r.Serial.lines())
	}
	if r.Hostile != nil {
		fmt.Fprintf(to, "\n%d machines, as before, while the API of another tenant's %d objects is hostile\n", r.Serial.Machines, r.Hostile.Objects)
		table(to, r.Hostile.lines())
	}
	if r.Dead != nil {
		fmt.Fprintf(to, "\nA cluster beside %d at three endpoints that don't answer, at the speed of life, all flags at their defaults\n",
			r.Dead.Clusters)
		table(to, r.Dead.lines())
	}
	for _, f := range r.Runs {
		fmt.Fprintf(to, "\n%d machines, %d clusters; made at %g times the speed of life (poll interval %s); load %.1f\n",
			f.Machines, f.Clusters, f.Tempo.Speed, f.Tempo.Poll, f.Load)
		table(to, f.lines())
	}
	for i := 1; i < len(r.Runs); i++ {
		fmt.Fprintf(to, "\nGrowth from %d to %d machines: %d times as many\n", r.Runs[i-1].Machines, r.Runs[i].Machines,
			r.Runs[i].Machines/r.Runs[i-1].Machines)
		table(to, growth(r.Runs[i-1], r.Runs[i]))
	}
	if r.Nodes != nil {
		fmt.Fprintf(to, "\n%d nodes, and the cloud controller manager\n", r.Nodes.Nodes)
		table(to, r.Nodes.lines())
	}
}

func table(to io.Writer, lines []line) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		verdict := ""
		if l.target != "" {
			verdict = map[bool]string{true: "met", false: "MISSED"}[l.met]
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", l.what, l.value, l.target, verdict)
		if l.detail != "" {
			fmt.Fprintf(w, "      %s\n", l.detail)
		}
	}
	_ = w.Flush() // to the terminal
}

func (f figures) lines() []line {
	lines := f.makeLines()
	if f.Idle.Window > 0 {
		lines = append(lines, f.idleLines()...)
	}
	return append(lines,
		line{"all deleted after", fmt.Sprintf("%.0f s", f.Remove.GoneAfter),
			fmt.Sprintf("%.2f outside calls per machine: %s", sum(f.Remove.Calls), listed(f.Remove.Calls, "%.2f")), "", true},
		line{"left outside", fmt.Sprint(f.Remove.Left), "", "0", f.Remove.Left == 0})
}

func (f figures) makeLines() []line {
	m := f.Make
	calls, most := sum(m.Calls), f.Tempo.Poll.Seconds()+maxDelayOverPoll
	return []line{
		{"outside calls per machine until provisioned", fmt.Sprintf("%.2f", calls), listed(m.Calls, "%.2f"),
			fmt.Sprintf("≤ %d", maxCallsPerMachine), calls <= maxCallsPerMachine},
		{"from Ready out there to provisioned, p99", fmt.Sprintf("%.1f s", m.Delay.P99),
			fmt.Sprintf("p50 %.1f s, max %.1f s", m.Delay.P50, m.Delay.Max), fmt.Sprintf("≤ %.1f s", most), m.Delay.P99 <= most},
		{"all machines provisioned after", fmt.Sprintf("%.0f s", m.ProvisionedAfter),
			fmt.Sprintf("all instances made after %.0f s", m.InstancesAfter), "", true},
		{"manager's CPU per machine", fmt.Sprintf("%.1f ms", 1000*m.CPUPerMachine),
			fmt.Sprintf("%.1f reconciles", m.Reconciles), "", true},
		{"requests to the API server per machine", fmt.Sprintf("%.1f", sum(m.Kube)), listed(m.Kube, "%.1f"), "", true},
		{"manager's peak RSS while making", mib(m.PeakRSS), fmt.Sprintf("%s when all are made", mib(m.RSS)),
			"≤ " + mib(maxRSS), m.PeakRSS <= maxRSS},
	}
}

func (f figures) idleLines() []line {
	i := f.Idle
	lists := i.Calls["listInstances"]
	return []line{
		{"a new manager is at rest after", fmt.Sprintf("%.1f s", i.RestAfter),
			fmt.Sprintf("%d outside calls: %s", sum(i.RestartCalls), listed(i.RestartCalls, "%d")), "", true},
		{"manager's peak RSS at rest", mib(i.PeakRSS), fmt.Sprintf("%s in the end", mib(i.RSS)),
			"≤ " + mib(maxRSS), i.PeakRSS <= maxRSS},
		{"lists of instances at rest, in pages", fmt.Sprint(lists), fmt.Sprintf("in %.0f s, every %.0f s", i.Window, i.Poll),
			fmt.Sprintf("≤ %d: pages × intervals", i.ExpectedCalls), lists <= i.ExpectedCalls},
		{"other outside calls at rest", fmt.Sprint(sum(i.Calls) - lists), listed(i.Calls, "%d"), "", true},
		{"manager's CPU at rest", fmt.Sprintf("%.1f %% of a core", 100*i.Cores),
			fmt.Sprintf("%.2f reconciles per second", i.Reconciles),
			fmt.Sprintf("≤ %.0f %%", 100*maxIdleCores), i.Cores <= maxIdleCores},
		{"requests to the API server at rest, per second", fmt.Sprintf("%.2f", sum(i.Kube)), listed(i.Kube, "%.2f"), "", true},
		{"how all are, by one list", fmt.Sprintf("%d calls", f.List.Calls), f.List.String(), "", true},
		{"how all are, by a call for each", fmt.Sprintf("%d calls", f.Gets.Calls), f.Gets.String(), "", true},
	}
}

func (c cost) String() string {
	return fmt.Sprintf("%.2f s; CPU %.2f s here, %.2f s there", c.Seconds, c.CPU, c.SiteCPU)
}

// growth compares what a machine costs at two sizes.
func growth(small, large figures) []line {
	times := func(what string, before, after float64) line {
		ratio := after / before
		const most = maxGrowth + noise
		return line{what, fmt.Sprintf("× %.2f", ratio), "", fmt.Sprintf("≤ %.1f: no worse than linear", most), ratio <= most}
	}
	rss := func(f figures) float64 { return float64(f.Make.PeakRSS) / float64(f.Machines) }
	return []line{
		times("time per machine until all have an instance", small.Make.InstancesAfter/float64(small.Machines),
			large.Make.InstancesAfter/float64(large.Machines)),
		times("manager's CPU per machine", small.Make.CPUPerMachine, large.Make.CPUPerMachine),
		times("outside calls per machine", sum(small.Make.Calls), sum(large.Make.Calls)),
		times("manager's peak RSS per machine", rss(small), rss(large)),
		times("time per machine until all are deleted", small.Remove.GoneAfter/float64(small.Machines),
			large.Remove.GoneAfter/float64(large.Machines)),
	}
}

func mib(bytes uint64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// listed names the parts of a sum, the largest first.
func listed[N int | float64](values map[string]N, format string) string {
	keys := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		switch {
		case values[a] > values[b]:
			return -1
		case values[a] < values[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, key := range keys {
		parts = append(parts, key+" "+fmt.Sprintf(format, values[key]))
	}
	return strings.Join(parts, ", ")
}
