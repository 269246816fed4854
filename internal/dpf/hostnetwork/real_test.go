package hostnetwork_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
	"github.com/bedplate/bedplate/internal/dpf/sim/openshift"
	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const patience = 5 * time.Minute // also where other packages' tests have the CPUs

// realWorld has Kubernetes' own controllers and scheduler, KWOK for the nodes, and stand-ins of OpenShift's operators.
func realWorld(t *testing.T) (*world, *openshift.Cluster) {
	t.Helper()
	w := &world{t: t, g: NewWithT(t), config: config(workers...), dpuSide: dpuReady, patience: patience}
	w.between = func() {
		time.Sleep(50 * time.Millisecond)
		w.now = time.Now()
	}
	known := runtime.NewScheme()
	w.g.Expect(clientgoscheme.AddToScheme(known)).To(Succeed())
	w.g.Expect(configv1.Install(known)).To(Succeed())
	cfg := startControlPlane(t, w.g).AdminConfig()
	cfg.QPS, cfg.Burst = -1, -1
	testenv.AddCRDs(t, cfg, testenv.ClusterVersion(t))
	var err error
	w.WithWatch, err = client.NewWithWatch(cfg, client.Options{Scheme: known})
	w.g.Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{ovnNamespace, netNamespace, operatorv1.Namespace} {
		w.g.Expect(w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	}
	for _, object := range ocp() {
		w.g.Expect(w.Create(t.Context(), object)).To(Succeed())
	}
	cluster, err := openshift.New(t.Context(), w)
	w.g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); cluster.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	w.steady(5)
	return w, cluster
}

func startControlPlane(t *testing.T, g Gomega) *controlplane.ControlPlane {
	t.Helper()
	dir := t.TempDir()
	block, err := loopback.Claim()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(block.Close)
	bin := toolstest.Find(t, append(slices.Clone(controlplane.Tools), controlplane.SchedulerTool, kubelet.Tool)...)
	cfg := controlplane.Config{
		Name: "ocp", Dir: dir, PKI: pki.Dir(filepath.Join(dir, "pki")), Tools: bin, Address: block.Address(254, 1), Scheduler: true,
	}
	g.Expect(cfg.PKI.CreateAuthorities()).To(Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	plane, err := controlplane.Start(ctx, cfg)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(plane.Stop)
	fleet := kubelet.Fleet{Kubeconfig: filepath.Join(dir, "fleet.conf"), Dir: filepath.Join(dir, "fleet"), Tools: bin}
	g.Expect(os.Mkdir(fleet.Dir, 0o700)).To(Succeed())
	g.Expect(plane.WriteKubeconfig(fleet.Kubeconfig, "fleet", "system:masters")).To(Succeed())
	nodes, err := fleet.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(nodes.Stop)
	return plane
}

// steady waits until the stock Pods run on all nodes, and are known to OVN as the hosts' own.
func (w *world) steady(nodes int) {
	w.t.Helper()
	w.g.Eventually(func(g Gomega) {
		var list corev1.NodeList
		g.Expect(w.List(w.t.Context(), &list)).To(Succeed())
		g.Expect(list.Items).To(HaveLen(nodes))
		for _, node := range list.Items {
			g.Expect(node.Annotations).To(HaveKeyWithValue(operatorv1.ChassisIDAnnotation, "host-"+node.Name))
			g.Expect(node.Spec.Taints).To(HaveLen(1), node.Name)
		}
		g.Expect(w.nodesOf("ovnkube-node")).To(HaveLen(nodes))
		var operator appsv1.Deployment
		g.Expect(w.Get(w.t.Context(), client.ObjectKey{Namespace: netNamespace, Name: "network-operator"}, &operator)).To(Succeed())
		g.Expect(operator.Status.ReadyReplicas).To(BeEquivalentTo(1))
	}).WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Succeed())
}

// nodesOf the Pods of a DaemonSet that are ready.
func (w *world) nodesOf(app string) (names []string) {
	var list corev1.PodList
	w.g.Expect(w.List(w.t.Context(), &list, client.InNamespace(ovnNamespace), client.MatchingLabels{"app": app})).To(Succeed())
	for _, pod := range list.Items {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if ready && pod.DeletionTimestamp == nil {
			names = append(names, pod.Spec.NodeName)
		}
	}
	slices.Sort(names)
	return names
}

func (w *world) there() {
	w.t.Helper()
	w.config.DeletionTimestamp = nil
	w.until("moved", done)
	w.g.Expect(w.nodesOf("ovnkube-node-dpf")).To(ContainElements(workers))
	w.g.Expect(w.nodesOf("ovnkube-node")).To(Equal([]string{"ocp-plain-1", "ocp-plain-2"}))
}

func (w *world) backTo(before map[string]string) {
	w.t.Helper()
	w.config.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	result := w.until("restored", done)
	w.g.Expect(result.Reports).To(BeEmpty())
	w.steady(5)
	w.g.Expect(snapshot(w.t.Context(), w.g, w)).To(Equal(before))
}

func TestMove_ofARealCluster(t *testing.T) {
	t.Parallel()
	w, cluster := realWorld(t)
	before := snapshot(t.Context(), w.g, w)

	t.Run("there in order, and back", func(*testing.T) {
		w.there()
		begun, entered := HavePrefix("create dpf-journal-nodes"), HavePrefix("update dpf-journal-nodes")
		w.g.Expect(slices.Compact(w.log)).To(HaveExactElements(
			"create dpf-journal-cluster", "patch version", "update dpf-journal-cluster", "patch network-operator", "update dpf-journal-cluster",
			"delete network-node-identity.openshift.io", "update dpf-journal-cluster", "patch ovnkube-node",
			"create ovnkube-config-dpf", "create ovnkube-script-lib-dpf", "create ovnkube-node-dpf",
			begun, "patch ocp-worker-1", entered, "patch ocp-worker-1", entered,
			begun, "patch ocp-worker-2", entered, "patch ocp-worker-2", entered,
			begun, "patch ocp-worker-3", entered, "patch ocp-worker-3", entered,
		), strings.Join(w.log, "\n"))
		after := snapshot(t.Context(), w.g, w)
		for _, plain := range []string{"ocp-plain-1", "ocp-plain-2"} {
			w.g.Expect(after[`Node null "`+plain+`"`]).To(Equal(before[`Node null "`+plain+`"`]))
		}
		w.backTo(before)
	})
	t.Run("killed before and after every write", func(*testing.T) {
		w.writes.Store(0)
		w.fail = func(n int64, _ string) (bool, bool) { return n%2 == 1, n%2 == 0 }
		w.there()
		there := w.writes.Load()
		w.backTo(before)
		w.fail = nil
		t.Logf("%d crash points there, %d back", there, w.writes.Load()-there)
	})
	t.Run("a node that never gets ready", func(*testing.T) {
		w.dpuSide = func(host operatorv1.Host) (hostnetwork.Readiness, error) {
			return hostnetwork.Readiness{Ready: host.HostClusterNodeName != "ocp-worker-2", Why: "it doesn't boot"}, nil
		}
		w.config.DeletionTimestamp = nil
		provisioning := func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 Provisioning") }
		w.until("provisioning", provisioning)
		w.config.Spec.HostNetworkConfiguration.NodeTimeout.Duration = time.Nanosecond
		w.until("rolling back", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 RollingBack") })
		w.config.Spec.HostNetworkConfiguration.NodeTimeout.Duration = 15 * time.Minute
		result := w.until("failed", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 Failed") })
		w.g.Expect(phases(result)).To(Equal([]string{"ocp-worker-1 Ready", "ocp-worker-2 Failed", "ocp-worker-3 Pending"}))
		w.g.Eventually(func() string {
			return snapshot(t.Context(), w.g, w)[`Node null "ocp-worker-2"`]
		}).WithTimeout(patience).Should(Equal(before[`Node null "ocp-worker-2"`]))
		w.dpuSide = dpuReady
		w.config.Generation++
		w.there()
		w.backTo(before)
	})
	t.Run("a node that is deleted, and one that joins in mid-roll", func(*testing.T) {
		w.config.DeletionTimestamp = nil
		w.dpuSide = func(host operatorv1.Host) (hostnetwork.Readiness, error) {
			return hostnetwork.Readiness{Ready: host.HostClusterNodeName != "ocp-worker-2", Why: "it boots"}, nil
		}
		w.until("provisioning", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-2 Provisioning") })
		w.g.Expect(w.Delete(t.Context(), worker("ocp-worker-2", true))).To(Succeed())
		w.until("the others are moved", func(r hostnetwork.Result) bool { return slices.Contains(phases(r), "ocp-worker-3 Ready") })
		w.dpuSide = dpuReady
		w.g.Expect(w.Create(t.Context(), worker("ocp-worker-2", true))).To(Succeed())
		w.until("the new one is moved", func(r hostnetwork.Result) bool {
			return r.Done && slices.Contains(phases(r), "ocp-worker-2 Ready")
		})
		w.there()
		w.backTo(before)
	})
	t.Run("without the override the move is undone", func(*testing.T) { w.isUndone(cluster, before) })
}

// isUndone is the negative control: what puts things back works, and only what was told to it keeps it from that.
func (w *world) isUndone(cluster *openshift.Cluster, before map[string]string) {
	w.there()
	quiet := cluster.PutBack()
	for range 20 {
		_, err := w.reconcile()
		w.g.Expect(err).NotTo(HaveOccurred())
	}
	w.g.Expect(cluster.PutBack()).To(Equal(quiet), "nothing is put back while the override is there")

	var version configv1.ClusterVersion
	w.g.Expect(w.Get(w.t.Context(), client.ObjectKey{Name: "version"}, &version)).To(Succeed())
	version.Spec.Overrides = nil
	w.g.Expect(w.Update(w.t.Context(), &version)).To(Succeed())
	w.g.Eventually(func() []string { return w.nodesOf("ovnkube-node") }).WithTimeout(patience).Should(HaveLen(5), "undone")
	w.g.Expect(cluster.PutBack()).To(BeNumerically(">=", quiet+3))

	w.until("it is reported", func(r hostnetwork.Result) bool {
		return r.Condition.Reason == operatorv1.ReasonFailure && strings.Contains(r.Condition.Message, "was scaled up by others")
	})
	var operator appsv1.Deployment
	w.g.Expect(w.Get(w.t.Context(), client.ObjectKey{Namespace: netNamespace, Name: "network-operator"}, &operator)).To(Succeed())
	operator.Spec.Replicas = ptr.To[int32](0)
	w.g.Expect(w.Update(w.t.Context(), &operator)).To(Succeed())
	w.until("mended", func(r hostnetwork.Result) bool { return r.Done && len(w.nodesOf("ovnkube-node")) == 2 })

	w.config.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	w.until("restored", done)
	w.steady(5)
	after := snapshot(w.t.Context(), w.g, w)
	delete(before, `ClusterVersion null "version"`) // others have removed the user's override
	delete(after, `ClusterVersion null "version"`)
	w.g.Expect(after).To(Equal(before))
}
