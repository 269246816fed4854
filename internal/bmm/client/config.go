package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

const (
	// DefaultTimeout lets a create finish that blocks until the service itself gives up, after 50 seconds.
	DefaultTimeout = 75 * time.Second
	// readTimeout bounds each read with its repetitions: one page of a list at most.
	readTimeout = 20 * time.Second
	// DefaultQPS is how many HTTP requests per second a client makes. A server that allows less (10, when its operator
	// has switched its own limit on) answers 429, which holds the whole client back.
	DefaultQPS = 20
	// DefaultBurst is how many requests may come at once after a pause.
	DefaultBurst = 100
)

// Config is an API and its login: a Token or OAuth2.
type Config struct {
	// Endpoint is the base URL: https, and what Egress allows.
	Endpoint string
	// Org is the name of the organisation, a segment of every path.
	Org string
	// Token is a bearer token. It is never printed.
	Token string `json:"-"`
	// OAuth2 fetches tokens.
	OAuth2 *OAuth2
	// Secret is the namespace/name of the Secret that all this comes from. Errors about the login name it, and metrics
	// and spans carry it.
	Secret string
	// APIName is a segment of every path: APINameNICo, APINameCarbide or what the server's operator has chosen. Without
	// it the client detects which of the two it is.
	APIName string
	// CABundle is trusted beside the system's roots, for the API and for the login; certificates in PEM.
	CABundle []byte
	// Egress says what Endpoint and TokenURL may lead to.
	Egress egress.Policy `json:"-"`
	// HTTP sends the requests, also those of the login; default one that is tuned for the API, trusts the CABundle, and keeps
	// to Egress when it connects. Its redirect policy is not used.
	HTTP *http.Client `json:"-"`
	// Timeout bounds each call with its repetitions; default DefaultTimeout. Reads have less.
	Timeout time.Duration
	// QPS and Burst bound the rate of requests; default DefaultQPS and DefaultBurst.
	QPS   float64
	Burst int
	// RefusalPause is how long credentials aren't used again after they were refused twice; default none. With a pause the
	// first refusal is Transient, and they are tried once more after a tenth of it, or sooner.
	RefusalPause time.Duration
	// Circuits of the program; without them each call is sent.
	Circuits *circuit.Circuits `json:"-"`
}

// Paced returns a change of a Config for a program that polls each of its objects once per interval: the given rate and burst (0 is
// the default), ten intervals of rest after a refusal, and calls only to where the policy allows. All Configs that it has changed
// share circuits.
func Paced(interval time.Duration, qps float64, burst int, policy egress.Policy) func(*Config) {
	circuits := circuit.New(interval)
	return func(c *Config) {
		c.RefusalPause, c.QPS, c.Burst, c.Egress, c.Circuits = 10*interval, qps, burst, policy, circuits
	}
}

// OAuth2 is a login with the client credentials of OAuth2 (RFC 6749, 4.4).
type OAuth2 struct {
	// TokenURL is where tokens are fetched: https, and what the Config's Egress allows.
	TokenURL string
	ClientID string
	// ClientSecret is never printed.
	ClientSecret string `json:"-"`
	Scopes       []string
}

// String prints the configuration without secrets.
func (c Config) String() string {
	text := fmt.Sprintf("%s org %s as %s", c.Endpoint, c.Org, cmp.Or(c.APIName, "whatever it calls itself"))
	if c.OAuth2 != nil {
		text += ", login " + c.OAuth2.String()
	}
	return text
}

// GoString prints the configuration without secrets.
func (c Config) GoString() string { return c.String() }

// String prints the login without the secret.
func (o OAuth2) String() string { return fmt.Sprintf("%s at %s", o.ClientID, o.TokenURL) }

// GoString prints the login without the secret.
func (o OAuth2) GoString() string { return o.String() }

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.QPS = cmp.Or(c.QPS, DefaultQPS)
	c.Burst = cmp.Or(c.Burst, DefaultBurst)
	return c
}

var (
	apiNamePattern = regexp.MustCompile(`^[a-z0-9-]+$`)
	tokenPattern   = regexp.MustCompile(`^[\x21-\x7e]+$`)
)

// validate returns the URL of the organisation, to which the API's name and then the path are appended.
func (c Config) validate() (*url.URL, error) {
	endpoint, err := c.serviceURL(SecretKeyEndpoint, c.Endpoint)
	if err != nil {
		return nil, err
	}
	server, ok := inOneForm(endpoint)
	endpoint.Host = server
	switch {
	case !ok:
		return nil, errors.New(SecretKeyEndpoint + mustLookLike)
	case c.Org == "":
		return nil, errors.New("org is empty")
	case c.Org == "." || c.Org == "..": // segments of a path
		return nil, errors.New("org isn't a name")
	case c.APIName != "" && !apiNamePattern.MatchString(c.APIName):
		return nil, errors.New("apiName must consist of lower case letters, digits and dashes")
	case c.QPS < 0 || c.Burst < 0:
		return nil, errors.New("QPS and burst must be positive")
	}
	if err := c.validateLogin(); err != nil {
		return nil, err
	}
	return endpoint.JoinPath("v2", "org", url.PathEscape(c.Org)), nil
}

func (c Config) validateLogin() error {
	if c.OAuth2 == nil {
		if !tokenPattern.MatchString(c.Token) {
			return errors.New("token is empty or contains characters that a bearer token can't have")
		}
		return nil
	}
	if c.Token != "" {
		return errors.New("there are two ways to log in, token and OAuth2: remove one")
	}
	if c.OAuth2.ClientID == "" || c.OAuth2.ClientSecret == "" || slices.Contains(c.OAuth2.Scopes, "") {
		return errors.New("clientID, clientSecret or a scope is empty")
	}
	_, err := c.serviceURL(SecretKeyTokenURL, c.OAuth2.TokenURL)
	return err
}

const mustLookLike = " must look like https://host[:port][/path]"

// inOneForm is the server of a URL in canonical form. What is known of a server counts for all its clients, so it has to be
// the same one that they call.
func inOneForm(u *url.URL) (server string, ok bool) {
	server = strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if addr, err := netip.ParseAddr(server); err == nil {
		server = addr.Unmap().String()
	}
	if strings.Contains(server, ":") {
		server = "[" + server + "]"
	}
	if u.Port() == "" {
		return server, true
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if port != defaultPorts[u.Scheme] {
		server += ":" + strconv.FormatUint(port, 10)
	}
	return server, err == nil && port > 0
}

var defaultPorts = map[string]uint64{"https": 443, "http": 80}

// serviceURL parses the URL of a service that gets secrets.
func (c Config) serviceURL(key, value string) (*url.URL, error) {
	parsed, err := url.Parse(value)
	switch {
	case err != nil:
		return nil, errors.New(key + " is not a URL")
	case parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "":
		return nil, errors.New(key + mustLookLike)
	}
	if err := c.Egress.CheckURL(parsed); err != nil {
		return nil, fmt.Errorf("%s %w", key, err)
	}
	return parsed, nil
}
