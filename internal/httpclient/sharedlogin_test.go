package httpclient_test

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

func TestLoginOf_isOneSessionForSeveralServers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, one, service := vendor(t, httpclienttest.Reply(200, `{"id":"one"}`))
	second := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": service.ServeHTTP})
	shared := newToy(t, at(second), func(c2 *httpclient.Config) { c2.Login, c2.LoginOf = httpclient.Login{}, c }).Client
	other := sdk{shared.HTTP(), second.URL}
	call := func(c *httpclient.Client, s sdk) error {
		return c.Do(t.Context(), &httpclient.Call{Op: "get thing"}, func(ctx context.Context) error {
			_, err := s.get(ctx, "/things/one")
			return err
		})
	}
	g.Expect(call(c, one)).To(Succeed())
	g.Expect(call(shared, other)).To(Succeed())
	g.Expect(service.sessions.Load()).To(BeEquivalentTo(1))

	service.sessions.Add(1) // another client has logged in
	g.Expect(call(shared, other)).To(Succeed())
	g.Expect(call(c, one)).To(Succeed())
	g.Expect(service.sessions.Load()).To(BeEquivalentTo(3))
}

func TestNew_namesTheKeysOfItsURLs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config := httpclient.Config{
		Name: "the API", Endpoint: "http://one.example.com", EndpointKey: "oneEndpoint", Login: httpclient.Bearer("token"),
		Limits: httpclient.Limits{Egress: egress.Policy{}, Timeout: 1, QPS: 1, Burst: 1},
	}
	_, err := httpclient.New(config)
	g.Expect(err).To(MatchError(HavePrefix("oneEndpoint must use https")))
	config.Endpoint = "https://one.example.com"
	config.Login = apiKeyLogin("http://login.example.com")
	config.Login.Key = "loginEndpoint"
	_, err = httpclient.New(config)
	g.Expect(err).To(MatchError(HavePrefix("loginEndpoint must use https")))
}
