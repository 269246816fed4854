package simtest

import (
	"context"
	"net/http"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// Remote is a simulator in another process.
type Remote struct{ simulatortest.Remote }

// RemoteAt is the one at a URL.
func RemoteAt(url string) Remote { return Remote{simulatortest.Remote{URL: url}} }

// State is everything that exists.
func (r Remote) State(ctx context.Context) (state sim.State, err error) {
	return state, r.Ask(ctx, http.MethodGet, "state", nil, &state)
}
