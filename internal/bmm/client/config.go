package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// DefaultAPIName is the path segment of servers before release 1.5; newer ones use "nico".
	DefaultAPIName = "carbide"
	// DefaultTimeout lets a create finish that blocks until the service itself gives up, after 50 seconds.
	DefaultTimeout = 75 * time.Second
)

// Keys of a credentials Secret.
const (
	SecretKeyEndpoint = "endpoint"
	SecretKeyOrg      = "orgName"
	SecretKeyToken    = "token"
	SecretKeyAPIName  = "apiName"
)

// Config says which API to speak to, and as whom.
type Config struct {
	// Endpoint is the base URL: https, or http on a loopback address.
	Endpoint string
	// Org is the name of the organisation, a segment of every path.
	Org string
	// Token is the bearer token. It is never printed.
	Token string `json:"-"`
	// Source is where the token comes from, such as "secret default/bmm"; errors about the token name it.
	Source string
	// APIName is a segment of every path; default DefaultAPIName.
	APIName string
	// HTTP sends the requests; default http.DefaultTransport. Its redirect policy is not used.
	HTTP *http.Client
	// Timeout bounds each call; default DefaultTimeout.
	Timeout time.Duration
	// RefusalPause is how long a token isn't used again after the API has refused it; default none.
	RefusalPause time.Duration
}

// FromSecret reads a Config from the keys endpoint, orgName, token and, optionally, apiName. The error names the
// Secret and each missing key.
func FromSecret(secret *corev1.Secret) (Config, error) {
	value := func(key string) string { return strings.TrimSpace(string(secret.Data[key])) }
	var missing []string
	for _, key := range []string{SecretKeyEndpoint, SecretKeyOrg, SecretKeyToken} {
		if value(key) == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return Config{}, fmt.Errorf("secret %s/%s has no %s", secret.Namespace, secret.Name, strings.Join(missing, ", "))
	}
	return Config{
		Endpoint: value(SecretKeyEndpoint),
		Org:      value(SecretKeyOrg),
		Token:    value(SecretKeyToken),
		Source:   "secret " + secret.Namespace + "/" + secret.Name,
		APIName:  value(SecretKeyAPIName),
	}, nil
}

// String prints the configuration without the token.
func (c Config) String() string {
	return fmt.Sprintf("%s org %s as %s", c.Endpoint, c.Org, c.APIName)
}

// GoString prints the configuration without the token.
func (c Config) GoString() string { return c.String() }

var (
	apiNamePattern = regexp.MustCompile(`^[a-z0-9-]+$`)
	tokenPattern   = regexp.MustCompile(`^[\x21-\x7e]+$`)
)

// baseURL validates the configuration and returns the URL that all paths are relative to.
func (c Config) baseURL() (string, error) {
	endpoint, err := url.Parse(c.Endpoint)
	switch {
	case err != nil:
		return "", errors.New("endpoint is not a URL")
	case endpoint.Host == "" || endpoint.User != nil || endpoint.RawQuery != "" || endpoint.Fragment != "":
		return "", errors.New("endpoint must look like https://host[:port][/path]")
	case endpoint.Scheme != "https" && (endpoint.Scheme != "http" || !isLoopback(endpoint.Hostname())):
		return "", errors.New("endpoint must use https; http is for loopback addresses only")
	case c.Org == "":
		return "", errors.New("org is empty")
	case !tokenPattern.MatchString(c.Token):
		return "", errors.New("token is empty or contains characters that a bearer token can't have")
	case !apiNamePattern.MatchString(c.APIName):
		return "", errors.New("apiName must consist of lower case letters, digits and dashes")
	}
	return endpoint.JoinPath("v2", "org", url.PathEscape(c.Org), c.APIName).String(), nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
