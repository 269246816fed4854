package httpclient_test

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

func TestCABundle_isTrustedForAPIAndLogin(t *testing.T) {
	t.Parallel()
	var protocols atomic.Value
	handler := httpclienttest.Mux(map[string]http.HandlerFunc{
		thingPath: func(w http.ResponseWriter, r *http.Request) {
			protocols.Store(r.Proto)
			admits("one")(w, r)
		},
		"POST /token": httpclienttest.Reply(200, `{"access_token":"one","token_type":"Bearer"}`),
	})
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	t.Run("with it", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		c := newToy(t, at(server), oauth2(server.URL+"/token"), func(c *httpclient.Config) { c.CABundle = bundle })
		g.Expect(c.Get(t.Context())).To(HaveField("ID", "one"))
		g.Expect(protocols.Load()).To(Equal("HTTP/2.0"))
	})
	t.Run("without it", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		c := newToy(t, at(server), oauth2(server.URL+"/token"))
		_, err := c.Get(t.Context())
		g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
		g.Expect(err).To(MatchError(And(HavePrefix("log in: "), ContainSubstring("certificate"))))

		c = newToy(t, at(server))
		_, err = c.Create(t.Context())
		g.Expect(err).To(MatchError(And(HavePrefix("create thing: "), ContainSubstring("certificate"))))
		g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "nothing was sent to a server that isn't trusted")
	})
}

// A token is for the server that it was given for, and a request that was redirected isn't the one that was meant.
func TestRedirects_areNotFollowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	elsewhere := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { t.Error("followed") }})
	c := serve(t, map[string]http.HandlerFunc{"/": http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP})
	_, err := c.Get(t.Context())
	g.Expect(err).To(MatchError(HavePrefix("get thing: 307")))
	_, err = c.Create(t.Context())
	g.Expect(err).To(MatchError(HavePrefix("create thing: 307")))

	redirects := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP})
	login := newToy(t, at(elsewhere), oauth2(redirects.URL))
	_, err = login.Get(t.Context())
	g.Expect(err).To(MatchError(HavePrefix("log in: 307")), "with the client's secret it's the same")
}

func TestConnections_areKeptForTheNextCalls(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const workers, rounds = 16, 3
	var connections atomic.Int32
	var arrived sync.WaitGroup
	server := httptest.NewUnstartedServer(httpclienttest.Mux(map[string]http.HandlerFunc{thingPath: func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait() // so that each has a connection of its own
		admits(token)(w, r)
	}}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := newToy(t, at(server))
	for range rounds {
		arrived.Add(workers)
		var together sync.WaitGroup
		for range workers {
			together.Go(func() {
				if _, err := c.Get(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
	}
	g.Expect(connections.Load()).To(BeNumerically("<", 2*workers), "not a new one for each call")
}
