package e2e

import (
	"encoding/json"
	"net/http"
	"strings"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// simulator is the outside world's own interface, which no provider uses.
type simulator struct{ url string }

func (s simulator) state() (state sim.State) {
	s.get("/simulator/state", &state)
	return state
}

// writes counts the calls by operation that make, change or delete something.
func (s simulator) writes() map[string]int {
	calls := map[string]int{}
	s.get("/simulator/calls", &calls)
	for operation := range calls {
		if strings.HasPrefix(operation, "get") || strings.HasPrefix(operation, "list") {
			delete(calls, operation)
		}
	}
	return calls
}

func (s simulator) get(path string, into any) {
	response, err := http.Get(s.url + path)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	Expect(json.NewDecoder(response.Body).Decode(into)).To(Succeed())
}
