package im

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
)

const (
	// DefaultTimeout bounds a call that changes something, with its repetitions. An update is answered after its machines were asked for.
	DefaultTimeout = 60 * time.Second
	// DefaultQPS is how many requests per second a client makes.
	DefaultQPS = 10
	// DefaultBurst is how many requests may come at once after a pause.
	DefaultBurst = 50
)

// Config is an IM, who calls it, and the clouds that it works on for the caller.
type Config struct {
	// URL is the base of IM's REST API: https, and what Egress allows.
	URL string
	// Login of a user of IM, and Clouds that IM logs in to, in this order. They are never printed.
	Login  Credential   `json:"-"`
	Clouds []Credential `json:"-"`
	// Secret is the namespace/name of the Secret that the Login is from. Errors about the login name it, and metrics and spans carry it.
	Secret string
	// CABundle is trusted beside the system's roots; certificates in PEM.
	CABundle []byte
	// Limits; default DefaultTimeout, DefaultQPS and DefaultBurst.
	httpclient.Limits
}

// Paced returns a change of a Config for a program that polls each of its objects once per interval: see httpclient.Paced. A rate
// or burst of 0 is the default. An IM that doesn't answer is called less than once a minute, with an interval of
// 30 s, also beside the calls that were on their way when it went down: one IM has many clusters, and none of them is lost meanwhile.
func Paced(interval time.Duration, qps float64, burst int, policy egress.Policy) func(*Config) {
	limits := httpclient.Paced(interval, qps, burst, policy)
	limits.Circuits.Rest, limits.Circuits.FirstRest = 4*interval, interval/2
	return func(c *Config) { c.Limits = limits }
}

// String prints the configuration without secrets.
func (c Config) String() string { return fmt.Sprintf("IM at %s, login of secret %s", c.URL, c.Secret) }

// GoString prints the configuration without secrets.
func (c Config) GoString() string { return c.String() }

func (c Config) all() []Credential { return append([]Credential{c.Login}, c.Clouds...) }

// endpointKey names the URL in errors.
const endpointKey = "im.url of the provider"

// header is what a client logs in with: IM's, then the clouds'.
func (c Config) header() (string, error) {
	if c.Login[FieldType] != TypeIM {
		return "", errors.New("the login isn't one of IM")
	}
	for _, cloud := range c.Clouds {
		if cloud[FieldType] == TypeIM { // it would be another user of IM
			return "", fmt.Errorf("a cloud can't have the type %s", TypeIM)
		}
	}
	return header(c.all())
}

// frame is the configuration for what the client has in common with others.
func (c Config) frame(header string, hidden redactor) httpclient.Config {
	frame := httpclient.Config{
		System: "im", Name: "IM", Endpoint: c.URL, EndpointKey: endpointKey, Secret: c.Secret, CABundle: c.CABundle,
		Login: httpclient.Static("login", header, hidden.forms...), Classify: hidden.classify(false), Limits: c.Limits,
	}
	frame.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	frame.QPS = cmp.Or(c.QPS, DefaultQPS)
	frame.Burst = cmp.Or(c.Burst, DefaultBurst)
	return frame
}

// account changes with the login. The clouds are no part of it: infrastructures belong to users of IM.
func (c Config) account() credentials.Account {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%q %q %q", c.URL, map[string]string(c.Login), c.CABundle) // can't fail, and prints maps sorted
	return credentials.Account(hash.Sum(nil))
}
