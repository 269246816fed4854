package client_test

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
)

func TestCABundle_isTrustedForAPIAndLogin(t *testing.T) {
	t.Parallel()
	var protocols atomic.Value
	handler := mux(map[string]http.HandlerFunc{
		tenantPath: func(w http.ResponseWriter, r *http.Request) {
			protocols.Store(r.Proto)
			admits("one")(w, r)
		},
		"POST /token": reply(200, `{"access_token":"one","token_type":"Bearer"}`),
	})
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := client.Config{
		Endpoint: server.URL, Org: "acme", APIName: "carbide", OAuth2: oauth2(server.URL + "/token"), Egress: loopback, Timeout: 5 * time.Second,
	}

	t.Run("with it", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		config := config
		config.CABundle = bundle
		c, err := client.New(config)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Tenant(t.Context())).To(HaveField("ID", "one"))
		g.Expect(protocols.Load()).To(Equal("HTTP/2.0"))
	})
	t.Run("without it", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		c, err := client.New(config)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = c.Tenant(t.Context())
		g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
		g.Expect(err).To(MatchError(And(HavePrefix("log in: "), ContainSubstring("certificate"))))

		config := config
		config.OAuth2, config.Token = nil, token
		c, err = client.New(config)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = c.CreateVPC(t.Context(), client.VPCCreateRequest{})
		g.Expect(err).To(MatchError(And(HavePrefix("create VPC: "), ContainSubstring("certificate"))))
		g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "nothing was sent to a server that isn't trusted")
	})
}

// A token is for the server that it was given for, and a request that was redirected isn't the one that was meant.
func TestRedirects_areNotFollowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	elsewhere := start(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { t.Error("followed") }})
	c := serve(t, map[string]http.HandlerFunc{"/": http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP})
	_, err := c.Tenant(t.Context())
	g.Expect(err).To(MatchError(HavePrefix("get tenant: 307")))
	_, err = c.CreateVPC(t.Context(), client.VPCCreateRequest{})
	g.Expect(err).To(MatchError(HavePrefix("create VPC: 307")))

	login, err := client.New(client.Config{
		Endpoint: elsewhere.URL, Org: "acme", APIName: "carbide", Egress: loopback,
		OAuth2: oauth2(start(t, map[string]http.HandlerFunc{"/": http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP}).URL),
	})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = login.Tenant(t.Context())
	g.Expect(err).To(MatchError(HavePrefix("log in: 307")), "with the client's secret it's the same")
}

func TestConnections_areKeptForTheNextCalls(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const workers, rounds = 16, 3
	var connections atomic.Int32
	var arrived sync.WaitGroup
	server := httptest.NewUnstartedServer(mux(map[string]http.HandlerFunc{tenantPath: func(w http.ResponseWriter, r *http.Request) {
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
	c, err := client.New(client.Config{Endpoint: server.URL, Org: "acme", APIName: "carbide", Token: token, Egress: loopback})
	g.Expect(err).NotTo(HaveOccurred())
	for range rounds {
		arrived.Add(workers)
		var together sync.WaitGroup
		for range workers {
			together.Go(func() {
				if _, err := c.Tenant(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
	}
	g.Expect(connections.Load()).To(BeNumerically("<", 2*workers), "not a new one for each call")
}
