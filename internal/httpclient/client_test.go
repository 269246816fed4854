package httpclient_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/bedplate/bedplate/internal/httpclient"
)

func TestNew_refusesWhatCantWork(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*httpclient.Config)
		says   string
	}{
		"good":              {func(*httpclient.Config) {}, ""},
		"loopback":          {func(c *httpclient.Config) { c.Endpoint = "https://127.77.0.1:8080" }, "endpoint 127.77.0.1:8080 isn't allowed"},
		"in the clear":      {func(c *httpclient.Config) { c.Endpoint = "http://toy.example.com" }, "endpoint must use https"},
		"no host":           {func(c *httpclient.Config) { c.Endpoint = "toy.example.com" }, "endpoint must"},
		"no login":          {func(c *httpclient.Config) { c.Login = httpclient.Login{} }, "no way to log in"},
		"no token":          {func(c *httpclient.Config) { c.Login = httpclient.Bearer("") }, "token is empty"},
		"a login inside":    {func(c *httpclient.Config) { c.Login = apiKeyLogin("https://localhost") }, "tokenURL localhost:443 isn't allowed"},
		"half a client":     {func(c *httpclient.Config) { c.Login = httpclient.OAuth2{}.Login("") }, "clientID, clientSecret or a scope is empty"},
		"no deadline":       {func(c *httpclient.Config) { c.Timeout = 0 }, "timeout"},
		"no rate":           {func(c *httpclient.Config) { c.QPS = 0 }, "QPS"},
		"a negative burst":  {func(c *httpclient.Config) { c.Burst = -1 }, "burst"},
		"a CA that is none": {func(c *httpclient.Config) { c.CABundle = []byte("x") }, "ca.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := httpclient.New(configured(row.change))
			if row.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(row.says)))
			g.Expect(err).NotTo(MatchError(Or(ContainSubstring(token), ContainSubstring(apiKey))))
		})
	}
}

func TestLogins_areNeverPrinted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, login := range []httpclient.Login{
		httpclient.Bearer(token), httpclient.Static("login", sessionHeader(token), token), apiKeyLogin("https://login.example.com"),
		httpclient.OAuth2{TokenURL: "https://login.example.com", ClientID: "me", ClientSecret: clientSecret}.Login("default/toy"),
	} {
		config := configured(func(c *httpclient.Config) { c.Login = login })
		c, err := httpclient.New(config)
		g.Expect(err).NotTo(HaveOccurred())
		for _, text := range []string{
			fmt.Sprintf("%v %+v %#v", config, config, config), fmt.Sprintf("%v %+v %#v", c, c, c), format.Object(c, 0), format.Object(login, 0),
		} {
			g.Expect(text).NotTo(Or(ContainSubstring(token), ContainSubstring(apiKey), ContainSubstring(clientSecret)))
		}
	}
}
