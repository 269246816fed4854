package httpclient

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/bedplate/bedplate/internal/egress"
)

const mustLookLike = " must look like https://host[:port][/path]"

// parseEndpoint returns the URL of an endpoint, with the server in canonical form.
func parseEndpoint(policy egress.Policy, key, endpoint string) (*url.URL, error) {
	parsed, err := serviceURL(policy, key, endpoint)
	if err != nil {
		return nil, err
	}
	server, ok := inOneForm(parsed)
	if !ok {
		return nil, errors.New(key + mustLookLike)
	}
	parsed.Host = server
	return parsed, nil
}

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
func serviceURL(policy egress.Policy, key, value string) (*url.URL, error) {
	parsed, err := url.Parse(value)
	switch {
	case err != nil:
		return nil, errors.New(key + " is not a URL")
	case parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "":
		return nil, errors.New(key + mustLookLike)
	}
	if err := policy.CheckURL(parsed); err != nil {
		return nil, fmt.Errorf("%s %w", key, err)
	}
	return parsed, nil
}
