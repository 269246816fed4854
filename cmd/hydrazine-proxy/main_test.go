package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/config/hydrazine"
	manifests "github.com/bedplate/bedplate/config/hydrazine-proxy"
	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Program(main); testenv.Main(m) }

// program is a proxy that runs, with the rights of its service account.
type program struct {
	*WithT
	t       testing.TB
	ca      *pki.Authority
	address string
	metrics string
	denied  string // the deny file
	cmd     *exec.Cmd
}

// started counts the programs.
var started atomic.Uint32

func start(t testing.TB, env ...string) *program {
	t.Helper()
	// No other process listens there, and no connection starts there.
	host := net.IPv4(127, 66, byte(os.Getpid()), byte(started.Add(1)))
	p := &program{WithT: NewWithT(t), t: t, address: testenv.FreeAddress(t, host).String(), metrics: testenv.FreeAddress(t, host).String(),
		denied: filepath.Join(t.TempDir(), "denied")}
	p.deny()
	p.grant()
	var err error
	p.ca, err = pki.NewAuthority("proxy")
	p.Expect(err).NotTo(HaveOccurred())
	own := p.files(pki.Leaf{CommonName: "proxy", IPs: []net.IP{host}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	health := testenv.FreeAddress(t, host).String()
	p.cmd = exec.Command(os.Args[0],
		"--kubeconfig", testenv.KubeconfigOf(t, "system:serviceaccount:bedplate-hydrazine-system:bedplate-hydrazine-proxy", "system:serviceaccounts"),
		"--listen", p.address, "--health-addr", health, "--metrics-addr", p.metrics,
		"--tls-cert-file", own.Certificate, "--tls-private-key-file", own.Key, "--tls-ca-file", own.Authorities,
		"--tls-deny-file", p.denied, "--operator-organization", "operators")
	p.cmd.Env = append(append(os.Environ(), testenv.AsProgram), env...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	p.Expect(err).NotTo(HaveOccurred())
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.Expect(p.cmd.Start()).To(Succeed())
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Log(string(text))
		}
	})
	t.Cleanup(p.end)
	p.Eventually(func() (int, error) {
		answer, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}, time.Minute).Should(Equal(http.StatusOK))
	return p
}

func (p *program) end() {
	p.Expect(p.cmd.Process.Signal(os.Interrupt)).To(Succeed())
	p.Expect(p.cmd.Wait()).To(Succeed())
}

// grant what config/hydrazine-proxy/rbac grants, and nothing else.
func (p *program) grant() {
	p.t.Helper()
	c := testenv.Client(p.t)
	p.Expect(kubernetes.IgnoreAlreadyExists(c.Create(p.t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "bedplate-hydrazine-system"}}))).To(Succeed())
	objects, err := manifest.DecodeAll(manifests.RBAC)
	p.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		p.Expect(kubernetes.IgnoreAlreadyExists(c.Create(p.t.Context(), object))).To(Succeed())
	}
}

func (p *program) files(leaf pki.Leaf) client.Files {
	p.t.Helper()
	dir := pki.Dir(p.t.TempDir())
	pair, err := p.ca.Sign(leaf)
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(dir.Write("tls", pair)).To(Succeed())
	p.Expect(dir.Write("ca", pki.KeyPair{Cert: p.ca.CertPEM()})).To(Succeed())
	return client.Files{Certificate: dir.Cert("tls"), Key: dir.Key("tls"), Authorities: dir.Cert("ca")}
}

func (p *program) as(organization string) *client.Client {
	p.t.Helper()
	return p.dial(p.certificate(organization))
}

func (p *program) certificate(organization string) client.Files {
	p.t.Helper()
	return p.files(pki.Leaf{
		CommonName: "manager", Organizations: []string{organization}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func (p *program) dial(files client.Files) *client.Client {
	p.t.Helper()
	c, err := client.Dial(p.address, files)
	p.Expect(err).NotTo(HaveOccurred())
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// deny certificates, and no others any more.
func (p *program) deny(all ...client.Files) {
	p.t.Helper()
	var serials []byte
	for _, files := range all {
		data, err := os.ReadFile(files.Certificate)
		p.Expect(err).NotTo(HaveOccurred())
		block, _ := pem.Decode(data)
		certificate, err := x509.ParseCertificate(block.Bytes)
		p.Expect(err).NotTo(HaveOccurred())
		serials = fmt.Appendf(serials, "%X\n", certificate.SerialNumber)
	}
	p.Expect(os.WriteFile(p.denied+".new", serials, 0o600)).To(Succeed())
	p.Expect(os.Rename(p.denied+".new", p.denied)).To(Succeed())
}

// The key of a tenant's certificate, or of an operator's, has been lost: other certificates of theirs stay good.
func TestProxy_deniesCertificatesThatAreValid(t *testing.T) {
	t.Parallel()
	p := start(t)
	for organization, tenant := range map[string]string{"green": "", "operators": "-"} {
		lost, other := p.certificate(organization), p.as(organization)
		c := p.dial(lost)
		stream, err := c.ResourceGroups.Watch(t.Context(), &proxyv1.WatchRequest{Tenant: tenant})
		p.Expect(err).NotTo(HaveOccurred())
		_, err = stream.Recv()
		p.Expect(err).NotTo(HaveOccurred())
		p.deny(lost)
		ended := make(chan error, 1)
		go func() {
			var err error
			for err == nil {
				_, err = stream.Recv()
			}
			ended <- err
		}()
		p.Eventually(ended, time.Minute).Should(Receive(MatchError(ContainSubstring("Unavailable"))))
		_, err = c.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{Tenant: tenant})
		p.Expect(err).To(MatchError(ContainSubstring("Unavailable"))) // or the client's write is refused before it has read the alert
		_, err = other.ResourceGroups.List(t.Context(), &proxyv1.ListRequest{Tenant: tenant})
		p.Expect(err).NotTo(HaveOccurred())
	}
}

func group(network string) *proxyv1.ResourceGroupSpec {
	return &proxyv1.ResourceGroupSpec{Network: &proxyv1.IPNet{Ip: network, PrefixLength: 24}}
}

// The program as it runs in production: everything that a client may ask for, with no rights but those of its service account.
func TestProxy_worksWithTheRightsOfItsServiceAccount(t *testing.T) {
	t.Parallel()
	p, ctx := start(t), t.Context()
	c, operator := p.as("blue"), p.as("operators")
	stream, err := c.ResourceGroups.Watch(ctx, &proxyv1.WatchRequest{})
	p.Expect(err).NotTo(HaveOccurred())
	next := func() proxyv1.EventType {
		event, err := stream.Recv()
		p.Expect(err).NotTo(HaveOccurred())
		return event.GetType()
	}
	p.Expect(next()).To(Equal(proxyv1.EventType_EVENT_TYPE_BOOKMARK))
	g, err := c.ResourceGroups.Create(ctx, &proxyv1.CreateResourceGroupRequest{Name: "web", Spec: group("10.10.10.0")})
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(testenv.Client(t).Get(ctx, kubernetes.ObjectKey{Name: "tenant-blue"}, &corev1.Namespace{})).To(Succeed())
	p.Expect(next()).To(Equal(proxyv1.EventType_EVENT_TYPE_ADDED))
	g.Spec.DhcpServer = "172.19.0.10"
	_, err = c.ResourceGroups.Update(ctx, &proxyv1.UpdateResourceGroupRequest{
		Name: "web", Spec: g.GetSpec(), ResourceVersion: g.GetMetadata().GetResourceVersion()})
	p.Expect(err).NotTo(HaveOccurred())
	_, err = c.ManagedResources.Create(ctx, &proxyv1.CreateManagedResourceRequest{Name: "host1", Spec: &proxyv1.ManagedResourceSpec{
		ResourceGroup: "web", HostIp: "10.10.10.2", HostMac: "02:00:0a:0a:0a:02", DpuIps: []string{"172.18.0.5"},
	}})
	p.Expect(err).NotTo(HaveOccurred())
	list, err := c.ManagedResources.List(ctx, &proxyv1.ListRequest{})
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(list.GetManagedResources()).To(HaveLen(1))
	_, err = operator.PublicIPs.Create(ctx, &proxyv1.CreatePublicIPRequest{Name: "one", Spec: &proxyv1.PublicIPSpec{IpAddress: "203.0.113.10"}})
	p.Expect(err).NotTo(HaveOccurred())
	_, err = operator.PublicIPs.Delete(ctx, &proxyv1.DeleteRequest{Name: "one"})
	p.Expect(err).NotTo(HaveOccurred())
	_, err = c.ManagedResources.Delete(ctx, &proxyv1.DeleteRequest{Name: "host1"})
	p.Expect(err).NotTo(HaveOccurred())
	_, err = c.ResourceGroups.Delete(ctx, &proxyv1.DeleteRequest{Name: "web"})
	p.Expect(err).NotTo(HaveOccurred())
}

// To clients with the role for Hydrazine's metrics, which the program's own account may check.
func TestProxy_servesItsMetrics(t *testing.T) {
	t.Parallel()
	p, ctx, admin, namespace := start(t), t.Context(), testenv.Client(t), testenv.Namespace(t)
	_, err := p.as("red").PublicIPs.Get(ctx, &proxyv1.GetRequest{Name: "none"})
	p.Expect(err).To(HaveOccurred())
	roles, err := manifest.DecodeAll(hydrazine.RBAC)
	p.Expect(err).NotTo(HaveOccurred())
	for _, role := range roles {
		if role.GetName() == "bedplate-hydrazine-metrics-reader" {
			p.Expect(admin.Create(ctx, role)).To(Succeed())
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"}}
	p.Expect(admin.Create(ctx, account)).To(Succeed())
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "bedplate-hydrazine-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account.Name}},
	}
	p.Expect(admin.Create(ctx, binding)).To(Succeed())
	t.Cleanup(func() { p.Expect(admin.Delete(context.Background(), binding)).To(Succeed()) })
	token := &authenticationv1.TokenRequest{}
	p.Expect(admin.SubResource("token").Create(ctx, account, token)).To(Succeed())
	sender := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // it makes its own
	p.Eventually(func() (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.metrics+"/metrics", http.NoBody)
		p.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+token.Status.Token)
		answer, err := sender.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	}, time.Minute).Should(And(
		ContainSubstring(`bedplate_hydrazine_proxy_calls_total{code="NotFound",method="PublicIPs/Get"} 1`),
		ContainSubstring("bedplate_tls_certificate_remaining_seconds ")))
}

// BenchmarkCreate makes hosts as fast as it can, with 64 callers: by a proxy that has one core, and, to compare, without one.
// Beside the time of a create it prints how many fit into a second of the proxy's processor, and the proxy's memory.
func BenchmarkCreate(b *testing.B) {
	b.Run("proxy", func(b *testing.B) {
		p := start(b, "GOMAXPROCS=1")
		c := p.as("operators")
		create := func(n int64) error {
			_, err := c.ManagedResources.Create(b.Context(), &proxyv1.CreateManagedResourceRequest{
				Tenant: "bench", Name: fmt.Sprintf("host%d-%d", b.N, n), Spec: &proxyv1.ManagedResourceSpec{
					ResourceGroup: "web", HostIp: "10.10.10.2", HostMac: "02:00:0a:0a:0a:02", DpuIps: []string{"172.18.0.5", "172.18.0.105"},
				},
			})
			return err
		}
		p.Expect(create(0)).To(Succeed()) // and the namespace
		before := p.processor()
		inParallel(b, create)
		b.ReportMetric(float64(b.N)/(p.processor()-before).Seconds(), "creates/cpu-s")
		b.ReportMetric(p.memory(), "RSS-MB")
	})
	b.Run("API server", func(b *testing.B) {
		namespace, c := testenv.Namespace(b), testenv.Client(b)
		inParallel(b, func(n int64) error {
			return c.Create(b.Context(), &resourcev1.ManagedResource{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("host%d", n)},
				Spec: resourcev1.ManagedResourceSpec{
					ResourceGroup: "web", HostIP: "10.10.10.2", HostMAC: "02:00:0a:0a:0a:02",
					DPUIPs: []resourcev1.IPAddress{"172.18.0.5", "172.18.0.105"},
				},
			})
		})
	})
}

func inParallel(b *testing.B, create func(n int64) error) {
	var count atomic.Int64
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := create(count.Add(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
}

// processor is the time that the program has used of it.
func (p *program) processor() time.Duration {
	p.t.Helper()
	stat, err := os.ReadFile("/proc/" + p.pid() + "/stat")
	p.Expect(err).NotTo(HaveOccurred())
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	user, err := strconv.Atoi(fields[12])
	p.Expect(err).NotTo(HaveOccurred())
	system, err := strconv.Atoi(fields[13])
	p.Expect(err).NotTo(HaveOccurred())
	return time.Duration(user+system) * 10 * time.Millisecond // of Linux' clock
}

// memory of the program that is resident, in MB.
func (p *program) memory() float64 {
	p.t.Helper()
	resident, _ := processtest.Memory(p.t, p.cmd.Process.Pid)
	return resident
}

func (p *program) pid() string { return strconv.Itoa(p.cmd.Process.Pid) }
