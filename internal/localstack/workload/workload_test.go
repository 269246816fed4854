package workload_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/util"

	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/localstack/workload"
)

// A cluster is there with its nodes, gets and loses one, and leaves nothing that runs.
func TestClusters_haveTheNodesThatAreWanted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	g.SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	reached := make(chan string, 1)
	clusters := workload.New(workload.Config{
		Dir: filepath.Join(t.TempDir(), "clusters"), Tools: toolstest.Find(t, workload.Tools...), Log: slog.New(slog.DiscardHandler),
		Reached: func(id, kubeconfig string) {
			if id == "one" {
				reached <- kubeconfig
			}
		},
	})
	t.Cleanup(clusters.Close)
	want := func(nodes ...string) { clusters.Sync([]workload.Cluster{{ID: "one", Nodes: nodes}}) }
	want("front-0", "wn-1")
	var kubeconfig string
	g.Eventually(reached).Should(Receive(&kubeconfig))
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	g.Expect(err).NotTo(HaveOccurred())
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	ready := func() (names []string) {
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return []string{err.Error()}
		}
		for _, n := range nodes.Items {
			if util.IsNodeReady(&n) {
				names = append(names, n.Name)
			}
		}
		return names
	}
	g.Eventually(ready).Should(ConsistOf("front-0", "wn-1"))
	want("front-0", "wn-1", "wn-2")
	g.Eventually(ready).Should(ConsistOf("front-0", "wn-1", "wn-2"))
	want("front-0", "wn-2")
	g.Eventually(ready).Should(ConsistOf("front-0", "wn-2"))
	clusters.Close()
	_, err = client.CoreV1().Namespaces().Get(t.Context(), corev1.NamespaceDefault, metav1.GetOptions{})
	g.Expect(err).To(MatchError(ContainSubstring("connection refused")))
}
