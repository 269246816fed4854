package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func config(hosts int) *operatorv1.DPFOperatorConfig {
	c := &operatorv1.DPFOperatorConfig{}
	c.Spec.BFBPersistentVolume = "volume-one"
	c.Spec.ImagePullSecrets = []string{"ngc"}
	if hosts > 0 {
		c.Spec.HostNetworkConfiguration = &operatorv1.HostNetworkConfiguration{CIDR: "10.0.96.0/20"}
	}
	for i := range hosts {
		c.Spec.HostNetworkConfiguration.Hosts = append(c.Spec.HostNetworkConfiguration.Hosts, operatorv1.Host{
			HostClusterNodeName: operatorv1.NodeName(fmt.Sprintf("ocp-worker-%d", i+1)),
			DPUClusterNodeName:  operatorv1.NodeName(fmt.Sprintf("dpu-worker-%d", i+1)),
		})
	}
	return c
}

func names(report preflight.Report) (names []string) {
	for _, f := range report {
		names = append(names, f.Name)
	}
	return names
}

// dpuCluster has these nodes.
func dpuCluster(name string, nodes ...string) preflight.DPUCluster {
	builder := fake.NewClientBuilder()
	for _, node := range nodes {
		builder.WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	}
	return preflight.DPUCluster{Name: types.NamespacedName{Namespace: "dpus", Name: name}, Reader: builder.Build()}
}

// A cluster that has nothing is told everything at once; then each step of an administrator meets one prerequisite. The tests of this package
// share the cluster, and run in this order.
func TestRun_namesAllThatIsMissingUntilItIsThere(t *testing.T) {
	g := NewWithT(t)
	c := testenv.Client(t)
	missing := func(clusters ...preflight.DPUCluster) []string {
		return names(preflight.Run(t.Context(), c, config(2), clusters))
	}
	var want []string
	for _, p := range preflight.Table {
		switch p.Name {
		case "clean OCP cluster", "separate ranges", "connection of the TenantControlPlane", "an entry for each host",
			"a DPU in each host": // about what isn't there
		default:
			want = append(want, p.Name)
		}
	}
	g.Expect(missing()).To(Equal(want))
	without := preflight.Run(t.Context(), c, config(0), nil)
	g.Expect(names(without)).NotTo(ContainElements("hosts", "ovn-kubernetes"), "no network is moved")
	g.Expect(without.Components()).To(BeFalse())

	condition := preflight.Run(t.Context(), c, config(2), nil).Condition()
	g.Expect(condition.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(condition.Reason).To(Equal(operatorv1.ReasonFailure))
	g.Expect(condition.Message).To(HavePrefix("OCP cluster: ClusterVersion version doesn't exist: install this on an OpenShift"))
	g.Expect(condition.Message).To(ContainSubstring("; warning: volumes for Kamaji: "))
	g.Expect(condition.Message).To(ContainSubstring(
		"hosts: node ocp-worker-1 doesn't exist, node ocp-worker-2 doesn't exist: correct hostNetworkConfiguration.hosts;"))

	clusters := []preflight.DPUCluster{dpuCluster("a", "dpu-worker-1", "other"), dpuCluster("b", "dpu-worker-2")}
	for _, step := range administrator {
		t.Log(step.does)
		step.do(t, c)
		g.Eventually(func() string { // a new kind is served a little later
			return row(preflight.Run(t.Context(), c, config(2), clusters), step.row)
		}, "1m").Should(Equal(step.says), step.does)
	}
	report := preflight.Run(t.Context(), c, config(2), clusters)
	g.Expect(report).To(BeEmpty(), report.Condition().Message)
	g.Expect(report.Network()).To(BeTrue())
	g.Expect(report.Condition()).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", operatorv1.ReasonSuccess)))

	t.Run("dpus", func(t *testing.T) { isolatedDPUs(t, c) })
	t.Run("unknown", func(t *testing.T) { failedCalls(t, c, clusters) })
}

// row is what is said of a prerequisite, without its remedy.
func row(report preflight.Report, name string) string {
	for _, f := range report {
		if f.Name == name {
			return strings.TrimSuffix(strings.TrimPrefix(f.String(), name+": "), ": "+f.Remedy)
		}
	}
	return ""
}

// isolatedDPUs are found in exactly one DPU cluster, or it isn't known while one doesn't answer.
func isolatedDPUs(t *testing.T, c client.WithWatch) {
	a, b := dpuCluster("a", "dpu-worker-1"), dpuCluster("b", "dpu-worker-2")
	down := preflight.DPUCluster{Name: types.NamespacedName{Namespace: "dpus", Name: "c"}, Err: errors.New("it doesn't answer in time")}
	for says, clusters := range map[string][]preflight.DPUCluster{
		"": {a, b},
		"node dpu-worker-2 is in none of 1 DPU clusters":                {a},
		"node dpu-worker-1 is in the DPU clusters dpus/a and dpus/d":    {a, b, dpuCluster("d", "dpu-worker-1")},
		"it isn't known: DPU cluster dpus/c: it doesn't answer in time": {a, down},
		"node dpu-worker-1 is in the DPU clusters dpus/a and dpus/d, it isn't known: DPU cluster dpus/c: it doesn't answer in time": {
			a, down, dpuCluster("d", "dpu-worker-1")},
	} {
		g := NewWithT(t)
		report := preflight.Run(t.Context(), c, config(2), clusters)
		g.Expect(row(report, "DPUs")).To(Equal(says))
		g.Expect(report.Network()).To(Equal(says == ""))
		g.Expect(report.Components()).To(BeTrue(), "what comes before the network isn't held up")
		if len(clusters) == 2 && clusters[1].Err != nil {
			g.Expect(report.Condition()).To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", operatorv1.ReasonError)))
		}
	}
}

// failedCalls say nothing about what is there.
func failedCalls(t *testing.T, c client.WithWatch, clusters []preflight.DPUCluster) {
	g := NewWithT(t)
	failed := map[string]bool{}
	broken := errors.New("the API server is away")
	down := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			failed[key.Name] = true
			return broken
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	})
	report := preflight.Run(t.Context(), down, config(2), clusters)
	g.Expect(len(report)).To(BeNumerically(">", 15))
	for _, f := range report {
		g.Expect(f.Problems).To(BeEmpty(), f.Name)
		g.Expect(f.Err).To(MatchError(broken), f.Name)
	}
	g.Expect(failed).To(HaveKey("volume-one"))
	g.Expect(report.Components()).To(BeFalse())
	g.Expect(report.Condition()).To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", operatorv1.ReasonError),
		HaveField("Message", ContainSubstring("it isn't known: read ClusterVersion version: the API server is away"))))
}

// However much is wrong, the condition can be written.
func TestCondition_isBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var report preflight.Report
	for _, p := range preflight.Table {
		f := preflight.Finding{Prerequisite: p, Err: errors.New(strings.Repeat("ä", 1000))}
		for i := range 2000 {
			f.Problems = append(f.Problems, fmt.Sprintf("%d %s", i, strings.Repeat("ü", 300)))
		}
		report = append(report, f)
	}
	message := report.Condition().Message
	g.Expect(len(message)).To(BeNumerically("<=", 32<<10))
	g.Expect(message).To(And(ContainSubstring("and 1995 more"), HaveSuffix("…")))
	g.Expect([]byte(message)).To(Equal([]byte(strings.ToValidUTF8(message, ""))))
}

func TestTable_saysHowAndWhatToDo(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range preflight.Table {
		g := NewWithT(t)
		g.Expect(seen).NotTo(HaveKey(p.Name))
		g.Expect(p.Detected).NotTo(BeEmpty(), p.Name)
		g.Expect(p.Remedy).NotTo(BeEmpty(), p.Name)
		seen[p.Name] = true
	}
}
