package agent

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

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
