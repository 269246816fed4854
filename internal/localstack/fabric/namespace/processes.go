package namespace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

const (
	killPatience = 10 * time.Second
	killInterval = 5 * time.Millisecond
)

// Processes returns the IDs of the processes that run in any of the namespaces, without this one.
func Processes(names ...string) ([]int, error) {
	namespaces, err := files(names)
	if err != nil || len(namespaces) == 0 {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && runsIn(pid, namespaces) {
			found = append(found, pid)
		}
	}
	return found, nil
}

func files(names []string) ([]os.FileInfo, error) {
	var found []os.FileInfo
	for _, name := range names {
		info, err := os.Stat(Path(name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at network namespace: %w", err)
		}
		found = append(found, info)
	}
	return found, nil
}

// runsIn is false for this process: one of its threads may be visiting.
func runsIn(pid int, namespaces []os.FileInfo) bool {
	if pid == os.Getpid() {
		return false
	}
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "ns", "net"))
	if err != nil {
		return false // it has ended
	}
	return slices.ContainsFunc(namespaces, func(namespace os.FileInfo) bool { return os.SameFile(info, namespace) })
}

// killProcesses returns when no process is left, those included that were forked meanwhile.
func killProcesses(names []string) error {
	namespaces, err := files(names)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(killPatience)
	for {
		left, err := Processes(names...)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v don't end", left)
		}
		for _, pid := range left {
			kill(pid, namespaces)
		}
		time.Sleep(killInterval)
	}
}

// kill checks again once it holds the process: its ID may have been reused.
func kill(pid int, namespaces []os.FileInfo) {
	process, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	if runsIn(pid, namespaces) {
		_ = process.Kill()
	}
	_ = process.Release()
}
