package manager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	bmmconfig "github.com/bedplate/bedplate/config/bmm"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// With the certificate that the webhooks have, and the role that config/bmm gives to the collector of the metrics.
func TestMetrics_areServedToThoseWhoMayGetThem(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	authority, err := pki.NewAuthority("webhooks")
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := authority.Sign(pki.Leaf{
		CommonName: "webhooks", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	g.Expect(err).NotTo(HaveOccurred())
	certificates := t.TempDir()
	g.Expect(pki.Dir(certificates).Write("tls", pair)).To(Succeed())
	_, address := servePorts(t, certificates)

	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(authority.CertPEM())).To(BeTrue())
	sender := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 10 * time.Second}
	get := func(token string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		g.Expect(err).NotTo(HaveOccurred())
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := sender.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return answer.StatusCode, string(body)
	}
	soon := func(token string, code int) (body string) {
		g.Eventually(func() (got int) {
			got, body = get(token)
			return got
		}, time.Minute).Should(Equal(code))
		return body
	}
	soon("", http.StatusUnauthorized)
	soon(tokenOf(t, "stranger", false), http.StatusForbidden)
	g.Expect(soon(tokenOf(t, "prometheus", true), http.StatusOK)).To(ContainSubstring("process_resident_memory_bytes"))
}

// servePorts runs a manager without controllers, and returns where its probes and its metrics are.
func servePorts(t *testing.T, certificates string) (probes, metrics string) {
	t.Helper()
	g := NewWithT(t)
	probes, metrics = testenv.FreeAddress(t, net.IPv4(127, 0, 0, 1)).String(), testenv.FreeAddress(t, net.IPv4(127, 0, 0, 1)).String()
	options := &Options{
		Name: "test", Kubeconfig: testenv.Kubeconfig(t), HealthAddress: probes, MetricsAddress: metrics, WebhookCertDir: certificates,
	}
	mgr, err := options.New(testenv.Scheme(t))
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() { stop(); g.Expect(<-ended).To(Succeed()) })
	return probes, metrics
}

// tokenOf makes an account, which may get metrics or not.
func tokenOf(t *testing.T, name string, reader bool) string {
	t.Helper()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	g.Expect(c.Create(t.Context(), account)).To(Succeed())
	if reader {
		data, err := bmmconfig.RBAC.ReadFile("rbac/metrics_reader_role.yaml")
		g.Expect(err).NotTo(HaveOccurred())
		role := &rbacv1.ClusterRole{}
		g.Expect(yaml.UnmarshalStrict(data, role)).To(Succeed())
		g.Expect(c.Create(t.Context(), role)).To(Succeed())
		g.Expect(c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		})).To(Succeed())
	}
	token := &authenticationv1.TokenRequest{}
	g.Expect(c.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	return token.Status.Token
}
