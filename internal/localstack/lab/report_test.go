package lab

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var someEvents = []Event{
	{Elapsed: 0, Step: "Management cluster", State: Started},
	{Elapsed: 3.25, Step: "Management cluster", State: Done},
	{Elapsed: 3.5, Step: "Control plane", State: Started},
	{Elapsed: 4, Step: "Control plane", State: Waiting, Message: "* Machine demo-1:\n  * waiting for the instance"},
	{Elapsed: 20.5, Step: "Control plane", State: Done},
	{Elapsed: 20.5, State: Done, Lab: &Lab{Dir: "/lab", PID: 42}},
}

func TestPlainReporter_writesOneLinePerEvent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out bytes.Buffer

	reporter := PlainReporter(&out)
	for _, event := range someEvents {
		reporter.Show(event)
	}
	g.Expect(out.String()).To(Equal(strings.TrimPrefix(`
   0.0s  Management cluster   started
   3.2s  Management cluster   done
   3.5s  Control plane        started
   4.0s  Control plane        waiting: * Machine demo-1: * waiting for the instance
  20.5s  Control plane        done
`, "\n")))
}

func TestTerminalReporter_rewritesOneLinePerStep(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out bytes.Buffer

	reporter := TerminalReporter(&out, 45)
	for _, event := range someEvents {
		reporter.Show(event)
	}
	screens := strings.Split(out.String(), "\x1b[2A")
	g.Expect(screens[1]).To(HaveSuffix("…\n"), "long lines are cut: they must not wrap")
	g.Expect(screens[len(screens)-1]).To(Equal(
		"\x1b[2K✓ Management cluster      3.2s  \n" +
			"\x1b[2K✓ Control plane          17.0s  \n"))
}

func TestJSONReporter_endsWithTheLab(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out bytes.Buffer

	reporter := JSONReporter(&out)
	for _, event := range someEvents {
		reporter.Show(event)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	g.Expect(lines).To(HaveLen(len(someEvents)))
	var last Event
	g.Expect(json.Unmarshal([]byte(lines[len(lines)-1]), &last)).To(Succeed())
	g.Expect(last.Lab.PID).To(Equal(42))
}
