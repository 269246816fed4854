package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/dpf/sim/platform"
)

// Targets for DPF.
const (
	maxDPFRSS = 200 << 20
	// maxWritesPerNode: three of the node, four of its record in the journal, and one that another client's write was in the way of.
	maxWritesPerNode = 8.0
	// maxStatusWritesPerNode: each of these seven may be shown.
	maxStatusWritesPerNode = 7.0
	maxAtWorkAfter         = 10.0 // seconds
	maxJournal             = 1 << 20
)

// Whose API server is called.
const ownCluster, dpuClusters = "its own cluster", "DPU clusters"

// dpfFigures are those of a host cluster with its DPU clusters. Times are in seconds, sizes in bytes. Writes are those of the operator, in
// its own cluster, by what they are of.
type dpfFigures struct {
	Host     machineRoom    `json:"host"`
	Began    time.Time      `json:"began"`
	Nodes    platform.Nodes `json:"nodes"`
	Clusters int            `json:"clusters"`
	Load     float64        `json:"load"` // as in figures

	// Install of all components, without a network that is moved.
	Install struct {
		ReadyAfter float64        `json:"readyAfter"`
		Writes     map[string]int `json:"writes"`
		Operator   footprint      `json:"operator"`
		Services   footprint      `json:"services"`
	} `json:"install"`

	// Roll of all nodes: some with maxUnavailable 1, then several at a time, and after half of these the operator is killed.
	Roll struct {
		BegunAfter float64        `json:"begunAfter"` // the first node
		Alone      stretch        `json:"alone"`
		Many       stretch        `json:"many"`
		MovedAfter float64        `json:"movedAfter"`
		Writes     map[string]int `json:"writes"`
		Refused    map[string]int `json:"refused"`
		// Others are writes of nodes that aren't to be moved.
		Others      int       `json:"others"`
		StatusBytes float64   `json:"statusBytes"` // of one write, on average
		Operator    footprint `json:"operator"`
		Services    footprint `json:"services"`
	} `json:"roll"`

	// Crash is from the kill of the operator until the first write of the next one, which is started at once.
	Crash struct {
		AtWorkAfter float64 `json:"atWorkAfter"`
	} `json:"crash"`

	// Idle calls are for each minute, by whose API server they are of, with those for the lease.
	Idle struct {
		Window   float64            `json:"window"`
		Poll     float64            `json:"poll"`
		Writes   map[string]int     `json:"writes"`
		Calls    map[string]float64 `json:"calls"`
		Operator footprint          `json:"operator"`
		Services footprint          `json:"services"`
	} `json:"idle"`

	// Back is the deletion of everything. Changed are the objects that aren't as they were before.
	Back struct {
		GoneAfter float64        `json:"goneAfter"`
		Writes    map[string]int `json:"writes"`
		Changed   []string       `json:"changed"`
		Operator  footprint      `json:"operator"`
	} `json:"back"`

	// Large is nil if that wasn't measured.
	Large *largeFigures `json:"large,omitempty"`
}

// largeFigures are those of a configuration with many hosts, which are all begun at once.
type largeFigures struct {
	Hosts      int            `json:"hosts"`
	BegunAfter float64        `json:"begunAfter"`
	Writes     map[string]int `json:"writes"`
	// Shard is the largest ConfigMap of the journal; Journal all of them.
	Shard   int `json:"shard"`
	Journal int `json:"journal"`
	// Status is the largest write of it, StatusBytes the mean.
	Status      int       `json:"status"`
	StatusBytes float64   `json:"statusBytes"`
	Operator    footprint `json:"operator"`
}

// stretch of a roll.
type stretch struct {
	AtATime int     `json:"atATime"`
	Nodes   int     `json:"nodes"`
	Seconds float64 `json:"seconds"`
}

// footprint of a process in a while; the peak is that of its life.
type footprint struct {
	CPU     float64 `json:"cpu"`
	Cores   float64 `json:"cores"`
	PeakRSS uint64  `json:"peakRSS"`
	RSS     uint64  `json:"rss"`
}

func (f footprint) String() string {
	return fmt.Sprintf("peak RSS %s, %s in the end; CPU %.1f s, %.1f %% of a core", mib(f.PeakRSS), mib(f.RSS), f.CPU, 100*f.Cores)
}

func (f *dpfFigures) print(to io.Writer) {
	fmt.Fprintln(to, f.Host)
	if f.Nodes.WithDPUs > 0 {
		fmt.Fprintf(to, "\n%d nodes with DPUs, %d without, %d DPU clusters of %d nodes; load %.1f\n",
			f.Nodes.WithDPUs, f.Nodes.Without, f.Clusters, f.Nodes.PerCluster, f.Load)
		table(to, f.lines())
	}
	if f.Large != nil {
		fmt.Fprintf(to, "\n%d hosts, all begun at once, no further than Provisioning\n", f.Large.Hosts)
		table(to, f.Large.lines())
	}
}

func memory(what string, f footprint) line {
	return line{what, mib(f.PeakRSS), f.String(), "≤ " + mib(maxDPFRSS), f.PeakRSS <= maxDPFRSS}
}

// perNode are the writes of nodes and of their records in the journal, and those of the status, for each node.
func perNode(writes map[string]int, nodes int) (moves, statuses float64) {
	for what, n := range writes {
		switch {
		case strings.HasSuffix(what, " nodes"), strings.HasSuffix(what, " "+recordsOfNodes):
			moves += float64(n)
		case strings.HasSuffix(what, " dpfoperatorconfigs/status"):
			statuses += float64(n)
		}
	}
	return moves / float64(nodes), statuses / float64(nodes)
}

func (s stretch) line() line {
	return line{fmt.Sprintf("%d nodes, maxUnavailable %d", s.Nodes, s.AtATime), fmt.Sprintf("%.1f s", s.Seconds),
		fmt.Sprintf("%.2f s for each", s.Seconds/float64(max(1, s.Nodes))), "", true}
}

func (f *dpfFigures) lines() []line {
	r, i, b := f.Roll, f.Idle, f.Back
	moves, statuses := perNode(r.Writes, f.Nodes.WithDPUs)
	back, _ := perNode(b.Writes, f.Nodes.WithDPUs)
	return []line{
		{"all components ready after", fmt.Sprintf("%.0f s", f.Install.ReadyAfter),
			fmt.Sprintf("%d writes: %s", sum(f.Install.Writes), listed(f.Install.Writes, "%d")), "", true},
		memory("operator's peak RSS while installing", f.Install.Operator),
		memory("services' manager's peak RSS while installing", f.Install.Services),
		{"first node begun after", fmt.Sprintf("%.1f s", r.BegunAfter), "ovnkube-node is rolled out before", "", true},
		r.Alone.line(), r.Many.line(),
		{"all nodes on their DPUs after", fmt.Sprintf("%.0f s", r.MovedAfter), "with a crash on the way", "", true},
		{"writes of nodes and their records per moved node", fmt.Sprintf("%.2f", moves),
			fmt.Sprintf("%d writes: %s; refused: %s", sum(r.Writes), listed(r.Writes, "%d"), listed(r.Refused, "%d")),
			fmt.Sprintf("≤ %.0f", maxWritesPerNode), moves <= maxWritesPerNode},
		{"writes of the status per moved node", fmt.Sprintf("%.2f", statuses), fmt.Sprintf("of %.0f bytes on average", r.StatusBytes),
			fmt.Sprintf("≤ %.0f", maxStatusWritesPerNode), statuses <= maxStatusWritesPerNode},
		{"writes of nodes that aren't moved", fmt.Sprint(r.Others), "", "0", r.Others == 0},
		memory("operator's peak RSS while moving", r.Operator),
		memory("services' manager's peak RSS while moving", r.Services),
		{"at work after a kill", fmt.Sprintf("%.1f s", f.Crash.AtWorkAfter), "", fmt.Sprintf("≤ %.0f s", maxAtWorkAfter),
			f.Crash.AtWorkAfter <= maxAtWorkAfter},
		{"writes at rest", fmt.Sprint(sum(i.Writes)), fmt.Sprintf("in %.0f s: %s", i.Window, listed(i.Writes, "%d")), "0", sum(i.Writes) == 0},
		{"operator's calls per minute at rest", fmt.Sprintf("%.0f", sum(i.Calls)), listed(i.Calls, "%.0f"), "", true},
		memory("operator's peak RSS at rest", i.Operator),
		memory("services' manager's peak RSS at rest", i.Services),
		{"all gone after", fmt.Sprintf("%.0f s", b.GoneAfter), fmt.Sprintf("%d writes: %s", sum(b.Writes), listed(b.Writes, "%d")), "", true},
		{"writes of nodes and their records per node that went back", fmt.Sprintf("%.2f", back), "", fmt.Sprintf("≤ %.0f", maxWritesPerNode),
			back <= maxWritesPerNode},
		memory("operator's peak RSS on the way back", b.Operator),
		{"objects that aren't as before", fmt.Sprint(len(b.Changed)), strings.Join(b.Changed[:min(len(b.Changed), 10)], ", "), "0",
			len(b.Changed) == 0},
	}
}

func (f *largeFigures) lines() []line {
	moves, statuses := perNode(f.Writes, f.Hosts)
	return []line{
		{"all begun after", fmt.Sprintf("%.0f s", f.BegunAfter), fmt.Sprintf("%d writes: %s", sum(f.Writes), listed(f.Writes, "%d")), "", true},
		{"writes of nodes and their records per node", fmt.Sprintf("%.2f", moves), "", fmt.Sprintf("≤ %.0f", maxWritesPerNode), moves <= maxWritesPerNode},
		{"largest ConfigMap of the journal", fmt.Sprintf("%d KiB", f.Shard>>10), fmt.Sprintf("%d KiB in all", f.Journal>>10),
			fmt.Sprintf("< %d KiB", maxJournal>>10), f.Shard < maxJournal},
		{"largest write of the status", fmt.Sprintf("%d KiB", f.Status>>10),
			fmt.Sprintf("%.0f KiB on average; %.3f for each node", f.StatusBytes/1024, statuses), "", true},
		memory("operator's peak RSS", f.Operator),
	}
}
