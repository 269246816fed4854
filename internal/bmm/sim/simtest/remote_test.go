package simtest_test

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
)

func TestRemote_usesTheSwitches(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, endpoint := simtest.Start(t, sim.DefaultWorld(), nil)
	remote := simtest.RemoteAt(endpoint)
	g.Expect(remote.Calls(t.Context())).To(BeEmpty())
	var made struct{ ID string }
	g.Expect(remote.Ask(t.Context(), http.MethodPost, "objects", map[string]any{"kind": "vpc", "request": map[string]any{
		"name": "blue", "siteId": sim.DefaultSiteID, "networkVirtualizationType": "ETHERNET_VIRTUALIZER",
	}}, &made)).To(Succeed())
	state, err := remote.State(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(state.VPCs).To(ConsistOf(HaveField("ID", made.ID)))
	g.Expect(remote.Ask(t.Context(), http.MethodDelete, "faults", nil, nil)).To(Succeed())
}

func TestRemote_saysWhatWentWrong(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, endpoint := simtest.Start(t, sim.DefaultWorld(), nil)
	remote := simtest.RemoteAt(endpoint)
	g.Expect(remote.Ask(t.Context(), http.MethodGet, "cheese", nil, nil)).
		To(MatchError(And(HavePrefix("ask the simulator: GET cheese: 404 Not Found: {"), ContainSubstring("could not be found"))))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := remote.State(ctx)
	g.Expect(err).To(MatchError(context.Canceled))
}
