// Package simtest starts BMM simulators for tests.
package simtest

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// Start serves a simulator on a loopback port until the test ends, and returns it with its endpoint.
func Start(t testing.TB, config sim.Config, booter sim.Booter) (*sim.Server, string) {
	t.Helper()
	server := newServer(t, config, booter)
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close() // first: it ends calls that hang
		listener.CloseClientConnections()
		listener.Close()
	})
	return server, listener.URL
}

// InMemory returns a simulator with a client that reaches it without a network, for tests with simulated time
// (testing/synctest). The caller closes the simulator.
func InMemory(t testing.TB, config sim.Config, booter sim.Booter) (*sim.Server, *client.Client) {
	t.Helper()
	server := newServer(t, config, booter)
	login := client.Config{
		Endpoint: "https://bmm.example.com", Org: config.Org, Token: config.Tokens[0], APIName: config.APIName,
	}
	login.HTTP = &http.Client{Transport: simulatortest.Transport(func(string) http.Handler { return server })}
	c, err := client.New(login)
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

func newServer(t testing.TB, config sim.Config, booter sim.Booter) *sim.Server {
	t.Helper()
	server, err := sim.New(config, booter, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return server
}
