package client_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/httpclient"
)

func TestNew_refusesWhatCantWork(t *testing.T) {
	t.Parallel()
	good := client.Config{Endpoint: "https://bmm.example.com/api", Org: "acme", Token: token}
	for name, row := range map[string]struct {
		change func(*client.Config)
		says   string
	}{
		"good":                      {func(*client.Config) {}, ""},
		"loopback":                  {func(c *client.Config) { c.Endpoint = "https://127.77.0.1:8080" }, "endpoint 127.77.0.1:8080 isn't allowed"},
		"http on loopback":          {func(c *client.Config) { c.Endpoint = "http://127.77.0.1:8080" }, "endpoint must use https"},
		"http in a lab":             {func(c *client.Config) { c.Endpoint, c.Egress = "http://127.77.0.1:8080", loopback }, ""},
		"http to a lab's neighbour": {func(c *client.Config) { c.Endpoint, c.Egress = "http://192.0.2.1", loopback }, "endpoint must use https"},
		"nico":                      {func(c *client.Config) { c.APIName = "nico" }, ""},
		"http to the world":         {func(c *client.Config) { c.Endpoint = "http://bmm.example.com" }, "https"},
		"no host":                   {func(c *client.Config) { c.Endpoint = "bmm.example.com" }, "endpoint"},
		"password in the endpoint":  {func(c *client.Config) { c.Endpoint = "https://u:p@bmm.example.com" }, "endpoint"},
		"no org":                    {func(c *client.Config) { c.Org = "" }, "org"},
		"no token":                  {func(c *client.Config) { c.Token = "" }, "token"},
		"token with a line break":   {func(c *client.Config) { c.Token = token + "\n" }, "token"},
		"API name with a slash":     {func(c *client.Config) { c.APIName = "a/b" }, "apiName"},
		"two ways to log in":        {func(c *client.Config) { c.OAuth2 = oauth2("https://login.example.com") }, "two ways"},
		"OAuth2":                    {func(c *client.Config) { c.Token, c.OAuth2 = "", oauth2("https://login.example.com/token") }, ""},
		"OAuth2 on loopback":        {func(c *client.Config) { c.Token, c.OAuth2 = "", oauth2("https://localhost:8080") }, "tokenURL localhost:8080 isn't allowed"},
		"OAuth2 in a lab":           {func(c *client.Config) { c.Token, c.OAuth2, c.Egress = "", oauth2("http://localhost:8080"), loopback }, ""},
		"OAuth2 in the clear":       {func(c *client.Config) { c.Token, c.OAuth2 = "", oauth2("http://login.example.com") }, "tokenURL must use https"},
		"OAuth2 without a URL":      {func(c *client.Config) { c.Token, c.OAuth2 = "", oauth2("") }, "tokenURL"},
		"OAuth2 without a client":   {func(c *client.Config) { c.Token, c.OAuth2 = "", &httpclient.OAuth2{TokenURL: "https://l.example.com"} }, "clientID"},
		"a CA that isn't one":       {func(c *client.Config) { c.CABundle = []byte("-----BEGIN NONSENSE-----") }, "ca.crt"},
		"a CA for another's client": {func(c *client.Config) { c.CABundle, c.HTTP = []byte("x"), &http.Client{} }, "CA bundle"},
		"a negative rate":           {func(c *client.Config) { c.QPS = -1 }, "QPS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			config := good
			row.change(&config)
			_, err := client.New(config)
			if row.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(row.says)))
			g.Expect(err).NotTo(MatchError(Or(ContainSubstring(token), ContainSubstring(clientSecret))))
		})
	}
}

func TestFromSecret_takesExactlyOneWayToLogIn(t *testing.T) {
	t.Parallel()
	base := client.Config{Endpoint: "https://bmm.example.com", Org: "acme", Secret: "default/bmm"}
	withToken, withOAuth2 := base, base
	withToken.Token = token
	withOAuth2.OAuth2 = oauth2("https://login.example.com/token")
	full := withOAuth2
	full.OAuth2 = oauth2("https://login.example.com/token")
	full.OAuth2.Scopes = []string{"bmm", "openid"}
	full.APIName, full.CABundle = "nico", []byte("PEM\n")
	for name, row := range map[string]struct {
		data   map[string]string
		config client.Config
		says   string
	}{
		"a token": {map[string]string{"token": token + "\n"}, withToken, ""},
		"OAuth2": {map[string]string{
			"tokenURL": "https://login.example.com/token", "clientID": "me", "clientSecret": clientSecret + "\n",
		}, withOAuth2, ""},
		"all that there is": {map[string]string{
			"tokenURL": "https://login.example.com/token", "clientID": "me", "clientSecret": clientSecret,
			"scopes": " bmm openid\n", "apiName": "nico", "ca.crt": "PEM\n",
		}, full, ""},
		"neither": {map[string]string{"token": " \n"}, client.Config{},
			"has no token (or tokenURL, clientID, clientSecret)"},
		"half an OAuth2": {map[string]string{"clientSecret": clientSecret}, client.Config{},
			"has no tokenURL, clientID"},
		"both": {map[string]string{"token": token, "clientID": "me"}, client.Config{},
			"has two ways to log in: remove either token, or tokenURL, clientID, clientSecret and scopes"},
		"nothing": {map[string]string{"endpoint": "", "orgName": ""}, client.Config{},
			"has no endpoint, orgName, token (or tokenURL, clientID, clientSecret)"},
		"a token, no organisation": {map[string]string{"token": token, "orgName": ""}, client.Config{},
			"has no orgName"},
		"a path of half a MiB": {map[string]string{"token": token, "endpoint": "https://bmm.example.com/" + strings.Repeat("a", 512<<10)},
			client.Config{}, "has more than 2 KiB under endpoint"},
		"a whole world of authorities": {map[string]string{"token": token, "ca.crt": strings.Repeat("PEM\n", 128<<10)},
			client.Config{}, "has more than 256 KiB under ca.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			config, err := client.FromSecret(secretWith(row.data))
			if row.says != "" {
				g.Expect(err).To(MatchError("secret default/bmm " + row.says))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config).To(Equal(row.config))
		})
	}
}

const clientSecret = "an-even-more-secret-secret"

func oauth2(tokenURL string) *httpclient.OAuth2 {
	return &httpclient.OAuth2{TokenURL: tokenURL, ClientID: "me", ClientSecret: clientSecret, Scopes: []string{}}
}

// secretWith returns a Secret with an endpoint, an organisation and the given data.
func secretWith(data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bmm"},
		Data:       map[string][]byte{"endpoint": []byte("https://bmm.example.com"), "orgName": []byte("acme")},
	}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, config := range []client.Config{
		{Endpoint: "https://bmm.example.com", Org: "acme", Token: token},
		{Endpoint: "https://bmm.example.com", Org: "acme", OAuth2: oauth2("https://login.example.com/token")},
	} {
		c, err := client.New(config)
		g.Expect(err).NotTo(HaveOccurred())
		printed := []string{}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			printed = append(printed, fmt.Sprintf(verb, config), fmt.Sprintf(verb, &config), fmt.Sprintf(verb, c))
			if config.OAuth2 != nil {
				printed = append(printed, fmt.Sprintf(verb, config.OAuth2), fmt.Sprintf(verb, *config.OAuth2))
			}
		}
		asJSON, err := json.Marshal(config)
		g.Expect(err).NotTo(HaveOccurred())
		log := &strings.Builder{}
		slog.New(slog.NewTextHandler(log, nil)).Info("text", "config", config, "client", c)
		slog.New(slog.NewJSONHandler(log, nil)).Info("json", "config", config, "client", c)
		printed = append(printed, string(asJSON), log.String(), format.Object(c, 0))
		for _, text := range printed {
			g.Expect(text).NotTo(Or(ContainSubstring(token), ContainSubstring(clientSecret)))
		}
	}
}

// With such an organisation the endpoint's path would be cut off, and what hangs below it passed for the API of others.
func TestNew_refusesAnOrganisationThatIsAWayOutOfItsPath(t *testing.T) {
	t.Parallel()
	for _, org := range []string{".", ".."} {
		_, err := client.New(client.Config{Endpoint: "https://api.example.com/red", Org: org, Token: token, APIName: "carbide"})
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("org isn't a name")))
	}
}
