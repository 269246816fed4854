package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// script is a server without a network. It answers with one step after the other, then with the last one again and again.
type script struct {
	mu    sync.Mutex
	steps []step
	calls int
}

type step func(*http.Request) (*http.Response, error)

func (s step) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.calls++
	next := s.steps[min(s.calls, len(s.steps))-1]
	s.mu.Unlock()
	return next(r)
}

// client returns a client of the script's.
func (s *script) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{
		Endpoint: "https://bmm.example.com", Org: "acme", Token: token, APIName: "carbide",
		Limits: httpclient.Limits{HTTP: &http.Client{Transport: s}},
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// answers returns a step; headers are alternating names and values.
func answers(status int, body string, headers ...string) step {
	return func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		return w.Result(), nil
	}
}

var (
	gone  = answers(404, `{"message":"Could not find it"}`)
	found = step(func(r *http.Request) (*http.Response, error) { // whatever is asked for
		asked := id
		if strings.HasSuffix(r.URL.Path, "/site/"+siteID) {
			asked = siteID
		}
		return answers(200, `{"id":"`+asked+`"}`)(r)
	})
)

// The control call comes after the 404, and for each 404: a server may be switched at any moment.
func TestNotFound_isProvenEachTimeAnew(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &script{steps: []step{gone, found, gone, gone, gone}} // VPC, site, VPC; then the server is switched: VPC, site
	c := s.client(t)
	_, err := c.VPC(t.Context(), siteID, id)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.NotFound))
	_, err = c.VPC(t.Context(), siteID, id)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	g.Expect(s.calls).To(Equal(5))
}

// A server that answers 404 to everything comes back to its senses just before it is asked for the site.
func TestNotFound_isNotProvenByAServerThatHeals(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*client.Client) error{
		"get": func(c *client.Client) error {
			_, err := c.Instance(t.Context(), siteID, id)
			return err
		},
		"update": func(c *client.Client) error {
			_, err := c.UpdateInstance(t.Context(), siteID, id, client.InstanceUpdateRequest{})
			return err
		},
		"delete": func(c *client.Client) error { return c.DeleteInstance(t.Context(), siteID, id) },
	} {
		s := &script{steps: []step{gone, found, found}}
		NewWithT(t).Expect(call(s.client(t))).To(Succeed(), name)
	}
}
