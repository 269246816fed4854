package localstack

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/process"
)

func running(context.Context) error { return nil }

func sleeper(t *testing.T, c *children, script string) *child {
	t.Helper()
	g := NewWithT(t)
	command := process.Command{
		Name: "sleeper", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log"),
	}
	g.Expect(c.start(t.Context(), command, running)).To(Succeed())
	t.Cleanup(func() { c.stop(); c.wait() })
	return c.byName["sleeper"]
}

func TestChildren_reportsAnEndThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	c := newChildren()
	sleeper(t, c, "echo out of cheese; exit 3")
	g.Eventually(c.crashes).WithTimeout(time.Minute).Should(Receive(MatchError(
		And(ContainSubstring("sleeper ended (exit status 3)"), ContainSubstring("out of cheese")))))
}

func TestChildren_startsAKilledChildAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	c := newChildren()
	first := sleeper(t, c, "exec sleep 300").process
	g.Expect(c.kill("sleeper")).To(Succeed())
	g.Expect(first.Done()).To(BeClosed())
	g.Expect(c.restart(t.Context(), "sleeper")).To(Succeed())
	second := c.byName["sleeper"].process
	g.Expect(second.PID()).NotTo(Equal(first.PID()))
	g.Consistently(c.crashes).ShouldNot(Receive(), "the end was asked for")

	c.stop()
	c.wait()
	g.Expect(second.Done()).To(BeClosed())
	g.Expect(c.crashes).NotTo(Receive())
}

// As a kubelet does: a manager that has lost its lease ends, and is needed.
func TestChildren_startsWhatIsKeptAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	c := newChildren()
	c.keep("sleeper")
	begun := filepath.Join(t.TempDir(), "begun")
	first := sleeper(t, c, "[ -e "+begun+" ] && exec sleep 300; touch "+begun+"; exit 3").process
	g.Eventually(c.crashes).WithTimeout(time.Minute).Should(Receive(MatchError(ContainSubstring("started again: sleeper ended (exit status 3)"))))
	again := func() *process.Process {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.byName["sleeper"].process
	}
	g.Eventually(again).WithTimeout(time.Minute).ShouldNot(Equal(first))
	second := again()
	c.stop()
	c.wait()
	g.Expect(second.Done()).To(BeClosed())
	g.Expect(c.crashes).NotTo(Receive(), "the second end was asked for")
}

func TestChildren_startsNothingWhenStopped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	c := newChildren()
	sleeper(t, c, "exec sleep 300")
	c.stop()
	g.Expect(c.restart(t.Context(), "sleeper")).To(MatchError(ContainSubstring("the stack is stopping")))
	g.Expect(c.kill("nobody")).To(MatchError(ContainSubstring(`no child "nobody"`)))
}
