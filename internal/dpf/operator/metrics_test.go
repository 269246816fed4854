package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
	"github.com/bedplate/bedplate/internal/dpf/operator"
	"github.com/bedplate/bedplate/internal/waiting"
)

func TestState_countsNodesClustersAndTheJournal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(operator.AddToScheme(scheme)).To(Succeed())
	records := func(name string, labels map[string]string, nodes ...string) client.Object {
		data := map[string]string{}
		for _, node := range nodes {
			data[node] = "{}"
		}
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ovn-kubernetes", Name: name, Labels: labels}, Data: data}
	}
	ours := map[string]string{journal.Label: ""}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&operatorv1.DPFOperatorConfig{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorv1.Name},
			Status: operatorv1.DPFOperatorConfigStatus{
				Nodes:       []operatorv1.NodeStatus{{Name: "a", Phase: operatorv1.NodeReady}, {Name: "b", Phase: operatorv1.NodeReady}, {Name: "c", Phase: operatorv1.NodeFailed}},
				DPUClusters: []operatorv1.DPUClusterStatus{{Name: "a", Reachable: true}, {Name: "b"}},
			},
		},
		records("dpf-journal-cluster", ours, "cluster"), records("dpf-journal-nodes-00", ours, "a", "b"), records("ovnkube-config", nil, "c"),
	).Build()
	g.Expect(testutil.CollectAndCompare(operator.NewState(c), strings.NewReader(`
# HELP bedplate_dpf_dpu_clusters DPU clusters, by whether they answer.
# TYPE bedplate_dpf_dpu_clusters gauge
bedplate_dpf_dpu_clusters{reachable="false"} 1
bedplate_dpf_dpu_clusters{reachable="true"} 1
# HELP bedplate_dpf_journal_entries Records in the journal: what isn't as it was, or was changed once.
# TYPE bedplate_dpf_journal_entries gauge
bedplate_dpf_journal_entries 3
# HELP bedplate_dpf_nodes Nodes whose network is moved, by phase.
# TYPE bedplate_dpf_nodes gauge
bedplate_dpf_nodes{phase="Failed"} 1
bedplate_dpf_nodes{phase="Isolated"} 0
bedplate_dpf_nodes{phase="Pending"} 0
bedplate_dpf_nodes{phase="Provisioning"} 0
bedplate_dpf_nodes{phase="Ready"} 2
bedplate_dpf_nodes{phase="Restored"} 0
bedplate_dpf_nodes{phase="RollingBack"} 0
bedplate_dpf_nodes{phase="Switching"} 0
`))).To(Succeed())

	broken := interceptor.NewClient(c, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache has ended")
		},
	})
	g.Expect(testutil.CollectAndCount(operator.NewState(broken))).To(BeZero(), "what can't be read isn't 0")

	counts := func() (int, error) { return testutil.GatherAndCount(metrics.Registry, "bedplate_dpf_nodes") }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- waiting.WhileLeading{Collector: operator.NewState(c)}.Start(ctx) }()
	g.Eventually(counts).Should(Equal(len(operatorv1.NodePhases)))
	stop()
	g.Eventually(ended).Should(Receive(Not(HaveOccurred())))
	g.Expect(counts()).To(BeZero(), "another replica leads")
}

// What a node has left is counted once, and only what takes time.
func TestPhases_areMeasuredWhenTheyEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	since := metav1.NewTime(now.Add(-90 * time.Second))
	node := func(name string, phase operatorv1.NodePhase) operatorv1.NodeStatus {
		return operatorv1.NodeStatus{Name: name, Phase: phase, Since: &since}
	}
	operator.ObservePhases([]operatorv1.NodeStatus{
		node("ends", operatorv1.NodeSwitching), node("lasts", operatorv1.NodeSwitching), node("gone", operatorv1.NodeSwitching),
		node("back", operatorv1.NodeReady), {Name: "begins", Phase: operatorv1.NodePending},
	}, []operatorv1.NodeStatus{
		node("ends", operatorv1.NodeReady), node("lasts", operatorv1.NodeSwitching), node("back", operatorv1.NodeRollingBack),
		node("begins", operatorv1.NodeIsolated),
	}, now)
	all, err := metrics.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	measured := map[string]float64{}
	for _, family := range all {
		if family.GetName() != "bedplate_dpf_node_phase_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			phase := metric.GetLabel()[0].GetValue()
			g.Expect(metric.GetHistogram().GetSampleCount()).To(BeEquivalentTo(1), phase)
			measured[phase] = metric.GetHistogram().GetSampleSum()
		}
	}
	g.Expect(measured).To(And(HaveLen(1), HaveKeyWithValue("Switching", BeNumerically("~", 90, 0.001))))
}
