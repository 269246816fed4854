package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
	"k8s.io/utils/ptr"
)

// machineRoom is where the figures come from.
type machineRoom struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory uint64 `json:"memoryBytes"`
	Go     string `json:"go"`
	Commit string `json:"commit"`
}

func (m machineRoom) String() string {
	return fmt.Sprintf("%s, %d cores, %.0f GiB, %s, commit %s", m.CPU, m.Cores, float64(m.Memory)/(1<<30), m.Go, m.Commit)
}

func host() (machineRoom, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return machineRoom{}, fmt.Errorf("look at this computer: %w", err)
	}
	cpus, err := proc.CPUInfo()
	if err != nil {
		return machineRoom{}, fmt.Errorf("look at this computer's CPUs: %w", err)
	}
	if len(cpus) == 0 {
		return machineRoom{}, errors.New("look at this computer's CPUs: it names none")
	}
	memory, err := proc.Meminfo()
	if err != nil {
		return machineRoom{}, fmt.Errorf("look at this computer's memory: %w", err)
	}
	commit, err := exec.CommandContext(context.Background(), "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	return machineRoom{
		CPU: cpus[0].ModelName, Cores: runtime.NumCPU(), Memory: ptr.Deref(memory.MemTotalBytes, 0), Go: runtime.Version(),
		Commit: strings.TrimSpace(string(commit)),
	}, nil
}

// load is how many processes wanted to run on average in the last five minutes.
func load() (float64, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("look at this computer: %w", err)
	}
	average, err := proc.LoadAvg()
	if err != nil {
		return 0, fmt.Errorf("look at this computer's load: %w", err)
	}
	return average.Load5, nil
}
