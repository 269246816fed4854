package boot_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubeadmtypes "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/proxy"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/bedplate/bedplate/internal/localstack/pki"
)

var clientAuth = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}

func TestPowerOn_bootsAControlPlaneAndAWorker(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	l := newLab(t)

	controlPlane := l.machine(1, l.initData())
	began := time.Now()
	g.Expect(l.rack.PowerOn(controlPlane)).To(Succeed())
	client := l.client()
	g.Eventually(func() corev1.ConditionStatus { return ready(ctx, client, "node-1") }).
		WithTimeout(patience).Should(Equal(corev1.ConditionTrue), func() string { return l.console(controlPlane) })
	t.Logf("control plane Ready after %s", time.Since(began))
	since := readySince(ctx, t, client, "node-1")

	l.createToken(ctx, client)
	worker := l.machine(2, l.joinData(l.pins()))
	began = time.Now()
	g.Expect(l.rack.PowerOn(worker)).To(Succeed())
	g.Eventually(func() corev1.ConditionStatus { return ready(ctx, client, "node-2") }).
		WithTimeout(patience).Should(Equal(corev1.ConditionTrue), func() string { return l.console(worker) })
	t.Logf("worker Ready after %s", time.Since(began))

	expectControlPlaneNode(ctx, t, client)
	expectWorkerNode(ctx, t, client)
	expectEtcdMember(ctx, t, l, "node-1")
	expectAPIServerCertificate(ctx, t, l, "node-1")
	expectKubeadmConfig(ctx, t, client, l)
	expectPodsLiveAndDie(ctx, t, client)

	wrongPin := l.machine(3, l.joinData([]string{"sha256:" + strings.Repeat("0", 64)}))
	g.Expect(l.rack.PowerOn(wrongPin)).To(Succeed())
	g.Eventually(func() string { return l.console(wrongPin) }).WithTimeout(patience).
		Should(And(ContainSubstring("boot stopped"), ContainSubstring("caCertHashes")))
	g.Expect(ready(ctx, client, "node-3")).To(BeEmpty(), "there is no Node")

	l.rack.PowerOff(worker.ID)
	g.Expect(l.dir+"/"+worker.ID).NotTo(BeADirectory(), "its disk is erased")
	g.Eventually(func() corev1.ConditionStatus { return ready(ctx, client, "node-2") }).
		WithTimeout(patience).Should(Equal(corev1.ConditionUnknown), "no kubelet sends its heartbeat")
	expectHeartbeat(ctx, t, client, "node-1")
	g.Expect(readySince(ctx, t, client, "node-1")).To(BeTemporally("==", since), "it has been Ready all the time")

	g.Expect(l.rack.PowerOn(worker)).To(Succeed())
	g.Eventually(func() corev1.ConditionStatus { return ready(ctx, client, "node-2") }).
		WithTimeout(patience).Should(Equal(corev1.ConditionTrue), func() string { return l.console(worker) })

	l.rack.Close()
	g.Expect(os.ReadDir(l.dir)).To(BeEmpty(), "nothing is left")
	g.Expect(l.rack.PowerOn(worker)).To(MatchError(ContainSubstring("closed")))
}

func expectControlPlaneNode(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	g := NewWithT(t)
	node, err := client.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(node.Spec.ProviderID).To(Equal("nvidia-bmm://" + siteID + "/" + instanceID(1)))
	g.Expect(node.Spec.Taints).To(ContainElement(
		corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}))
	g.Eventually(func() (map[string]string, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
		return node.Labels, err
	}).WithTimeout(patience).Should(HaveKey("node-role.kubernetes.io/control-plane"))
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		g.Eventually(func() (corev1.PodPhase, error) { // the Node may be Ready before it has the pod
			pod, err := client.CoreV1().Pods("kube-system").Get(ctx, component+"-node-1", metav1.GetOptions{})
			return pod.Status.Phase, err
		}).WithTimeout(patience).Should(Equal(corev1.PodRunning), component)
	}
}

func expectWorkerNode(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	g := NewWithT(t)
	node, err := client.CoreV1().Nodes().Get(ctx, "node-2", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(node.Spec.ProviderID).To(Equal("nvidia-bmm://" + siteID + "/" + instanceID(2)))
	g.Expect(node.Labels).To(HaveKeyWithValue("topology.kubernetes.io/zone", "lab"))
	g.Expect(node.Labels).NotTo(HaveKey("node-role.kubernetes.io/control-plane"))
	g.Expect(node.Status.NodeInfo.KubeletVersion).To(Equal(version))
	requests, err := client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(requests.Items).To(HaveLen(1))
	g.Expect(requests.Items[0].Spec.Username).To(Equal("system:bootstrap:" + tokenID))
}

// expectEtcdMember reaches etcd as KubeadmControlPlane does: through a port-forward of the API server, with a client
// certificate made from the cluster's etcd CA.
func expectEtcdMember(ctx context.Context, t *testing.T, l *lab, name string) {
	t.Helper()
	g := NewWithT(t)
	pair := l.certs.GetByPurpose(secret.EtcdCA).KeyPair
	ca, err := pki.ParseAuthority(pki.KeyPair{Cert: pair.Cert, Key: pair.Key})
	g.Expect(err).NotTo(HaveOccurred())
	leaf, err := ca.Sign(pki.Leaf{CommonName: "cluster-api.x-k8s.io", Usages: clientAuth})
	g.Expect(err).NotTo(HaveOccurred())
	identity, err := tls.X509KeyPair(leaf.Cert, leaf.Key)
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(pair.Cert)).To(BeTrue())

	conn := forward(ctx, t, l, "etcd-"+name, 2379,
		&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{identity}, ServerName: name})
	request, err := http.NewRequest(http.MethodPost, "https://etcd/v3/cluster/member/list", strings.NewReader("{}"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request.Write(conn)).To(Succeed())
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(body)).To(ContainSubstring(`"name":"`+name+`"`), "the member is named like the node")
}

// expectAPIServerCertificate reads the API server's certificate as KubeadmControlPlane does to know when it expires.
func expectAPIServerCertificate(ctx context.Context, t *testing.T, l *lab, name string) {
	t.Helper()
	conn := forward(ctx, t, l, "kube-apiserver-"+name, 6443, &tls.Config{InsecureSkipVerify: true})
	NewWithT(t).Expect(conn.ConnectionState().PeerCertificates[0].Subject.CommonName).To(Equal("kube-apiserver"))
}

func forward(ctx context.Context, t *testing.T, l *lab, pod string, port int, config *tls.Config) *tls.Conn {
	t.Helper()
	g := NewWithT(t)
	dialer, err := proxy.NewDialer(proxy.Proxy{Kind: "pods", Namespace: "kube-system", KubeConfig: l.admin(), Port: port})
	g.Expect(err).NotTo(HaveOccurred())
	raw, err := dialer.DialContextWithAddr(ctx, pod)
	g.Expect(err).NotTo(HaveOccurred())
	conn := tls.Client(raw, config)
	t.Cleanup(func() { conn.Close() })
	g.Expect(conn.HandshakeContext(ctx)).To(Succeed())
	return conn
}

// expectKubeadmConfig reads kubeadm-config as KubeadmControlPlane does before it changes it.
func expectKubeadmConfig(ctx context.Context, t *testing.T, client kubernetes.Interface, l *lab) {
	t.Helper()
	g := NewWithT(t)
	configMap, err := client.CoreV1().ConfigMaps("kube-system").Get(ctx, "kubeadm-config", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	config, extra, err := kubeadmtypes.UnmarshalClusterConfiguration(configMap.Data["ClusterConfiguration"])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.ControlPlaneEndpoint).To(Equal(l.endpoint.String()))
	g.Expect(*extra.KubernetesVersion).To(Equal(version))
}

// readySince is when a node's condition Ready changed last.
func readySince(ctx context.Context, t *testing.T, client kubernetes.Interface, name string) time.Time {
	t.Helper()
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.LastTransitionTime.Time
		}
	}
	t.Fatalf("node %s has no condition Ready", name)
	return time.Time{}
}

// expectHeartbeat expects that the node's Lease is renewed every 10 s.
func expectHeartbeat(ctx context.Context, t *testing.T, client kubernetes.Interface, node string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func(g Gomega) { // the next renewal may be late
		lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(lease.Spec.RenewTime.Time).To(BeTemporally("~", time.Now(), 15*time.Second))
	}).WithTimeout(patience).Should(Succeed())
}

func expectPodsLiveAndDie(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	g := NewWithT(t)
	pods := client.CoreV1().Pods("default")
	g.Eventually(func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	}).WithTimeout(patience).Should(Succeed())
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{NodeName: "node-2", Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (corev1.PodPhase, error) {
		pod, err := pods.Get(ctx, "web", metav1.GetOptions{})
		return pod.Status.Phase, err
	}).WithTimeout(patience).Should(Equal(corev1.PodRunning))
	g.Expect(pods.Delete(ctx, "web", metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func() ([]corev1.Pod, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		return list.Items, err
	}).WithTimeout(patience).Should(BeEmpty())
}
