package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
)

// simulator is the outside world of both management clusters.
type simulator struct{ simtest.Remote }

func (s simulator) state() sim.State {
	state, err := s.State(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return state
}

// writes counts the calls by operation that make, change or delete something.
func (s simulator) writes() map[string]int {
	calls, err := s.Calls(context.Background())
	Expect(err).NotTo(HaveOccurred())
	for operation := range calls {
		if strings.HasPrefix(operation, "get") || strings.HasPrefix(operation, "list") {
			delete(calls, operation)
		}
	}
	return calls
}
