package client_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/egress/egresstest"
	"github.com/bedplate/bedplate/internal/fault"
)

// connect is how a manager makes a client of a Secret.
func connect(policy egress.Policy, data map[string]string) (*client.Client, error) {
	return client.Connect(client.Paced(30*time.Second, 0, 0, policy))(secretWith(data))
}

// listen is a server beside the manager that counts its connections.
func listen(t *testing.T) (port string, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return at.Port(), connections
}

// A sidecar's administration, a profiler, the metadata of the machine: what listens beside the manager trusts every client
// that can connect.
func TestEgress_aTenantsSecretCallsNothingBesideTheManager(t *testing.T) {
	t.Parallel()
	port, connections := listen(t)
	login := func(tokenURL string) map[string]string {
		return map[string]string{"tokenURL": tokenURL, "clientID": "me", "clientSecret": clientSecret}
	}
	at := func(endpoint string) map[string]string {
		return map[string]string{"endpoint": endpoint, "token": token}
	}
	for name, row := range map[string]struct {
		data map[string]string
		says string
	}{
		"the login, over http":    {login("http://localhost:" + port + "/quitquitquit"), "tokenURL must use https"},
		"the login":               {login("https://localhost:" + port + "/quitquitquit"), "tokenURL localhost:" + port + " isn't allowed"},
		"the endpoint, over http": {at("http://127.0.0.1:" + port), "endpoint must use https"},
		"the endpoint":            {at("https://127.0.0.1:" + port), "endpoint 127.0.0.1:" + port + " isn't allowed"},
		"IPv4 as IPv6":            {at("https://[::ffff:127.0.0.1]:" + port), "endpoint [::ffff:127.0.0.1]:" + port + " isn't allowed"},
		"metadata":                {at("https://169.254.169.254"), "endpoint 169.254.169.254:443 isn't allowed"},
		"a Service":               {at("https://kubernetes.default.svc"), "endpoint kubernetes.default.svc:443 isn't allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c, err := connect(egress.Policy{}, row.data)
			if err == nil {
				_, err = c.Tenant(t.Context())
			}
			g.Expect(err).To(MatchError(ContainSubstring(row.says)))
			g.Expect(connections.Load()).To(BeZero())
		})
	}
}

// What a name leads to is known when it is called. Whether a service listens there must make no visible difference.
func TestEgress_aNameThatLeadsInsideIsRefusedAlikeWhateverListensThere(t *testing.T) {
	t.Parallel()
	port, connections := listen(t)
	here := &egresstest.Names{Lookup: func(string) []string { return []string{"127.0.0.1"} }}
	for _, row := range []struct{ name, key, op string }{{"endpoint", "endpoint", "get tenant"}, {"login", "tokenURL", "log in"}} {
		t.Run(row.name, func(t *testing.T) {
			for _, port := range []string{port, "1"} {
				for _, apiName := range []string{"", "carbide"} {
					g := NewWithT(t)
					data := map[string]string{"token": token, "apiName": apiName, "endpoint": "https://bmm.example.com:" + port}
					if row.key == "tokenURL" {
						data = map[string]string{"tokenURL": data["endpoint"], "clientID": "me", "clientSecret": clientSecret, "apiName": apiName}
					}
					c, err := connect(egress.Policy{Resolver: here.Resolver()}, data)
					g.Expect(err).NotTo(HaveOccurred())
					_, err = c.Tenant(t.Context())
					op := row.op
					if apiName == "" && row.key == "endpoint" {
						op = "get metadata"
					}
					g.Expect(err).To(MatchError(op + ": " + row.key + " of secret default/bmm: bmm.example.com:" + port +
						" isn't allowed by the manager's policy: ask its operator (--allowed-endpoints)"))
					g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
					_, again := c.CreateVPC(t.Context(), client.VPCCreateRequest{})
					g.Expect(again).To(Equal(err), "remembered, so that it isn't tried soon")
				}
			}
		})
	}
	NewWithT(t).Expect(connections.Load()).To(BeZero())
}
