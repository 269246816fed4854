package lab

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

// Nodes may be ready some seconds before the manager looks at them.
func TestUp_waitsUntilTheClusterSaysThatItsNodesAreReady(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	node := func(name string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any = corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: []corev1.Node{node("a"), node("b")}}
		if r.URL.Path == "/api/v1" {
			answer = metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "nodes", Kind: "Node"}}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	kubeconfig.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	kubeconfig.CurrentContext = "c"
	data, err := clientcmd.Write(*kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())

	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(krakev1.AddToScheme(scheme)).To(Succeed())
	at := &Cluster{Namespace: "default", Name: "demo", Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	cluster := &krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}}
	cluster.Status = krakev1.ClusterStatus{State: krakev1.StateNotReady, Nodes: []krakev1.NodeStatus{{Name: "a"}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name + "-kubeconfig"}, Data: map[string][]byte{"value": data},
	}).Build()
	g.Expect(unseenKrakeNodes(t.Context(), c, at, 2)).To(Equal("the Cluster is NOTREADY with 1 of 2 nodes"))
	cluster.Status = krakev1.ClusterStatus{State: krakev1.StateOnline, Nodes: []krakev1.NodeStatus{{Name: "a"}, {Name: "b"}}}
	g.Expect(c.Update(t.Context(), cluster)).To(Succeed())
	g.Expect(unseenKrakeNodes(t.Context(), c, at, 2)).To(BeEmpty())
	g.Expect(unseenKrakeNodes(t.Context(), c, at, 3)).To(Equal("2 of 3 are ready"))
}
