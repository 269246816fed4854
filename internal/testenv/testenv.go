// Package testenv gives tests a real API server with the CRDs of Cluster API and of Bedplate. One serves all tests of a
// package; each takes a namespace of its own.
package testenv

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	dpfoperatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	powervsv1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

const (
	pollInterval = 50 * time.Millisecond
	startTimeout = 10 * time.Minute // see environment
	// waiting is how many tests of a package run at a time: with an API server they wait more than they compute.
	waiting = 8
	// garbage is how much there may be before it is collected, in percent of what is in use: the default takes a quarter of the time
	// of a package, where programs have little in use.
	garbage = 400
	// lookInterval is how often a condition is looked at that is waited for: at Gomega's default, 10 ms, looking is much of what tests of an
	// API server compute.
	lookInterval = 50 * time.Millisecond
	// patience is how long a condition is waited for: Gomega's default, 1 s, is too short where other packages' tests have the CPUs.
	patience = time.Minute
)

var shared struct {
	once     sync.Once
	env      *envtest.Environment
	config   *rest.Config
	err      error
	webhooks []func(ctrl.Manager) error
	stop     func() // the webhooks
}

// Main runs the tests of a package and stops the API server, if a test has started it. Call it from TestMain. The webhooks,
// if there are any, are what the API server asks; their configuration is that of config.
func Main(m *testing.M, webhooks ...func(ctrl.Manager) error) {
	Parallel(max(waiting, runtime.GOMAXPROCS(0)))
	debug.SetGCPercent(garbage)
	gomega.SetDefaultEventuallyPollingInterval(lookInterval)
	gomega.SetDefaultEventuallyTimeout(patience)
	shared.webhooks, shared.stop = webhooks, func() {}
	if !testing.Verbose() {
		klog.SetLogger(logr.Discard())
	}
	ctrl.SetLogger(klog.Background())
	code := m.Run()
	shared.stop()
	if shared.env != nil {
		if err := shared.env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

const asProgram = "BEDPLATE_TEST_AS_PROGRAM"

// AsProgram in the environment makes a test's own program, os.Args[0], the one that it tests: see Program.
const AsProgram = asProgram + "=1"

// Program runs a program in place of its tests, where these have started themselves with AsProgram. Call it first in TestMain.
func Program(main func()) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
}

// Parallel says how many tests of the package run at a time, where neither the command nor an earlier call has said it.
func Parallel(n int) {
	const name = "test.parallel"
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == name })
	if said {
		return
	}
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		panic(err)
	}
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
	config := filepath.Join(tools.ModuleRoot("."), "config")
	crds, err := crds(bin)
	if err != nil {
		shared.err = err
		return
	}
	shared.env = environment(bin, envtest.CRDInstallOptions{CRDs: crds})
	if len(shared.webhooks) > 0 {
		shared.env.WebhookInstallOptions.Paths = []string{
			filepath.Join(config, "bmm", "webhook", "manifests.yaml"),
			filepath.Join(config, "bmm-machine-controller", "webhook", "manifests.yaml"),
			filepath.Join(config, "dpf", "webhook", "manifests.yaml"),
			filepath.Join(config, "hydrazine", "webhook", "manifests.yaml"),
			filepath.Join(config, "krake", "webhook", "manifests.yaml"),
			filepath.Join(config, "powervs", "webhook", "manifests.yaml"),
		}
	}
	for name, value := range map[string]string{"GOGC": strconv.Itoa(garbage), "GOMEMLIMIT": "2GiB"} {
		if _, set := os.LookupEnv(name); !set { // for the API server and etcd alone: tests measure the memory of what they start
			_ = os.Setenv(name, value)
			defer os.Unsetenv(name)
		}
	}
	if shared.config, shared.err = shared.env.Start(); shared.err != nil {
		return
	}
	shared.config.QPS, shared.config.Burst = -1, -1 // tests don't wait for themselves
	if len(shared.webhooks) > 0 {
		shared.stop, shared.err = serve(shared.config, shared.env.WebhookInstallOptions)
	}
}

// environment of an API server. The defaults of envtest, 10 and 20 seconds, are too short where other packages' tests have the CPUs. A
// program that ends is noticed at once.
func environment(bin tools.Dir, crds envtest.CRDInstallOptions) *envtest.Environment {
	crds.MaxTime = startTimeout
	return &envtest.Environment{
		BinaryAssetsDirectory: string(bin), ControlPlaneStartTimeout: startTimeout, ControlPlaneStopTimeout: startTimeout,
		CRDInstallOptions:     crds,
		WebhookInstallOptions: envtest.WebhookInstallOptions{MaxTime: startTimeout},
	}
}

// serve starts the webhooks and returns when they answer.
func serve(config *rest.Config, at envtest.WebhookInstallOptions) (stop func(), err error) {
	stop = func() {}
	scheme, err := scheme()
	if err != nil {
		return stop, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: at.LocalServingHost, Port: at.LocalServingPort, CertDir: at.LocalServingCertDir,
		}),
	})
	if err != nil {
		return stop, err
	}
	for _, register := range shared.webhooks {
		err = errors.Join(err, register(mgr))
	}
	if err != nil {
		return stop, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = func() { cancel(); <-ended }
	answers := mgr.GetWebhookServer().StartedChecker()
	return stop, wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, func(context.Context) (bool, error) {
		return answers(nil) == nil, nil
	})
}

// Kubeconfig writes an administrator's kubeconfig, for programs such as kubectl.
func Kubeconfig(t testing.TB) (path string) {
	t.Helper()
	return KubeconfigOf(t, "administrator", "system:masters")
}

// KubeconfigOf writes the kubeconfig of a user, who may do what roles allow.
func KubeconfigOf(t testing.TB, name string, groups ...string) (path string) {
	t.Helper()
	Config(t)
	user, err := shared.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		t.Fatalf("add user %s: %v", name, err)
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

// Scheme knows every kind that tests use. All tests of a package share it: it takes longer to build than many a test runs. So it may
// not be added to: SchemeWith is for that.
func Scheme(t testing.TB) *apiruntime.Scheme {
	t.Helper()
	scheme, err := scheme()
	if err != nil {
		t.Fatalf("build the scheme: %v", err)
	}
	return scheme
}

var scheme = sync.OnceValues(func() (*apiruntime.Scheme, error) { return SchemeWith() })

// SchemeWith is a new scheme that knows every kind that tests use, and those of others.
func SchemeWith(others ...func(*apiruntime.Scheme) error) (*apiruntime.Scheme, error) {
	scheme := apiruntime.NewScheme()
	builder := append(apiruntime.SchemeBuilder{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, bmmv1.AddToScheme, machinev1.Install,
		ledgerv1.AddToScheme(ledgerv1.GroupBMM), resourcev1.AddToScheme, networkfabricv1.AddToScheme,
		powervsv1.AddToScheme, krakev1.AddToScheme, dpfoperatorv1.AddToScheme, svcv1.AddToScheme}, others...)
	return scheme, builder.AddToScheme(scheme)
}

// Client reads and writes the API server directly, without a cache. All tests share it: each new one asks for all kinds again. It knows
// the kinds of all systems but the ledgers of bmm only; one for the kinds of another system is a new one.
func Client(t testing.TB, system ...func(*apiruntime.Scheme) error) client.WithWatch {
	t.Helper()
	config := Config(t)
	if len(system) > 0 {
		c, err := clientOf(config, system)
		if err != nil {
			t.Fatalf("make a client: %v", err)
		}
		return c
	}
	c, err := direct()
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return c
}

var direct = sync.OnceValues(func() (client.WithWatch, error) {
	scheme, err := scheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(shared.config, client.Options{Scheme: scheme})
})

func clientOf(config *rest.Config, system apiruntime.SchemeBuilder) (client.WithWatch, error) {
	scheme := apiruntime.NewScheme()
	builder := append(apiruntime.SchemeBuilder{clientgoscheme.AddToScheme, clusterv1.AddToScheme}, system...)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
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
