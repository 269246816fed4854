package lab

import (
	"bytes"
	"context"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	patience = 10 * time.Minute // what is bounded isn't how long a lab takes where other packages' tests have the CPUs
	interval = 250 * time.Millisecond
	// answerTimeout is for one answer: whatever else happens, a test continues.
	answerTimeout = 30 * time.Second
)

func eventual(t *testing.T) *WithT {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	g.SetDefaultEventuallyPollingInterval(interval)
	return g
}

// bounded is a context for what may take as long as a test waits, and no longer.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// stack is a management cluster with Bedplate's program and its simulator.
type stack struct {
	*localstack.Stack
	t      *testing.T
	bmm    *localstack.BMM
	sim    remote
	dir    string
	client client.Client // which knows every kind that is used here
}

// startStack starts Cluster API and the provider.
func startStack(t *testing.T, g *WithT) stack {
	t.Helper()
	return start(t, g, localstack.Start, (*localstack.Stack).StartBMM)
}

// start starts a management cluster, and in it the program.
func start(t *testing.T, g *WithT, kubernetes func(context.Context, localstack.Config) (*localstack.Stack, error),
	program func(*localstack.Stack, context.Context) (*localstack.BMM, error),
) stack {
	t.Helper()
	s := stack{t: t, dir: t.TempDir()}
	var err error
	s.Stack, err = kubernetes(bounded(t), localstack.Config{
		Dir: s.dir, Tools: toolstest.Find(t, append(localstack.Tools(), "bedplate")...),
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.Stop)
	s.bmm, err = program(s.Stack, bounded(t))
	g.Expect(err).NotTo(HaveOccurred())
	s.sim, s.client = remoteAt(s.bmm.URL), clientOf(t, g, s.AdminConfig())
	return s
}

// killAt has a child of the stack do something, kills it with -9 as soon as it has called each of these operations for that, and starts it
// again. It may have called one before the request for it is over.
func (s stack) killAt(g *WithT, child string, request func(), operations ...string) {
	s.t.Helper()
	before := s.sim.calls(g)
	request()
	for _, operation := range operations {
		g.Eventually(func() int { return s.sim.calls(g)[operation] }).Should(BeNumerically(">", before[operation]), operation)
		g.Expect(s.Kill(child)).To(Succeed())
		g.Expect(s.Restart(bounded(s.t), child)).To(Succeed())
	}
}

// apply the example with one worker. Change may alter its YAML.
func (s stack) apply(g *WithT, name string, change func([]byte) []byte) {
	s.t.Helper()
	config := s.AdminConfig()
	config.Timeout = answerTimeout
	kubernetes, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion()
	g.Expect(err).NotTo(HaveOccurred())
	s.applyExample(g, "bmm", map[string]string{
		"CLUSTER_NAME": name, "NAMESPACE": "default", "KUBERNETES_VERSION": kubernetes.GitVersion,
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
	}, change)
}

func (s stack) applyExample(g *WithT, example string, variables map[string]string, change func([]byte) []byte) {
	s.t.Helper()
	maps.Copy(variables, s.bmm.Variables())
	yaml, err := examples.Render(example, variables)
	g.Expect(err).NotTo(HaveOccurred())
	if change != nil {
		yaml = change(yaml)
	}
	g.Expect(s.Apply(bounded(s.t), yaml)).To(Succeed())
}

func (s stack) untilAvailable(g *WithT, name string) *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	g.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(context.Background(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		g.Expect(cluster.Status.Conditions).To(ContainElement(And(
			HaveField("Type", clusterv1.ClusterAvailableCondition), HaveField("Status", metav1.ConditionTrue))))
	}).Should(Succeed())
	return cluster
}

// workload is an administrator's client of the cluster, as soon as there is one.
func (s stack) workload(g Gomega, name string) client.Client {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "default", Name: name + "-kubeconfig"}
	g.Expect(s.client.Get(context.Background(), key, secret)).To(Succeed())
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	g.Expect(err).NotTo(HaveOccurred())
	return clientOf(s.t, g, config)
}

func clientOf(t *testing.T, g Gomega, config *rest.Config) client.Client {
	t.Helper()
	config.Timeout = answerTimeout
	scheme, err := testenv.SchemeWith(controlplanev1.AddToScheme)
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func machinesOf(g Gomega, c client.Client) []infrav1.NvidiaBMMMachine {
	machines := &infrav1.NvidiaBMMMachineList{}
	g.Expect(c.List(context.Background(), machines)).To(Succeed())
	return machines.Items
}

func nodesOf(g Gomega, workload client.Client) []corev1.Node {
	nodes := &corev1.NodeList{}
	g.Expect(workload.List(context.Background(), nodes)).To(Succeed())
	return nodes.Items
}

func untilGone(g *WithT, c client.Client, object client.Object) {
	g.Eventually(func() bool {
		return apierrors.IsNotFound(c.Get(context.Background(), client.ObjectKeyFromObject(object), object))
	}).Should(BeTrue(), "%s is gone", object.GetName())
}

func replaceOnce(g *WithT, data []byte, old, replacement string) []byte {
	g.Expect(bytes.Count(data, []byte(old))).To(Equal(1), old)
	return bytes.Replace(data, []byte(old), []byte(replacement), 1)
}
