package egress_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/egress/egresstest"
)

// inside is a server that must not be called.
func inside(t *testing.T) (port string, called *atomic.Int32) {
	t.Helper()
	called = &atomic.Int32{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			called.Add(1)
			_ = conn.Close()
		}
	}()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return port, called
}

func get(t *testing.T, p egress.Policy, url string) error {
	t.Helper()
	client := &http.Client{Transport: p.Transport(&http.Transport{}, time.Minute)}
	response, err := client.Get(url)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func TestTransport_looksAtTheAddressAndNotAtTheName(t *testing.T) {
	t.Parallel()
	port, called := inside(t)
	for _, list := range []string{"", "*.example.com", "10.0.0.0/8", "bmm.example.com:" + port} {
		for _, address := range []string{"127.0.0.1", "0.0.0.0", "169.254.169.254"} {
			t.Run(list+" "+address, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				p := policy(g, "--allowed-endpoints="+list)
				p.Resolver = (&egresstest.Names{Lookup: func(string) []string { return []string{address} }}).Resolver()
				err := get(t, p, "https://bmm.example.com:"+port)
				g.Expect(err).To(MatchError(ContainSubstring("bmm.example.com:" + port + " isn't allowed by the manager's policy")))
				g.Expect(err).NotTo(MatchError(ContainSubstring(address)), "what it leads to isn't for the tenant to learn")
				g.Expect(called.Load()).To(BeZero())
			})
		}
	}
}

// An answer that changes between a check and a call is the oldest trick.
func TestTransport_cannotBeRebound(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	port, called := inside(t)
	var turn atomic.Int32
	p := policy(g)
	p.Resolver = (&egresstest.Names{Lookup: func(string) []string {
		if turn.Add(1)%2 == 1 {
			return []string{"192.0.2.1"}
		}
		return []string{"127.0.0.1"}
	}}).Resolver()
	transport := p.Transport(&http.Transport{}, 50*time.Millisecond)
	for range 6 {
		_, err := (&http.Client{Transport: transport, Timeout: 200 * time.Millisecond}).Get("https://bmm.example.com:" + port)
		g.Expect(err).To(HaveOccurred())
	}
	both := policy(g)
	both.Resolver = (&egresstest.Names{Lookup: func(string) []string { return []string{"127.0.0.1", "127.0.0.2"} }}).Resolver()
	g.Expect(get(t, both, "https://bmm.example.com:"+port)).To(MatchError(ContainSubstring("isn't allowed")))
	g.Expect(called.Load()).To(BeZero())
}

func TestTransport_callsWhatIsAllowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	g.Expect(err).NotTo(HaveOccurred())
	for _, args := range [][]string{{"--insecure-loopback-endpoints"}, {"--allowed-endpoints=127.0.0.0/8:" + at.Port()}} {
		p := policy(g, args...)
		p.Resolver = (&egresstest.Names{Lookup: func(string) []string { return []string{"127.0.0.1"} }}).Resolver()
		g.Expect(get(t, p, "http://bmm.example.com:"+at.Port())).To(Succeed())
		g.Expect(get(t, p, server.URL)).To(Succeed())
	}
}

// Below the cluster's own domains there are names that tenants have no business to know.
func TestTransport_looksNamesUpAsTheyAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	n := &egresstest.Names{Lookup: func(string) []string { return nil }}
	p := policy(g)
	p.Resolver = n.Resolver()
	for _, name := range []string{"kubernetes", "kubernetes.default.svc", "localhost"} {
		g.Expect(get(t, p, "https://"+name)).To(MatchError(ContainSubstring("isn't allowed")), name)
	}
	// With a dot at its end a name is no search list's, also where this computer has none.
	missing, ok := errors.AsType[*net.DNSError](get(t, p, "https://kubernetes.default"))
	g.Expect(ok).To(BeTrue())
	g.Expect(missing.Name).To(Equal("kubernetes.default."))
	g.Expect(n.Questions()).To(HaveEach("kubernetes.default."))
	g.Expect(n.Questions()).NotTo(BeEmpty())
	listed := policy(g, "--allowed-endpoints=bmm.example.com")
	listed.Resolver = n.Resolver()
	before := len(n.Questions())
	g.Expect(get(t, listed, "https://secret-in-a-name.evil.example.org")).To(MatchError(ContainSubstring("isn't allowed")))
	g.Expect(n.Questions()).To(HaveLen(before), "what can't be allowed isn't looked up")
}

// The proxy is the operator's and may be inside; what it is asked for may not.
func TestTransport_goesByTheNameBehindAProxy(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, row := range []struct {
		list, host string
		allowed    bool
	}{
		{"", "bmm.example.com", true}, {"", "127.0.0.1", false}, {"", "169.254.169.254", false}, {"", "localhost", false}, {"", "127.1", false},
		{"", "a.b.svc", false}, {"", "[::ffff:127.0.0.1]", false}, {"", "192.0.2.1", true},
		{"*.example.com", "bmm.example.com", true}, {"*.example.com", "evil.example.org", false},
		{"192.0.2.0/24", "192.0.2.1", true}, {"192.0.2.0/24", "bmm.example.com", false},
	} {
		t.Run(row.list+" "+row.host, func(t *testing.T) {
			g := NewWithT(t)
			asked.Store("")
			p := policy(g, "--allowed-endpoints="+row.list)
			p.Resolver = (&egresstest.Names{Lookup: func(name string) []string { t.Error("looked up:", name); return nil }}).Resolver()
			client := &http.Client{Transport: p.Transport(&http.Transport{Proxy: http.ProxyURL(at)}, time.Minute)}
			_, err := client.Post("https://"+row.host, "text/plain", strings.NewReader("x"))
			if row.allowed {
				g.Expect(err).To(MatchError(ContainSubstring("Forbidden")))
				g.Expect(asked.Load()).To(HavePrefix(row.host))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring("isn't allowed")))
			g.Expect(asked.Load()).To(BeEmpty())
		})
	}
}
