package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// usage is what a process has taken so far.
type usage struct {
	at  time.Time
	cpu time.Duration
	// rss and peak are resident bytes: now, and the most there ever were.
	rss, peak uint64
}

func usageOf(pid int) (usage, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return usage{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	stat, err := p.Stat()
	if err != nil {
		return usage{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	status, err := p.NewStatus()
	if err != nil {
		return usage{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return usage{
		at: time.Now(), cpu: time.Duration(stat.CPUTime() * float64(time.Second)), rss: status.VmRSS, peak: status.VmHWM,
	}, nil
}

// cores is how many of them were in use since an earlier moment.
func (u usage) cores(before usage) float64 {
	return (u.cpu - before.cpu).Seconds() / u.at.Sub(before.at).Seconds()
}
