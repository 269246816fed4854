package kubeadm

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/cluster-bootstrap/token/jws"
	kubeadmv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"

	"github.com/bedplate/bedplate/internal/localstack/pki"
)

const (
	tokenID     = "abcdef"
	tokenSecret = "0123456789abcdef"

	// patience is for at least one answer, also where others have the processors. Who is refused for good asks for as long.
	patience = 10 * time.Second
)

// apiServer serves cluster-info with the CA in it, signed with the secret.
func apiServer(t *testing.T, secret string, ca func(own []byte) []byte) *httptest.Server {
	t.Helper()
	g := NewWithT(t)
	data := map[string]string{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: data,
		})
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{
		"": {Server: "https://127.9.9.9:6443", CertificateAuthorityData: ca(ownCertificate(server))},
	}})
	g.Expect(err).NotTo(HaveOccurred())
	data["kubeconfig"] = string(kubeconfig)
	data["jws-kubeconfig-"+tokenID], err = jws.ComputeDetachedSignature(string(kubeconfig), tokenID, secret)
	g.Expect(err).NotTo(HaveOccurred())
	return server
}

func ownCertificate(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestDiscover_trustsOnlyASignedAndPinnedCluster(t *testing.T) {
	t.Parallel()
	own := func(own []byte) []byte { return own }
	foreign, err := pki.NewAuthority("foreign")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	rows := []struct {
		name   string
		secret string
		ca     func([]byte) []byte
		pins   func(*httptest.Server) []string
		want   string
	}{
		{"signed and pinned", tokenSecret, own, pinOwn, ""},
		{"one of several pins", tokenSecret, own, func(s *httptest.Server) []string {
			return append([]string{"sha256:" + strings.Repeat("0", 64)}, pinOwn(s)...)
		}, ""},
		{"signed, verification skipped", tokenSecret, own, func(*httptest.Server) []string { return nil }, ""},
		{"signed with another token", strings.Repeat("f", 16), own, pinOwn, "not signed with this machine's bootstrap token"},
		{"another pin", tokenSecret, own, func(*httptest.Server) []string { return []string{"sha256:00"} }, "caCertHashes"},
		{"a CA that didn't sign the server's certificate", tokenSecret, func([]byte) []byte { return foreign.CertPEM() },
			func(*httptest.Server) []string { return nil }, "certificate signed by unknown authority"},
		{"no CA", tokenSecret, func([]byte) []byte { return nil }, pinOwn, "parse the CA"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			server := apiServer(t, row.secret, row.ca)
			config, err := discover(t.Context(), &kubeadmv1.BootstrapTokenDiscovery{
				Token:             tokenID + "." + tokenSecret,
				APIServerEndpoint: strings.TrimPrefix(server.URL, "https://"),
				CACertHashes:      row.pins(server),
			}, patience)
			if row.want != "" {
				g.Expect(err).To(MatchError(ContainSubstring(row.want)))
				g.Expect(err.Error()).NotTo(ContainSubstring(tokenSecret))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.Host).To(Equal("https://127.9.9.9:6443"), "the server that cluster-info names")
			g.Expect(config.CAData).To(Equal(ownCertificate(server)))
		})
	}
}

func pinOwn(server *httptest.Server) []string { return []string{pinOf(server.Certificate())} }

func TestDiscover_asksUntilTheTimeout(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := discover(t.Context(), &kubeadmv1.BootstrapTokenDiscovery{
		Token: tokenID + "." + tokenSecret, APIServerEndpoint: "127.0.0.1:1",
	}, patience)
	g.Expect(err).To(MatchError(And(ContainSubstring("connection refused"), ContainSubstring("deadline"))))
}
