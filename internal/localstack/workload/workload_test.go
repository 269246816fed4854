package workload_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
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
	g.SetDefaultEventuallyTimeout(5 * time.Minute)
	g.SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	reached, log, dir := make(chan string, 1), gbytes.NewBuffer(), filepath.Join(t.TempDir(), "clusters")
	clusters := workload.New(workload.Config{
		Dir: dir, Tools: toolstest.Find(t, workload.Tools...), Log: slog.New(slog.NewTextHandler(log, nil)),
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

	inTheWay := filepath.Join(dir, "one", "wn-3")
	g.Expect(os.WriteFile(inTheWay, nil, 0o600)).To(Succeed())
	want("front-0", "wn-2", "wn-3")
	g.Eventually(log).Should(gbytes.Say("start node wn-3"))
	g.Expect(os.Remove(inTheWay)).To(Succeed())
	g.Eventually(ready).Should(ConsistOf("front-0", "wn-2", "wn-3"), "in the same cluster")
	clusters.Close()
	_, err = client.CoreV1().Namespaces().Get(t.Context(), corev1.NamespaceDefault, metav1.GetOptions{})
	g.Expect(err).To(MatchError(ContainSubstring("connection refused")))
}
