// Package apiserver calls the API servers of other clusters. Their kubeconfigs, and the servers themselves, may be a tenant's: nothing is
// read or run here for them, and what they answer is bounded in bytes and in time.
package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bedplate/bedplate/internal/egress"
)

// CallTimeout bounds a call with its answer.
const CallTimeout = 10 * time.Second

const (
	dialTimeout = 5 * time.Second
	maxHeader   = 64 << 10
)

// maxSize of a kubeconfig, in bytes. One of the largest clusters has a few KiB.
const maxSize = 256 << 10

// Load a kubeconfig. The errors repeat nothing of it. Aliases, which no kubeconfig needs, are refused: with a few of them it could mean
// billions of bytes.
func Load(data []byte) (*clientcmdapi.Config, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("it has more than %d KiB", maxSize>>10)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, errNotOne
	}
	if hasAlias(&document) {
		return nil, errors.New("it has an alias of YAML: write out what that stands for")
	}
	all, err := clientcmd.Load(data)
	if err != nil {
		return nil, errNotOne
	}
	return all, nil
}

var errNotOne = errors.New("it isn't a kubeconfig")

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// Config takes from a kubeconfig the address and the user's credentials, and nothing that would be read or run here:
// anyone who may write Secrets in a tenant's namespace can write it. The errors repeat nothing of it.
func Config(data []byte) (*rest.Config, error) {
	all, err := Load(data)
	if err != nil {
		return nil, err
	}
	chosen, ok := all.Contexts[all.CurrentContext]
	if !ok {
		return nil, errors.New("it has no current context")
	}
	cluster, user := all.Clusters[chosen.Cluster], all.AuthInfos[chosen.AuthInfo]
	if cluster == nil || user == nil {
		return nil, errors.New("its current context has no cluster, or no user")
	}
	switch {
	case user.Exec != nil || user.AuthProvider != nil:
		return nil, errors.New("it uses an exec or auth provider plugin, and these aren't run: put a certificate or a token into it")
	case user.TokenFile != "" || user.ClientCertificate != "" || user.ClientKey != "" || cluster.CertificateAuthority != "":
		return nil, errors.New("it refers to files, and these aren't read: embed their contents")
	case cluster.ProxyURL != "":
		return nil, errors.New("it names a proxy, and only those of the manager's environment are used")
	case !strings.HasPrefix(cluster.Server, "https://") || cluster.InsecureSkipTLSVerify || len(cluster.CertificateAuthorityData) == 0:
		return nil, errors.New("the server must be an https address, with the certificate of its authority")
	}
	return &rest.Config{
		Host: cluster.Server, BearerToken: user.Token, Username: user.Username, Password: user.Password,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName, CAData: cluster.CertificateAuthorityData,
			CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	}, nil
}

// ErrCertificates are those of a kubeconfig, if they can't be used.
var ErrCertificates = errors.New("the certificates in the kubeconfig can't be used")

// Client of one API server, for objects of the group "" in version v1.
type Client struct {
	rest.Interface
	// Close its connections, which are its own.
	Close func()
}

// Open a client with answers of at most so many bytes, without redirects and retries. The error may be ErrCertificates.
func Open(config *rest.Config, policy egress.Policy, maxAnswer int64) (*Client, error) {
	const connections = 1
	own, closeIdle, err := access(config, policy, maxAnswer, connections)
	if err != nil {
		return nil, err
	}
	own.APIPath, own.Timeout = "/api", CallTimeout
	own.ContentConfig = rest.ContentConfig{
		GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
	}
	sender, err := HTTP(own)
	if err != nil {
		return nil, err
	}
	api, err := rest.RESTClientForConfigAndClient(own, sender)
	if err != nil {
		return nil, fmt.Errorf("make the client of an API server: %w", err)
	}
	return &Client{Interface: api, Close: closeIdle}, nil
}

// Access is what clients and caches of controller-runtime are made of, whose calls share their connections. Answers have at most so many
// bytes, except watches. Without a Timeout, only the beginning of an answer is waited for in a given time. The error may be
// ErrCertificates.
func Access(config *rest.Config, policy egress.Policy, maxAnswer int64) (_ *rest.Config, closeIdle func(), _ error) {
	const unlimited = 0
	return access(config, policy, maxAnswer, unlimited)
}

func access(config *rest.Config, policy egress.Policy, maxAnswer int64, connections int) (_ *rest.Config, closeIdle func(), _ error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrCertificates, err)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: tlsConfig, MaxConnsPerHost: connections,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: CallTimeout, MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
	}
	guarded := policy.Transport(transport, dialTimeout)
	return &rest.Config{
		Host: config.Host, BearerToken: config.BearerToken, Username: config.Username, Password: config.Password,
		Transport: bounded{guarded, maxAnswer}, QPS: -1, UserAgent: rest.DefaultKubernetesUserAgent(),
	}, (&http.Client{Transport: guarded}).CloseIdleConnections, nil
}

// HTTP is the client for a configuration, and follows no redirects.
func HTTP(config *rest.Config) (*http.Client, error) {
	sender, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of an API server: %w", err)
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return sender, nil
}

// bounded cuts answers off that are longer than any that is expected.
type bounded struct {
	http.RoundTripper
	bytes int64
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil && !request.URL.Query().Has("watch") {
		response.Body = http.MaxBytesReader(nil, response.Body, b.bytes)
	}
	return response, err
}
