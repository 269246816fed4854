package client_test

import (
	"testing"

	. "github.com/onsi/gomega"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// Creates at one server are limited together. A second limit for the same one would let through what makes it hang.
func TestEndpoint_isTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	endpoint := func(written string) string {
		api, err := bmm.New(bmm.Config{Endpoint: written, Org: "org", Token: "token"})
		g.Expect(err).NotTo(HaveOccurred())
		return api.Endpoint()
	}
	for _, same := range []string{"https://api.example.com/", "https://api.example.com:443", "https://API.example.com", "HTTPS://api.example.com."} {
		g.Expect(endpoint(same)).To(Equal("https://api.example.com"), same)
	}
	for _, other := range []string{"https://api.example.com:8443", "https://api.example.org"} {
		g.Expect(endpoint(other)).To(Equal(other))
	}
}
