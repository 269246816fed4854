package observer_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/observer"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	patience = 2 * time.Minute // what is bounded isn't how long a test takes where other packages' tests have the CPUs
	interval = 300 * time.Millisecond
	token    = "s3cret-token"
)

// fixture is a namespace with the observers.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.Client
	namespace string
}

func start(t *testing.T, change ...func(*ctrl.Options)) *fixture {
	t.Helper()
	f := &fixture{NewWithT(t), t, testenv.Client(t), testenv.Namespace(t)}
	f.SetDefaultEventuallyTimeout(patience)
	f.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	options := ctrl.Options{
		Scheme: testenv.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{f.namespace: {}}},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // each test has a manager
	}
	for _, c := range change {
		c(&options)
	}
	mgr, err := ctrl.NewManager(testenv.Config(t), options)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(observer.Setup(mgr, observer.Config{
		Egress: egress.Policy{Loopback: true}, Interval: interval, Clock: clock.RealClock{}, GlobalNamespace: f.namespace,
		Change:  im.Paced(interval, 0, 0, egress.Policy{Loopback: true}),
		Options: controller.Options{NewQueue: queue.New[reconcile.Request]},
	})).To(Succeed())
	testenv.Run(t, mgr)
	return f
}

// server plays an API server that has nodes.
type server struct {
	*httptest.Server
	calls  atomic.Int32
	answer atomic.Pointer[http.HandlerFunc]
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.answer.Store(&answer)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		(*s.answer.Load())(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *server) now(answer http.HandlerFunc) { s.answer.Store(&answer) }

// nodes answers as an API server does, page by page. A node that is named after a condition is in that one, and without it not ready.
func nodes(names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		page := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		for _, name := range names[from:min(from+limit, len(names))] {
			node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(name), Annotations: map[string]string{"a": strings.Repeat("x", 500)}}}
			for kind, is := range map[corev1.NodeConditionType]bool{
				corev1.NodeReady: !strings.HasPrefix(name, "lost"), corev1.NodeMemoryPressure: strings.HasPrefix(name, "MemoryPressure"),
				corev1.NodeDiskPressure: strings.HasPrefix(name, "DiskPressure"), corev1.NodePIDPressure: strings.HasPrefix(name, "PIDPressure"),
			} {
				status := corev1.ConditionFalse
				if is {
					status = corev1.ConditionTrue
				}
				node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
					Type: kind, Status: status, Reason: "Because", Message: strings.Repeat("m", 1000), LastHeartbeatTime: metav1.Now(),
				})
			}
			page.Items = append(page.Items, node)
		}
		if from+limit < len(names) {
			page.Continue = strconv.Itoa(from + limit)
		}
		_ = json.NewEncoder(w).Encode(page)
	}
}

// hang until the client leaves.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func refuse(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "the cluster's "+token, code) }
}

func (s *server) kubeconfig(f *fixture) []byte {
	f.t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server: s.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	data, err := clientcmd.Write(*config)
	f.Expect(err).NotTo(HaveOccurred())
	return data
}

func (f *fixture) secret(name string, kubeconfig []byte) {
	f.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Data: map[string][]byte{"value": kubeconfig}}
	err := f.client.Create(f.t.Context(), secret)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		err = f.client.Update(f.t.Context(), secret)
	}
	f.Expect(err).NotTo(HaveOccurred())
}

// register a cluster whose kubeconfig is in a Secret with its name.
func (f *fixture) register(name string, limit int32) *krakev1.Cluster {
	f.t.Helper()
	c := &krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Spec: krakev1.ClusterSpec{
		Kubeconfig: &krakev1.Kubeconfig{SecretRef: krakev1.SecretReference{Name: name}}, BackoffLimit: &limit,
	}}
	f.Expect(f.client.Create(f.t.Context(), c)).To(Succeed())
	return c
}

func (f *fixture) get(c *krakev1.Cluster) *krakev1.Cluster {
	f.t.Helper()
	f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
	return c
}

// becomes waits for a state, and returns the Cluster in it.
func (f *fixture) becomes(c *krakev1.Cluster, state krakev1.ClusterState) *krakev1.Cluster {
	f.t.Helper()
	f.Eventually(func() krakev1.ClusterState { return f.get(c).Status.State }).Should(Equal(state))
	return c
}
