package main

import (
	"math"
	"slices"
	"time"
)

// figures of one size. Times are in seconds, sizes in bytes.
type figures struct {
	Machines int   `json:"machines"`
	Clusters int   `json:"clusters"`
	Tempo    tempo `json:"tempo"`
	// Load is how many processes wanted to run on average, in the last five minutes of making: others' too.
	Load float64 `json:"load"`

	Make struct {
		// InstancesAfter is when the last instance was there, ProvisionedAfter when the last machine was provisioned.
		InstancesAfter   float64 `json:"instancesAfter"`
		ProvisionedAfter float64 `json:"provisionedAfter"`
		// CPUPerMachine is the manager's.
		CPUPerMachine float64 `json:"cpuPerMachine"`
		// Calls outside, requests to the API server and reconciles are for each machine.
		Calls      map[string]float64 `json:"calls"`
		Kube       map[string]float64 `json:"kubeRequests"`
		Reconciles float64            `json:"reconciles"`
		// PeakRSS is the most there ever was; RSS what is left when all are provisioned.
		PeakRSS uint64 `json:"peakRSS"`
		RSS     uint64 `json:"rss"`
		Delay   delay  `json:"delay"`
	} `json:"make"`

	Idle idleFigures `json:"idle"`

	// List and Gets are two ways to learn how all instances are.
	List cost `json:"list"`
	Gets cost `json:"gets"`

	Remove removal `json:"remove"`
}

// idleFigures are what a manager costs while nothing changes.
type idleFigures struct {
	// RestAfter is when a new manager had reconciled everything once; RestartCalls are the outside calls for that.
	RestAfter    float64        `json:"restAfter"`
	RestartCalls map[string]int `json:"restartCalls"`
	Window       float64        `json:"window"`
	Poll         float64        `json:"poll"`
	// Calls outside within the window. Expected are those of one list, times the intervals in the window.
	Calls         map[string]int `json:"calls"`
	ExpectedCalls int            `json:"expectedCalls"`
	// Cores that the manager uses; requests to the API server and reconciles are for each second.
	Cores      float64            `json:"cores"`
	Kube       map[string]float64 `json:"kubeRequests"`
	Reconciles float64            `json:"reconciles"`
	PeakRSS    uint64             `json:"peakRSS"`
	RSS        uint64             `json:"rss"`
}

// removal of everything. Calls are for each machine.
type removal struct {
	GoneAfter float64            `json:"goneAfter"`
	Calls     map[string]float64 `json:"calls"`
	Left      int                `json:"left"`
}

// delay from "Ready out there" to status.initialization.provisioned, as a watch sees it.
type delay struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func delayOf(delays []time.Duration) delay {
	slices.Sort(delays)
	return delay{
		P50: percentile(delays, 50).Seconds(), P99: percentile(delays, 99).Seconds(), Max: percentile(delays, 100).Seconds(),
	}
}

// percentile of sorted durations, by the nearest rank.
func percentile(sorted []time.Duration, percent float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// per divides each value: by the number of machines, or by the seconds that a window lasted.
func per[N int | float64](values map[string]N, divisor float64) map[string]float64 {
	quotients := map[string]float64{}
	for key, n := range values {
		quotients[key] = float64(n) / divisor
	}
	return quotients
}
