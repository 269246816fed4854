package client

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
)

const (
	// DefaultTimeout lets a create finish that blocks until the service itself gives up, after 50 seconds.
	DefaultTimeout = 75 * time.Second
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
	OAuth2 *httpclient.OAuth2
	// Secret is the namespace/name of the Secret that all this comes from. Errors about the login name it, and metrics
	// and spans carry it.
	Secret string
	// APIName is a segment of every path: APINameNICo, APINameCarbide or what the server's operator has chosen. Without
	// it the client detects which of the two it is.
	APIName string
	// CABundle is trusted beside the system's roots, for the API and for the login; certificates in PEM.
	CABundle []byte
	// Limits; default DefaultTimeout, DefaultQPS and DefaultBurst.
	httpclient.Limits
}

// Paced returns a change of a Config for a program that polls each of its objects once per interval: see httpclient.Paced. A rate
// or burst of 0 is the default.
func Paced(interval time.Duration, qps float64, burst int, policy egress.Policy) func(*Config) {
	limits := httpclient.Paced(interval, qps, burst, policy)
	return func(c *Config) { c.Limits = limits }
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

var apiNamePattern = regexp.MustCompile(`^[a-z0-9-]+$`)

func (c Config) validate() error {
	switch {
	case c.Org == "":
		return errors.New("org is empty")
	case c.Org == "." || c.Org == "..": // segments of a path
		return errors.New("org isn't a name")
	case c.APIName != "" && !apiNamePattern.MatchString(c.APIName):
		return errors.New("apiName must consist of lower case letters, digits and dashes")
	case c.OAuth2 != nil && c.Token != "":
		return errors.New("there are two ways to log in, token and OAuth2: remove one")
	}
	return nil
}

// frame is the configuration for what the client has in common with others.
func (c Config) frame() httpclient.Config {
	frame := httpclient.Config{
		System: "bmm", Name: "the BMM API", Endpoint: c.Endpoint, Secret: c.Secret, CABundle: c.CABundle,
		Login: httpclient.Bearer(c.Token), Classify: classify(nil), Limits: c.Limits,
	}
	if c.OAuth2 != nil {
		frame.Login = c.OAuth2.Login(c.Secret)
	}
	frame.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	frame.QPS = cmp.Or(c.QPS, DefaultQPS)
	frame.Burst = cmp.Or(c.Burst, DefaultBurst)
	return frame
}
