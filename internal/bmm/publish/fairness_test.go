package publish

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
)

// publishedCluster is a cluster whose API server is at an address, with all that its publication reads.
func publishedCluster(g Gomega, namespace, name string, server *httptest.Server) []client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	cluster := &clusterv1.Cluster{ObjectMeta: meta}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "NvidiaBMMCluster", Name: name,
	}
	cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	infra := &infrav1.NvidiaBMMCluster{ObjectMeta: meta}
	infra.Spec.PublishInstances = ptr.To(true)
	meta.Name += "-kubeconfig"
	return []client.Object{cluster, infra, &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{
		"value": KubeconfigOf(g, &clientcmdapi.Cluster{
			Server: server.URL, CertificateAuthorityData: CertificateOf(server),
		}, &clientcmdapi.AuthInfo{Token: "x"}),
	}}}
}

func reconcilerOf(g Gomega, objects []client.Object) *Reconciler {
	kinds := runtime.NewScheme()
	g.Expect(scheme.AddToScheme(kinds)).To(Succeed())
	g.Expect(clusterv1.AddToScheme(kinds)).To(Succeed())
	g.Expect(infrav1.AddToScheme(kinds)).To(Succeed())
	api := fake.NewClientBuilder().WithScheme(kinds).WithObjects(objects...).Build()
	return &Reconciler{
		Client: api, Secrets: api, Recorder: events.NewFakeRecorder(1000), Clock: clock.RealClock{}, Poll: time.Second,
		Egress:  egress.Policy{Loopback: true},
		Clients: &credentials.Cache[*bmm.Client]{Reader: api, Clock: clock.RealClock{}},
	}
}

// A tenant with as many clusters as there are workers, whose API servers say nothing.
func TestReconcile_oneTenantsSilentClustersLeaveWorkersToOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var asked atomic.Int64
	silent := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(silent.CloseClientConnections)
	healthy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`))
	}))
	t.Cleanup(healthy.Close)
	var objects []client.Object
	for n := range workers {
		objects = append(objects, publishedCluster(g, "hostile", fmt.Sprint(n), silent)...)
	}
	objects = append(objects, publishedCluster(g, "honest", "demo", healthy)...)
	r := reconcilerOf(g, objects)

	results := make(chan ctrl.Result, workers)
	for n := range workers { // what all workers do
		request := ctrl.Request{}
		request.Namespace, request.Name = "hostile", fmt.Sprint(n)
		go func() {
			result, _ := r.Reconcile(t.Context(), request)
			results <- result
		}()
	}
	g.Eventually(asked.Load, time.Minute).Should(BeNumerically(">", 0))
	for range workers / 2 {
		g.Eventually(results, callTimeout/2).Should(Receive(HaveField("RequeueAfter", BeNumerically(">", 0))), "it leaves its worker to others")
	}
	g.Expect(asked.Load()).To(BeNumerically("<=", workers/2))
	demo := ctrl.Request{}
	demo.Namespace, demo.Name = "honest", "demo"
	_, err := r.Reconcile(t.Context(), demo)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.clusters.of(demo.NamespacedName).told).To(BeEmpty(), "another tenant's is looked at")
}

// Thousands of instances take many turns to publish. Nothing is wrong with a cluster that continues with them.
func TestState_doesNotPutOffMoreAndMoreWhatGoesOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	known, now := &state{}, time.Now()
	failed := errors.New("it doesn't answer")
	for _, pause := range []time.Duration{1, 2, 4, 5, 5} {
		g.Expect(known.putOff(failed, now, 1, 5)).To(Equal(pause))
	}
	for range 5 {
		g.Expect(known.putOff(errNotAll, now, 1, 5)).To(Equal(time.Duration(1)))
		g.Expect(known.next).To(Equal(now.Add(1)))
	}
	g.Expect(known.putOff(failed, now, 1, 5)).To(BeNumerically("<=", 2))
}
