package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
)

// remote is the simulator that both management clusters use.
type remote struct{ simtest.Remote }

func (s remote) state() sim.State {
	state, err := s.State(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return state
}

// writes counts the calls by operation that make, change or delete something.
func (s remote) writes() map[string]int {
	calls, err := s.Calls(context.Background())
	Expect(err).NotTo(HaveOccurred())
	for operation := range calls {
		if strings.HasPrefix(operation, "get") || strings.HasPrefix(operation, "list") {
			delete(calls, operation)
		}
	}
	return calls
}
