package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/publication"
	"github.com/bedplate/bedplate/internal/bmm/publish"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// workloadCluster is a cluster of its own: a namespace of the tests' API server, which is shown as the one that instances are
// published in.
type workloadCluster struct {
	*bmmtest.Fixture
	name, namespace string
	server          *httptest.Server

	mu sync.Mutex
	// requests by their methods, and all that they said.
	requests map[string]int
	said     bytes.Buffer
	answer   http.HandlerFunc
}

// newWorkload is the cluster of a name, whose NvidiaBMMCluster wants its instances published, and whose control plane answers.
func newWorkload(t *testing.T, f *bmmtest.Fixture, name string) *workloadCluster {
	t.Helper()
	w := &workloadCluster{Fixture: f, name: name, namespace: testenv.Namespace(t), requests: map[string]int{}}
	w.server = httptest.NewTLSServer(w.proxy(t))
	t.Cleanup(func() { w.server.CloseClientConnections(); w.server.Close() })
	f.UntilReady(f.CreateCluster(name, func(c *infrav1.NvidiaBMMCluster) { c.Spec.PublishInstances = ptr.To(true) }))
	f.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name + "-kubeconfig"},
		Data: map[string][]byte{"value": publish.KubeconfigOf(f, &clientcmdapi.Cluster{
			Server: w.server.URL, CertificateAuthorityData: publish.CertificateOf(w.server),
		}, &clientcmdapi.AuthInfo{Token: "of-the-workload-cluster"})},
	})
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name}}
	f.Eventually(func() error {
		if err := f.Read(cluster); err != nil {
			return err
		}
		cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
		return f.Client.Status().Update(t.Context(), cluster)
	}).Should(Succeed())
	return w
}

func (w *workloadCluster) proxy(t *testing.T) http.Handler {
	config := testenv.Config(t)
	transport, err := rest.TransportFor(config)
	w.Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(config.Host)
	w.Expect(err).NotTo(HaveOccurred())
	there, here := []byte(publication.Namespace), []byte(w.namespace)
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")
			r.Out.URL.Path = strings.Replace(r.Out.URL.Path, publication.Namespace, w.namespace, 1)
			body, _ := io.ReadAll(r.In.Body)
			w.mu.Lock()
			_, _ = fmt.Fprintf(&w.said, "%v %s %s\n", r.In.Header, r.In.URL, body)
			w.mu.Unlock()
			body = bytes.ReplaceAll(body, there, here)
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			body = bytes.ReplaceAll(body, here, there)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return err
		},
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests[r.Method]++
		answer := w.answer
		w.mu.Unlock()
		if answer != nil {
			answer(rw, r)
			return
		}
		proxy.ServeHTTP(rw, r)
	})
}

// answers lets the API server answer so from now on; nil lets it be itself again.
func (w *workloadCluster) answers(answer http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

func (w *workloadCluster) requested(method string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[method]
}

// text of all requests.
func (w *workloadCluster) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.String()
}

// published are the instances that the cluster knows of, by their IDs.
func (w *workloadCluster) published(g Gomega) map[string]publication.Instance {
	list := &corev1.ConfigMapList{}
	g.Expect(w.Client.List(context.Background(), list, client.InNamespace(w.namespace))).To(Succeed())
	all := map[string]publication.Instance{}
	for _, one := range list.Items {
		if i, err := publication.ReadInstance(&one); err == nil {
			all[one.Name] = i
		}
	}
	return all
}

// site that the cluster knows of.
func (w *workloadCluster) site(g Gomega) publication.Site {
	found := &corev1.ConfigMap{}
	g.Expect(w.Client.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: publication.SiteName}, found)).To(Succeed())
	site, err := publication.ReadSite(found)
	g.Expect(err).NotTo(HaveOccurred())
	return site
}

// put a ConfigMap there, as an administrator of the workload cluster may.
func (w *workloadCluster) put(what interface {
	ConfigMap() (*corev1.ConfigMap, error)
}) {
	object, err := what.ConfigMap()
	w.Expect(err).NotTo(HaveOccurred())
	object.Namespace = w.namespace
	if err := w.Client.Update(context.Background(), object); err != nil {
		w.Expect(w.Client.Create(context.Background(), object)).To(Succeed())
	}
}

func (w *workloadCluster) untilPublished(machine *infrav1.NvidiaBMMMachine, matches any) {
	w.Eventually(func(g Gomega) {
		g.Expect(w.published(g)).To(HaveKeyWithValue(machine.Status.InstanceID, matches), func() string {
			text, _ := json.Marshal(w.published(g))
			return string(text)
		})
	}).Should(Succeed())
}
