// Package testenv gives tests a real API server with the CRDs of Cluster API and of Bedplate. One serves all tests of a
// package; each takes a namespace of its own.
package testenv

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

var shared struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	err    error
}

// Main runs the tests of a package and stops the API server, if a test has started it. Call it from TestMain.
func Main(m *testing.M) {
	flag.Parse()
	if !testing.Verbose() {
		klog.SetLogger(logr.Discard())
	}
	ctrl.SetLogger(klog.Background())
	code := m.Run()
	if shared.env != nil {
		if err := shared.env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// Config returns an administrator's access to the API server, which the first call starts.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	bin := toolstest.Find(t, "etcd", "kube-apiserver", "manifests/core.yaml")
	shared.once.Do(func() { start(bin) })
	if shared.err != nil {
		t.Fatalf("start the API server: %v", shared.err)
	}
	return rest.CopyConfig(shared.config)
}

func start(bin tools.Dir) {
	_, here, _, _ := runtime.Caller(0)
	shared.env = &envtest.Environment{
		BinaryAssetsDirectory: string(bin),
		CRDInstallOptions: envtest.CRDInstallOptions{
			Paths: []string{
				bin.Path("manifests", "core.yaml"),
				filepath.Join(filepath.Dir(here), "..", "..", "config", "bmm", "crd", "bases"),
			},
			ErrorIfPathMissing: true,
		},
	}
	shared.config, shared.err = shared.env.Start()
	if shared.err == nil {
		shared.config.QPS, shared.config.Burst = -1, -1 // tests don't wait for themselves
	}
}

// Kubeconfig writes an administrator's kubeconfig, for programs such as kubectl.
func Kubeconfig(t testing.TB) (path string) {
	t.Helper()
	Config(t)
	user, err := shared.env.AddUser(envtest.User{Name: "administrator", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatalf("add an administrator: %v", err)
	}
	content, err := user.KubeConfig()
	if err != nil {
		t.Fatalf("make a kubeconfig: %v", err)
	}
	path = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatalf("write a kubeconfig: %v", err)
	}
	return path
}

// Scheme knows every kind that tests use.
func Scheme(t testing.TB) *apiruntime.Scheme {
	t.Helper()
	scheme := apiruntime.NewScheme()
	builder := apiruntime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, bmmv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		t.Fatalf("build the scheme: %v", err)
	}
	return scheme
}

// Client reads and writes the API server directly, without a cache.
func Client(t testing.TB) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(Config(t), client.Options{Scheme: Scheme(t)})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return c
}

// Namespace makes a namespace for one test.
func Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := Client(t).Create(t.Context(), namespace); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return namespace.Name
}
