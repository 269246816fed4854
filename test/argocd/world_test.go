// Package argocd has the real Argo CD deploy DPUServices: its application controller and its repo server sync our charts from a registry into
// a DPU cluster. It shows that the stand-in, internal/dpf/sim/argo, does what Argo CD does.
package argocd

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-containerregistry/pkg/registry"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	manager = "dpf-dpuservice-manager"
	root    = "../.."
)

// world has a host cluster with Argo CD and our manager, a DPU cluster with one node, and a registry with our charts.
type world struct {
	*WithT
	t         *testing.T
	tools     tools.Dir
	dir       string
	block     *loopback.Block
	charts    string // in the registry, without oci://
	authority string // file with the registry's certificate
	host, dpu client.Client
	access    []byte // to the DPU cluster: a kubeconfig
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, dir: t.TempDir()}
	w.tools = toolstest.Find(t, append([]string{"argocd", "helm", manager, kubelet.Tool, controlplane.SchedulerTool}, controlplane.Tools...)...)
	w.SetDefaultEventuallyTimeout(3 * time.Minute)
	w.SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	var err error
	w.block, err = loopback.Claim()
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.block.Close)
	w.startRegistry()
	var hostConfig *rest.Config
	var hostKubeconfig, dpuKubeconfig string
	hostConfig, w.host, hostKubeconfig = w.cluster("host", 1)
	_, w.dpu, dpuKubeconfig = w.cluster("dpus", 2)
	w.startNode(dpuKubeconfig)
	w.install(hostConfig)
	w.access, err = os.ReadFile(dpuKubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	kamaji.Kubeconfig(t, w.host, w.namespace("kamaji"), "a", w.access)
	w.startArgoCD(hostKubeconfig)
	w.start(manager, manager, nil, "--kubeconfig="+hostKubeconfig, "--controllers=services", "--leader-elect=false", "--webhook-port=0",
		"--health-addr=127.0.0.1:0", "--metrics-addr=0", "--insecure-loopback-endpoints", "--poll-interval=1s")
	return w
}

// cluster with all controllers.
func (w *world) cluster(name string, number byte) (*rest.Config, client.Client, string) {
	w.t.Helper()
	dir := filepath.Join(w.dir, name)
	keys := pki.Dir(filepath.Join(dir, "pki"))
	w.Expect(keys.CreateAuthorities()).To(Succeed())
	plane, err := controlplane.Start(w.t.Context(), controlplane.Config{
		Name: name, Dir: dir, PKI: keys, Tools: w.tools, Address: w.block.Address(254, number), Scheduler: true,
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(plane.Stop)
	kubeconfig := filepath.Join(dir, "admin.kubeconfig")
	w.Expect(plane.WriteKubeconfig(kubeconfig, "kubernetes-admin", "system:masters")).To(Succeed())
	c, err := client.New(plane.AdminConfig(), client.Options{Scheme: testenv.Scheme(w.t)})
	w.Expect(err).NotTo(HaveOccurred())
	return plane.AdminConfig(), c, kubeconfig
}

func (w *world) startNode(kubeconfig string) {
	w.t.Helper()
	dir := filepath.Join(w.dir, "nodes")
	w.Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	nodes, err := kubelet.Fleet{Kubeconfig: kubeconfig, Dir: dir, Tools: w.tools}.Start()
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(nodes.Stop)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "dpu-worker-1"}}
	node.Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("16"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110"),
	}
	node.Status.Capacity = node.Status.Allocatable
	w.Expect(w.dpu.Create(w.t.Context(), node)).To(Succeed())
}

// install the kinds, and what Argo CD's programs need to start.
func (w *world) install(config *rest.Config) {
	w.t.Helper()
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{ErrorIfPathMissing: true, MaxTime: time.Minute, Paths: []string{
		filepath.Join(root, "config", "dpf", "crd", "bases"), filepath.Join(w.argoModule(), "manifests", "crds"),
	}})
	w.Expect(err).NotTo(HaveOccurred())
	kamaji.Install(w.t, config)
	namespace := w.namespace(operatorv1.Namespace)
	labels := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "argocd-cm", Labels: labels}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "argocd-secret", Labels: labels},
			StringData: map[string]string{"server.secretkey": "of no use here, but wanted"}},
	} {
		w.Expect(w.host.Create(w.t.Context(), o)).To(Succeed())
	}
}

// argoModule is the folder of Argo CD's sources, in the version that is run.
func (w *world) argoModule() string {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3")
	command.Dir = filepath.Join(root, "tools", "argocd")
	out, err := command.Output()
	w.Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(out))
}

func (w *world) namespace(name string) string {
	w.t.Helper()
	err := w.host.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	w.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	return name
}

// start a program of the tools. Its log is shown if the test fails.
func (w *world) start(name, tool string, env []string, args ...string) {
	w.t.Helper()
	p, err := process.Start(process.Command{
		Name: name, Path: w.tools.Path(tool), Args: args, Env: env, Log: filepath.Join(w.dir, name+".log"),
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() {
		p.Stop(5 * time.Second)
		if data, _ := os.ReadFile(p.Log()); w.t.Failed() {
			w.t.Logf("%s:\n%s", p.Log(), data[max(0, len(data)-6000):])
		}
	})
}

func (w *world) startArgoCD(kubeconfig string) {
	w.t.Helper()
	redis, err := miniredis.Run()
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(redis.Close)
	home := filepath.Join(w.dir, "argocd")
	w.Expect(os.MkdirAll(filepath.Join(home, "tls"), 0o700)).To(Succeed())
	env := []string{
		"HOME=" + home, "TMPDIR=" + home, "PATH=" + string(w.tools) + ":" + os.Getenv("PATH"), "ARGOCD_FAKE_IN_CLUSTER=true",
		"ARGOCD_GPG_ENABLED=false", "ARGOCD_TLS_DATA_PATH=" + filepath.Join(home, "tls"), "SSL_CERT_FILE=" + w.authority,
	}
	server, metrics, more := w.port(), w.port(), w.port()
	w.start("repo-server", "argocd", env, "argocd-repo-server", "--address=127.0.0.1", "--port="+server, "--metrics-address=127.0.0.1",
		"--metrics-port="+metrics, "--redis="+redis.Addr(), "--disable-tls")
	w.start("application-controller", "argocd", env, "argocd-application-controller", "--kubeconfig="+kubeconfig,
		"--namespace="+operatorv1.Namespace, "--repo-server=127.0.0.1:"+server, "--repo-server-plaintext", "--redis="+redis.Addr(),
		"--metrics-port="+more, "--app-resync=10", "--app-resync-jitter=0", "--self-heal-timeout-seconds=1")
}

func (w *world) port() string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.Expect(err).NotTo(HaveOccurred())
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// startRegistry that is asked over TLS, as others are, and publish our charts there.
func (w *world) startRegistry() {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.authority = filepath.Join(w.dir, "registry.pem")
	w.Expect(os.WriteFile(w.authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)).To(Succeed())
	server := httptest.NewUnstartedServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	server.Config.ErrorLog = log.New(w.t.Output(), "registry: ", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	w.t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	w.charts = "localhost:" + port + "/charts"
}

// publish a chart.
func (w *world) publish(name, version string) {
	w.t.Helper()
	w.helm("package", filepath.Join(root, "charts", name), "--version", version, "--destination", w.dir)
	w.helm("push", filepath.Join(w.dir, name+"-"+version+".tgz"), "oci://"+w.charts, "--ca-file", w.authority)
}

func (w *world) helm(args ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, w.tools.Path("helm"), args...)
	command.Env = append(os.Environ(), "HOME="+w.dir)
	out, err := command.CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "%s", out)
}
