package agent

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// One that runs with other arguments is replaced whenever an agent starts.
func TestUnit_runsOVNControllerAsTheAgentWould(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	unit, err := os.ReadFile("../../../config/hydrazine-agent/hydrazine-ovn-controller.service")
	g.Expect(err).NotTo(HaveOccurred())
	_, command, found := strings.Cut(strings.ReplaceAll(string(unit), "\\\n", " "), "\nExecStart=")
	g.Expect(found).To(BeTrue())
	command, _, _ = strings.Cut(command, "\n")
	o := options(t, "--uplink=p0")
	wanted := o.ovnController(&identity{dir: o.StateDir}).Arguments()
	g.Expect(strings.Fields(command)).To(Equal(append([]string{"/usr/bin/ovn-controller"}, wanted...)))
	g.Expect(string(unit)).To(ContainSubstring("\nPIDFile=" + strings.TrimPrefix(wanted[4], "--pidfile=") + "\n"))
}

// A process that is stopped takes no signal but one; and ovn-controller outlives the agent.
func TestUnit_killsAnAgentThatIsStuck(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	unit, err := os.ReadFile("../../../config/hydrazine-agent/hydrazine-agent.service")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Split(string(unit), "\n")).To(ContainElements(
		"Type=notify", "WatchdogSec="+stuckAfter.String(), "WatchdogSignal=SIGKILL", "Restart=always", "KillMode=process",
	))
}
