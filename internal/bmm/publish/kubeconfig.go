package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/egress"
)

const (
	dialTimeout = 5 * time.Second
	// callTimeout bounds a call with its answer.
	callTimeout = 10 * time.Second
	// maxAnswer in bytes. A page of our ConfigMaps is a quarter of it.
	maxAnswer = 256 << 10
	maxHeader = 64 << 10
)

// connect with the kubeconfig that Cluster API has for a cluster.
func connect(
	ctx context.Context, secrets client.Reader, policy egress.Policy, cluster types.NamespacedName,
) (*workload, error) {
	data, err := kubeconfig.FromSecret(ctx, secrets, cluster)
	if err != nil {
		return nil, &clusterError{fmt.Sprintf("Secret %s-kubeconfig can't be read: Cluster API writes it", cluster.Name), err}
	}
	config, err := restConfig(data)
	if err != nil {
		return nil, &clusterError{fmt.Sprintf("Secret %s-kubeconfig can't be used: %s", cluster.Name, err), err}
	}
	return open(config, policy)
}

// restConfig takes from a kubeconfig the address and the user's credentials, and nothing that would be read or run here:
// anyone who may write Secrets in a tenant's namespace can write it. The errors repeat nothing of it.
func restConfig(data []byte) (*rest.Config, error) {
	all, err := clientcmd.Load(data)
	if err != nil {
		return nil, errors.New("it isn't a kubeconfig")
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

// open a client with bounded answers, without redirects and retries. It has connections of its own.
func open(config *rest.Config, policy egress.Policy) (*workload, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, &clusterError{"the certificates in the kubeconfig can't be used", err}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: tlsConfig,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: callTimeout, MaxResponseHeaderBytes: maxHeader, MaxConnsPerHost: 1, DisableCompression: true,
	}
	guarded := policy.Transport(transport, dialTimeout)
	own := &rest.Config{
		Host: config.Host, BearerToken: config.BearerToken, Username: config.Username, Password: config.Password,
		APIPath: "/api", Timeout: callTimeout, Transport: bounded{guarded}, QPS: -1, UserAgent: rest.DefaultKubernetesUserAgent(),
		ContentConfig: rest.ContentConfig{
			GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		},
	}
	sender, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("make the client of a workload cluster: %w", err)
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	api, err := rest.RESTClientForConfigAndClient(own, sender)
	if err != nil {
		return nil, fmt.Errorf("make the client of a workload cluster: %w", err)
	}
	return &workload{api: api, close: (&http.Client{Transport: guarded}).CloseIdleConnections}, nil
}

// bounded cuts answers off that are longer than any that is expected.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	}
	return response, err
}
