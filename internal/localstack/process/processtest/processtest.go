// Package processtest shows tests the processes of this computer.
package processtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/prometheus/procfs"
)

// Memory of a process that is resident, and the most that has been, in MB.
func Memory(t testing.TB, pid int) (resident, peak float64) {
	t.Helper()
	process, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatalf("look at process %d: %v", pid, err)
	}
	status, err := process.NewStatus()
	if err != nil {
		t.Fatalf("look at process %d: %v", pid, err)
	}
	return float64(status.VmRSS) / 1e6, float64(status.VmHWM) / 1e6
}

// Mentioning returns the command lines, by process ID, of the running processes that contain a text. Each argument ends with a
// zero byte when it is searched, and with a space when it is returned.
func Mentioning(t testing.TB, text string) map[int]string {
	t.Helper()
	found := map[int]string{}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatalf("look at the processes: %v", err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(text)) { // a process that has just ended has no line
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatalf("look at the processes: %v", err)
		}
		found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
	}
	return found
}
