package client

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
)

const (
	// DefaultTimeout bounds a call that changes something, with its repetitions.
	DefaultTimeout = 60 * time.Second
	// DefaultQPS is how many requests per second a client sends to a service in a region.
	DefaultQPS = 20
	// DefaultBurst is how many requests may come at once after a pause.
	DefaultBurst = 100
)

// Config is a login, and where the services are.
type Config struct {
	// APIKey of IAM. It is never printed.
	APIKey string `json:"-"`
	// Secret is the namespace/name of the Secret that all this comes from. Errors about the login name it, and metrics and spans carry it.
	Secret string
	// Endpoints are URLs of services that the Secret names. Those of services in regions may contain {region}.
	Endpoints map[Service]string
	// ServiceEndpoints are those of the program, for services that the Secret doesn't name. Others have the public ones.
	ServiceEndpoints ServiceEndpoints
	// CABundle is trusted beside the system's roots; certificates in PEM.
	CABundle []byte
	// Limits; default DefaultTimeout, DefaultQPS and DefaultBurst.
	httpclient.Limits
}

// Paced returns a change of a Config for a program that polls each of its objects once per interval: see httpclient.Paced. A rate
// or burst of 0 is the default.
func Paced(
	interval time.Duration, qps float64, burst int, policy egress.Policy, endpoints ServiceEndpoints,
) func(*Config) {
	limits := httpclient.Paced(interval, qps, burst, policy)
	return func(c *Config) { c.Limits, c.ServiceEndpoints = limits, endpoints }
}

// String prints the configuration without secrets.
func (c Config) String() string { return "IBM Cloud, API key of secret " + c.Secret }

// GoString prints the configuration without secrets.
func (c Config) GoString() string { return c.String() }

// endpoint of a service in a region.
func (c Config) endpoint(at place) string {
	template := cmp.Or(c.Endpoints[at.service], c.ServiceEndpoints.of(at), known[at.service].endpoint)
	return strings.ReplaceAll(template, regionMark, at.region)
}

func (c Config) validate() error {
	if !apiKeyPattern.MatchString(c.APIKey) {
		return errors.New(SecretKeyAPIKey + " is empty or contains characters that a key can't have")
	}
	return nil
}

// frame is the configuration of a service in a region.
func (c Config) frame(at place) (httpclient.Config, error) {
	of, isKnown := known[at.service]
	if !isKnown {
		return httpclient.Config{}, fmt.Errorf("there is no service %q", at.service)
	}
	name := of.name
	if at.service.regional() {
		if !regionName.MatchString(at.region) {
			return httpclient.Config{}, fmt.Errorf("%q is not the name of a region", at.region)
		}
		name += " in " + at.region
	}
	frame := httpclient.Config{
		System: "powervs", Name: name, Endpoint: c.endpoint(at), EndpointKey: at.service.secretKey(),
		Secret: c.Secret, CABundle: c.CABundle, Classify: classify, Limits: c.Limits,
	}
	frame.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	frame.QPS = cmp.Or(c.QPS, DefaultQPS)
	frame.Burst = cmp.Or(c.Burst, DefaultBurst)
	return frame, nil
}

func (c Config) account() credentials.Account {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%q %q %q %q", c.APIKey, c.Endpoints, c.ServiceEndpoints, c.CABundle) // can't fail, and prints maps sorted
	return credentials.Account(hash.Sum(nil))
}
