package lab

import (
	"context"
	"net/http"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
)

// simulator is that of a lab.
type simulator struct{ simtest.Remote }

func simulatorAt(url string) simulator { return simulator{simtest.Remote{URL: url}} }

func (s simulator) state(g Gomega) sim.State {
	state, err := s.State(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	return state
}

func (s simulator) calls(g *WithT) map[string]int {
	calls, err := s.Calls(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	return calls
}

func (s simulator) fault(g *WithT, fault sim.Fault) { s.post(g, "faults", fault) }

// vanish takes an instance away behind everybody's back.
func (s simulator) vanish(g *WithT, id string) { s.post(g, "vanish", map[string]string{"id": id}) }

// tokens are the only ones that are valid from now on.
func (s simulator) tokens(g *WithT, tokens ...string) { s.post(g, "tokens", tokens) }

func (s simulator) post(g *WithT, path string, body any) {
	g.Expect(s.Ask(context.Background(), http.MethodPost, path, body, nil)).To(Succeed())
}
