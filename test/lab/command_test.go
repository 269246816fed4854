package lab

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/lab"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// command is `bedplate` with a lab that it has started.
type command struct {
	*lab.Lab
	t        *testing.T
	g        *WithT
	bedplate string
	dir      string
}

// startLab starts a lab with an example, as a user does.
func startLab(t *testing.T, g *WithT, example string) command {
	t.Helper()
	c := command{
		t: t, g: g, dir: filepath.Join(t.TempDir(), "lab"),
		bedplate: toolstest.Find(t, append(lab.Tools(example), "bedplate")...).Path("bedplate"),
	}
	t.Cleanup(func() {
		c.tellLogs()
		c.run("lab", "down", "--dir", c.dir)
	})
	lines := strings.Split(strings.TrimSpace(c.run("lab", "up", "--dir", c.dir, "--example", example, "-o", "json")), "\n")
	var last lab.Event
	g.Expect(json.Unmarshal([]byte(lines[len(lines)-1]), &last)).To(Succeed())
	g.Expect(last.Lab).NotTo(BeNil())
	c.Lab = last.Lab
	return c
}

// tellLogs of a test that has failed: they go with the lab.
func (c command) tellLogs() {
	if !c.t.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(c.dir, "logs", "*.log"))
	for _, log := range logs {
		c.t.Logf("the end of %s:\n%s", filepath.Base(log), process.Tail(log, 20))
	}
}

// run runs the command, also when the test is over, and returns what it prints.
func (c command) run(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	c.g.Expect(err).NotTo(HaveOccurred(), "bedplate %s\n%s", strings.Join(args, " "), out)
	return out
}

func (c command) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, c.bedplate, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	out, err := command.CombinedOutput()
	return string(out), err
}

// down ends the lab, which leaves neither a file nor a process.
func (c command) down() {
	c.t.Helper()
	c.run("lab", "down", "--dir", c.dir)
	c.g.Expect(c.dir).NotTo(BeADirectory())
	ended := func() map[int]string { return processtest.Mentioning(c.t, c.dir) } // the supervisor itself ends a moment later
	c.g.Eventually(ended).WithTimeout(answerTimeout).Should(BeEmpty())
}
