package publish

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/bedplate/bedplate/internal/bmm/publication"
	"github.com/bedplate/bedplate/internal/egress"
)

// Root on a workload cluster's control plane is its API server.
func TestWorkload_aHostileServerGetsNoMemoryAndNoTime(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"an endless answer": func(w http.ResponseWriter, _ *http.Request) {
			for _, err := w.Write([]byte(`{"items":[`)); err == nil; _, err = w.Write([]byte(strings.Repeat("{},", 1<<10))) {
				continue
			}
		},
		"many more items than asked for": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"items":[{}`+strings.Repeat(",{}", 50_000)+`]}`)
		},
		"pages without an end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"metadata":{"continue":"x"},"items":[{}`+strings.Repeat(",{}", pageSize-1)+`]}`)
		},
		"pages of one huge item each": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"metadata":{"continue":"x"},"items":[{"data":{"instance":"`+strings.Repeat("x", 250<<10)+`"}}]}`)
		},
		"deep JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("[", 200_000)) },
		"wrong types": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"items":{"a":1}}`) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"another protocol, and silence": func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w.(*counted).ResponseWriter).Hijack(); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: silence\r\n\r\n")
			}
		},
		"come again in an hour": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"an endless error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			for _, err := w.Write([]byte(`{"kind":"Status","details":{"causes":[`)); err == nil; _, err = w.Write([]byte(strings.Repeat("{},", 1<<10))) {
				continue
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var sent, taken atomic.Int64
			var followed atomic.Bool
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent.Add(1)
				followed.Store(followed.Load() || r.URL.Path == "/elsewhere")
				answer(&counted{w, &taken}, r)
			}))
			t.Cleanup(server.Close)
			w, err := open(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: CertificateOf(server)}}, egress.Policy{Loopback: true})
			g.Expect(err).NotTo(HaveOccurred())
			defer w.close()
			turn, cancel := context.WithTimeout(t.Context(), callTimeout)
			defer cancel()
			found, err := w.list(turn, 10)
			g.Expect(err).To(Or(BeNil(), BeAssignableToTypeOf(&clusterError{})))
			g.Expect(len(found)).To(BeNumerically("<", 10+strangers+pageSize))
			t.Log(err)
			g.Expect(w.apply(turn, publication.Site{ID: "x"})).To(Or(Succeed(), BeAssignableToTypeOf(&clusterError{})))
			g.Expect(turn.Err()).NotTo(HaveOccurred(), "the time of one call is plenty for two")
			w.close()
			g.Expect(taken.Load()).To(BeNumerically("<", 32<<20), "but for buffers of the network nothing is taken")
			g.Expect(followed.Load()).To(BeFalse())
			g.Expect(sent.Load()).To(BeNumerically("<=", (10+strangers)/pageSize+2), "nothing is tried twice")
		})
	}
}

// counted is an answer, and how many bytes of it were taken.
type counted struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

// Write implements io.Writer.
func (c *counted) Write(data []byte) (int, error) {
	n, err := c.ResponseWriter.Write(data)
	c.bytes.Add(int64(n))
	return n, err
}

// A server that says nothing has a call's time, and no more of them.
func TestWorkload_aSilentServerIsLeft(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	w, err := open(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: CertificateOf(server)}}, egress.Policy{Loopback: true})
	g.Expect(err).NotTo(HaveOccurred())
	defer w.close()
	began := time.Now()
	_, err = w.list(t.Context(), 10)
	g.Expect(err).To(HaveOccurred())
	g.Expect(time.Since(began)).To(BeNumerically("<", 2*callTimeout))
}

// A thousand machines at a distance take longer than one turn: no event, and no other cluster's worker for longer.
func TestPublish_whatDoesNotFitIntoATurnIsNoTrouble(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			time.Sleep(100 * time.Millisecond)
		}
		_, _ = io.WriteString(w, `{"items":[]}`)
	}))
	t.Cleanup(server.Close)
	name := types.NamespacedName{Namespace: "default", Name: "demo"}
	r := &Reconciler{
		Clock: clock.RealClock{}, Poll: time.Minute, Egress: egress.Policy{Loopback: true},
		Secrets: fake.NewClientBuilder().WithObjects(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name + "-kubeconfig"},
			Data: map[string][]byte{"value": KubeconfigOf(g, &clientcmdapi.Cluster{
				Server: server.URL, CertificateAuthorityData: CertificateOf(server),
			}, &clientcmdapi.AuthInfo{Token: "t"})},
		}).Build(),
	}
	want, known := wanted{instances: map[string]publication.Instance{}}, r.clusters.of(name)
	for n := range 150 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		want.instances[id] = publication.Instance{ID: id}
	}
	turn, cancel := context.WithTimeout(t.Context(), callTimeout+2*time.Second)
	defer cancel()
	g.Expect(r.publish(turn, name, known, want)).To(MatchError(errNotAll))
	g.Expect(len(known.published)).To(BeNumerically(">", 5), "the next turn goes on from there")
}

// Deletions of a cluster that doesn't answer, which a tenant may continue with for ever.
func TestClusters_rememberTombstonesWithinBounds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var c clusters
	name := types.NamespacedName{Namespace: "default", Name: "demo"}
	for n := range 3 * strangers {
		c.died(name, publication.Instance{ID: fmt.Sprint(n), Gone: true})
	}
	g.Expect(c.dead(name)).To(HaveLen(strangers))
}

// A kubeconfig is a tenant's, too: what listens beside the manager isn't called for it.
func TestKubeconfig_leadsToNothingBesideTheManager(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var called atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Store(true) }))
	t.Cleanup(server.Close)
	w, err := open(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: CertificateOf(server)}}, egress.Policy{})
	g.Expect(err).NotTo(HaveOccurred())
	defer w.close()
	_, err = w.list(t.Context(), 10)
	g.Expect(err).To(BeAssignableToTypeOf(&clusterError{}))
	g.Expect(called.Load()).To(BeFalse())
}

// What is kept of an answer is what is read of it. Hundreds of clusters may answer so at the same time.
func TestWorkload_keepsOfAnAnswerWhatItReads(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"x","ownerReferences":[{}`+strings.Repeat(",{}", 50_000)+
			`],"annotations":{"a":"b"}},"binaryData":{"a":"eA=="},"data":{"other":"y","instance":"z"}}]}`)
	}))
	t.Cleanup(server.Close)
	w, err := open(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: CertificateOf(server)}}, egress.Policy{Loopback: true})
	g.Expect(err).NotTo(HaveOccurred())
	defer w.close()
	found, err := w.list(t.Context(), 10)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(1))
	g.Expect(len(found[0].OwnerReferences)).To(BeZero())
	g.Expect(found[0].Name).To(Equal("x"))
	g.Expect(found[0].Data).To(Equal(map[string]string{"instance": "z"}))
}
