package httpclient_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// Creates at one server are limited together. A second limit for the same one would let through what makes it hang.
func TestEndpoint_isTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	endpoint := func(written string) string {
		return newToy(t, func(c *httpclient.Config) { c.Endpoint = written }).Endpoint()
	}
	for _, same := range []string{"https://api.example.com/", "https://api.example.com:443", "https://API.example.com", "HTTPS://api.example.com.",
		"https://api.example.com:0443", "https://api.example.com:000443",
	} {
		g.Expect(endpoint(same)).To(Equal("https://api.example.com"), same)
	}
	g.Expect(endpoint("https://api.example.com:08443")).To(Equal("https://api.example.com:8443"))
	g.Expect(endpoint("https://[2001:0DB8:0::1]")).To(Equal(endpoint("https://[2001:db8::1]:443")))
	g.Expect(endpoint("https://[::ffff:192.0.2.1]")).To(Equal(endpoint("https://192.0.2.1")))
	for _, other := range []string{"https://api.example.com:8443", "https://api.example.org"} {
		g.Expect(endpoint(other)).To(Equal(other))
	}
}

// What is known of a server is shared by all its clients. If one of them reached something else, an address that isn't there or
// a name that isn't looked up in the cluster's domains, no call would reach the server any more.
func TestEndpoint_isWhatIsCalledHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for written, called := range map[string]string{
		"https://toy.lab.svc.":             "toy.lab.svc",
		"https://API.example.com:0443/red": "api.example.com",
		"https://api.example.com:08443":    "api.example.com:8443",
		"https://192.0.2.1.":               "192.0.2.1",
		"https://[2001:0DB8:0::1]":         "[2001:db8::1]",
	} {
		g := NewWithT(t)
		config := configured(func(c *httpclient.Config) { c.Endpoint = written })
		config.Egress.Allowed = allowed(g, "toy.lab.svc", "*.example.com", "192.0.2.0/24", "2001:db8::/32")
		config.HTTP = &http.Client{Transport: step(func(r *http.Request) (*http.Response, error) {
			g.Expect(r.URL.Host).To(Equal(called), written)
			return found(r)
		})}
		_, err := newToy(t, func(c *httpclient.Config) { *c = config }).Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err := httpclient.New(configured(func(c *httpclient.Config) { c.Endpoint = "https://api.example.com:99999" }))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("endpoint must look like")))
}

func allowed(g *WithT, texts ...string) (all []egress.Destination) {
	for _, text := range texts {
		d, ok := egress.ParseDestination(text)
		g.Expect(ok).To(BeTrue())
		all = append(all, d)
	}
	return all
}
