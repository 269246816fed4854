package proxy_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/hydrazine/webhook"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/mtls"
	"github.com/bedplate/bedplate/internal/testenv"
)

const patience = 20 * time.Second

func TestMain(m *testing.M) {
	testenv.Main(m, func(mgr ctrl.Manager) error {
		if err := controller.Index(context.Background(), mgr.GetFieldIndexer()); err != nil {
			return err
		}
		return webhook.SetupWithManager(mgr)
	})
}

const operators = "operators"

// fixture is a proxy of its own, before the API server of all tests.
type fixture struct {
	*WithT
	t       testing.TB
	ca      *pki.Authority
	address string
	metrics *prometheus.Registry
	stop    func() // ends the proxy, and waits for that
}

// withConfig changes the API server's configuration or the proxy's.
type change func(*rest.Config, *proxy.Config)

func newFixture(t testing.TB, changes ...change) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, metrics: prometheus.NewRegistry()}
	ca, err := pki.NewAuthority("proxy")
	f.Expect(err).NotTo(HaveOccurred())
	f.ca = ca
	config := proxy.Config{
		Listen:  "127.0.0.1:0",
		Tenancy: proxy.Tenancy{Operators: []string{operators}}, CreateNamespaces: true,
		Connections: 100, TenantConnections: 20, TenantWatches: 20, TenantQPS: 1000, TenantBurst: 10000, TenantWriteBytes: 1 << 20,
	}
	access := testenv.Config(t)
	for _, change := range changes {
		change(access, &config)
	}
	f.Expect(config.Validate()).To(Succeed())
	c, err := kubernetes.NewWithWatch(access, kubernetes.Options{Scheme: testenv.Scheme(t)})
	f.Expect(err).NotTo(HaveOccurred())
	files := f.files(pki.Leaf{CommonName: "proxy", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	transport, err := (&mtls.Files{Certificate: files.Certificate, Key: files.Key, Authorities: files.Authorities}).
		Server(logr.NewContext(t.Context(), logr.Discard()), config.Authorize)
	f.Expect(err).NotTo(HaveOccurred())
	server, err := proxy.New(config, c, transport, f.metrics)
	f.Expect(err).NotTo(HaveOccurred())
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	f.Expect(err).NotTo(HaveOccurred())
	f.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	f.stop = func() { cancel(); f.Expect(<-ended).To(Succeed()); ended <- nil }
	t.Cleanup(f.stop)
	f.Eventually(func() error { return server.Ready(nil) }, patience).Should(Succeed())
	return f
}

// files of a certificate that the proxy's CA has signed.
func (f *fixture) files(leaf pki.Leaf) client.Files {
	f.t.Helper()
	dir := pki.Dir(f.t.TempDir())
	pair, err := f.ca.Sign(leaf)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(dir.Write("tls", pair)).To(Succeed())
	f.Expect(dir.Write("ca", pki.KeyPair{Cert: f.ca.CertPEM()})).To(Succeed())
	return client.Files{Certificate: dir.Cert("tls"), Key: dir.Key("tls"), Authorities: filepath.Join(string(dir), "ca.crt")}
}

func organized(organizations ...string) pki.Leaf {
	return pki.Leaf{CommonName: "manager", Organizations: organizations, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// as a client of an organization, without retries.
func (f *fixture) as(organizations ...string) *client.Client {
	f.t.Helper()
	c, err := client.Dial(f.address, f.files(organized(organizations...)), grpc.WithDisableRetry())
	f.Expect(err).NotTo(HaveOccurred())
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// counter makes what has to be unique among all tests.
var counter atomic.Uint32

// tenant returns a name that no other test has.
func tenant(what string) string {
	return fmt.Sprintf("%s-%d-%d", what, time.Now().UnixNano()%1e9, counter.Add(1))
}

func network() *proxyv1.ResourceGroupSpec {
	return &proxyv1.ResourceGroupSpec{
		Network:                   &proxyv1.IPNet{Ip: "10.10.10.0", PrefixLength: 24, Gateway: "10.10.10.1"},
		NetworkImplementationType: proxyv1.NetworkImplementationType_NETWORK_IMPLEMENTATION_TYPE_SOFTWARE,
	}
}

// host with addresses of the fabric that no other host has, nor the guide's (172.18.0.0/16).
func host(group string) *proxyv1.ManagedResourceSpec {
	n := counter.Add(2)
	return &proxyv1.ManagedResourceSpec{
		ResourceGroup: group, HostIp: "10.10.10.2", HostMac: "02:00:0a:0a:0a:02",
		DpuIps:     []string{fmt.Sprintf("172.20.%d.%d", n/250, 1+n%250), fmt.Sprintf("172.21.%d.%d", n/250, 1+n%250)},
		HostAccess: proxyv1.HostAccess_HOST_ACCESS_FABRIC_ACCESS,
	}
}

// code of an error of a call.
func code(err error) codes.Code { return status.Code(err) }

// detail of an error, of a type.
func detail[D any](err error) (found D) {
	for _, d := range status.Convert(err).Details() {
		if is, ok := d.(D); ok {
			found = is
		}
	}
	return found
}
