//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// stuck is a command that waits for its standard input and for nothing else, as many calls do.
func stuck(t *testing.T, command *exec.Cmd) (process *os.Process, ended <-chan error) {
	t.Helper()
	g := NewWithT(t)
	out, in, err := os.Pipe()
	g.Expect(err).NotTo(HaveOccurred())
	command.Stdin = out
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = in.Close(); _ = out.Close() })
	_, err = io.WriteString(in, "{")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (int, error) { return unix.IoctlGetInt(int(out.Fd()), unix.TIOCINQ) }).WithTimeout(patience).Should(BeZero())
	end := make(chan error, 1)
	go func() { end <- command.Wait() }()
	return command.Process, end
}

// A supervisor that waits for its options handles no signal.
func supervisor(t *testing.T) []string { return []string{os.Args[0], "lab", "supervise", t.TempDir()} }

func TestSignal_theSecondKillsWhateverStillRuns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	process, ended := stuck(t, exec.CommandContext(t.Context(), supervisor(t)[0], supervisor(t)[1:]...))
	g.Expect(process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(func() bool { // the handler is gone after the first signal
		_ = process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			return strings.Contains(fmt.Sprint(err), "signal: ")
		default:
			return false
		}
	}).WithTimeout(patience).Should(BeTrue())
}

// As nohup starts a command, and a shell without job control those in its background.
func TestSignal_thatWasIgnoredStaysIgnored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	mask := func(pid string) string {
		status, err := os.ReadFile("/proc/" + pid + "/status")
		g.Expect(err).NotTo(HaveOccurred())
		for line := range strings.Lines(string(status)) {
			if mask, ok := strings.CutPrefix(line, "SigIgn:"); ok {
				return strings.TrimSpace(mask)
			}
		}
		return ""
	}
	ignored := func(ignore string) string {
		process, _ := stuck(t, exec.CommandContext(t.Context(), "sh", append([]string{"-c", ignore + `exec "$0" "$@"`}, supervisor(t)...)...))
		return mask(strconv.Itoa(process.Pid))
	}
	hup := func(mask string) bool {
		bits, err := strconv.ParseUint(mask, 16, 64)
		g.Expect(err).NotTo(HaveOccurred())
		return bits&(1<<(syscall.SIGHUP-1)) != 0
	}
	g.Expect(hup(ignored("trap '' HUP; "))).To(BeTrue())
	g.Expect(hup(ignored(""))).To(Equal(hup(mask("self"))), "as the test itself was started: it may be below nohup, too")
}
