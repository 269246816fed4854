package e2e

import (
	"context"
	"net/http"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// state is what exists at a simulator.
type state struct {
	all      any
	empty    bool     // but for what was there before
	machines []string // their IDs
}

// look at the simulator, which all management clusters of a system share.
func (e *environment) look() state {
	var read state
	read, err := e.read(context.Background(), e.simulator)
	Expect(err).NotTo(HaveOccurred())
	return read
}

// writes counts the calls by operation that make, change or delete something.
func (e *environment) writes() map[string]int {
	calls, err := e.simulator.Calls(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return simulatortest.Writes(calls)
}

// fault lets calls go wrong until heal.
func (e *environment) fault(ctx context.Context, fault simulator.Fault) {
	Expect(e.simulator.Ask(ctx, http.MethodPost, "faults", fault, nil)).To(Succeed())
}

func (e *environment) heal(ctx context.Context) {
	Expect(e.simulator.Ask(ctx, http.MethodDelete, "faults", nil, nil)).To(Succeed())
}
