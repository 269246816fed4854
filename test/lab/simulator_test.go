package lab

import (
	"context"
	"net/http"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// remote is the simulator of a lab.
type remote struct{ simtest.Remote }

func remoteAt(url string) remote { return remote{simtest.RemoteAt(url)} }

func (s remote) state(g Gomega) sim.State {
	state, err := s.State(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	return state
}

func (s remote) expectEmpty(g Gomega) {
	state := s.state(g)
	g.Expect(state.Empty()).To(BeTrue(), "left at the simulated site: %+v", state)
}

// expectNothingKnown is expectEmpty after a manager was killed: what the site went on to create for a client that had left is
// unknown to the API, and no client can delete it.
func (s remote) expectNothingKnown(g Gomega) {
	state := s.state(g)
	state.Strays = nil
	g.Expect(state.Empty()).To(BeTrue(), "left at the simulated site: %+v", state)
}

func (s remote) calls(g *WithT) map[string]int {
	calls, err := s.Calls(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	return calls
}

func (s remote) fault(g *WithT, fault simulator.Fault) { s.post(g, "faults", fault) }

// vanish deletes an instance without the API.
func (s remote) vanish(g *WithT, id string) { s.post(g, "vanish", map[string]string{"id": id}) }

// tokens are the only ones that are valid from now on.
func (s remote) tokens(g *WithT, tokens ...string) { s.post(g, "tokens", tokens) }

func (s remote) post(g *WithT, path string, body any) {
	g.Expect(s.Ask(context.Background(), http.MethodPost, path, body, nil)).To(Succeed())
}
