package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/process"
)

// parentOf makes the test binary play a parent: see TestStart_childrenDieWithAKilledParent.
const parentOf = "BEDPLATE_TEST_PARENT_LOG"

// patience is for what a process does at once, also where others have the processors.
const patience = time.Minute

func TestMain(m *testing.M) {
	if log := os.Getenv(parentOf); log != "" {
		child, err := process.Start(process.Command{Name: "sleep", Path: "/bin/sleep", Args: []string{"300"}, Log: log})
		if err != nil {
			panic(err)
		}
		fmt.Println(child.PID())
		<-child.Done()
		return
	}
	os.Exit(m.Run())
}

func shell(t *testing.T, script string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Command{
		Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log"),
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(p.Kill)
	return p
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestStart_writesOutputAndErrorsToTheLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	p := shell(t, "echo out; echo err >&2; exit 3")
	g.Eventually(p.Done()).WithTimeout(patience).Should(BeClosed())
	g.Expect(process.Tail(p.Log(), 10)).To(Equal("out\nerr"))
	g.Expect(p.ExitError()).To(MatchError(And(ContainSubstring("script ended (exit status 3)"), ContainSubstring("err"))))
}

func TestStart_namesAMissingProgram(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	_, err := process.Start(process.Command{Name: "etcd", Path: "/nowhere/etcd", Log: filepath.Join(t.TempDir(), "log")})
	g.Expect(err).To(MatchError(And(ContainSubstring("start etcd"), ContainSubstring("no such file"))))
}

func TestStart_childrenDieWithAKilledParent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentOf+"="+filepath.Join(t.TempDir(), "log"))
	output, err := parent.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parent.Start()).To(Succeed())
	line, err := bufio.NewReader(output).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	child, err := strconv.Atoi(strings.TrimSpace(line))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(alive(child)).To(BeTrue())

	g.Expect(parent.Process.Kill()).To(Succeed())
	g.Expect(parent.Wait()).NotTo(Succeed())
	g.Eventually(func() bool { return ended(child) }).WithTimeout(patience).Should(BeTrue())
}

// ended also counts a zombie as ended: in a container the orphan may not be reaped.
func ended(pid int) bool {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(status), ") Z ")
}

func TestStop_killsAfterTheGracePeriodAndTakesTheWholeGroup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	p := shell(t, `trap "" TERM; sleep 300 & echo $!; wait; wait`)
	g.Eventually(func() string { return process.Tail(p.Log(), 1) }).WithTimeout(patience).ShouldNot(BeEmpty())
	grandchild, err := strconv.Atoi(process.Tail(p.Log(), 1))
	g.Expect(err).NotTo(HaveOccurred())

	p.Stop(100 * time.Millisecond)
	g.Expect(p.Done()).To(BeClosed())
	g.Eventually(func() bool { return ended(grandchild) }).WithTimeout(patience).Should(BeTrue())
}

func TestStop_isGentleFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	p := shell(t, `trap "echo goodbye; exit 0" TERM; echo hello; while :; do sleep 0.05; done`)
	g.Eventually(func() string { return process.Tail(p.Log(), 1) }).WithTimeout(patience).Should(Equal("hello"))
	p.Stop(patience)
	g.Expect(process.Tail(p.Log(), 1)).To(Equal("goodbye"))
	p.Stop(0) // a second stop does nothing
}

func TestWaitReady_pollsUntilTheProbeSucceeds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	calls := 0
	g.Expect(shell(t, "sleep 300").WaitReady(t.Context(), func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})).To(Succeed())
	g.Expect(calls).To(Equal(3))
}

func TestWaitReady_failsEarlyWithTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	err := shell(t, "echo listen: address already in use; exit 1").WaitReady(t.Context(), func(context.Context) error {
		return errors.New("connection refused")
	})
	var exit *process.ExitError
	g.Expect(errors.As(err, &exit)).To(BeTrue(), "%v", err)
	g.Expect(exit.Tail).To(Equal("listen: address already in use"))
}

func TestWaitReady_saysWhatItWaitedForWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	p := shell(t, "echo starting; sleep 300")
	g.Eventually(func() string { return process.Tail(p.Log(), 1) }).WithTimeout(patience).Should(Equal("starting"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := p.WaitReady(ctx, func(context.Context) error {
		return errors.New("connection refused")
	})
	g.Expect(err).To(MatchError(And(ContainSubstring("script is not ready: connection refused"),
		ContainSubstring("starting"))))
	g.Expect(err).To(MatchError(context.DeadlineExceeded))
}

func TestTail_readsOnlyTheEndOfALongFile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	path := filepath.Join(t.TempDir(), "log")
	g.Expect(os.WriteFile(path, []byte(strings.Repeat("a long line of a chatty program\n", 10_000)+"last\n"), 0o600)).To(Succeed())
	g.Expect(process.Tail(path, 1)).To(Equal("last"))
	g.Expect(strings.Count(process.Tail(path, 15), "\n")).To(Equal(14))
	g.Expect(process.Tail(filepath.Join(t.TempDir(), "none"), 3)).To(BeEmpty())
}
