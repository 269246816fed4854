package operator

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
	objects "github.com/bedplate/bedplate/internal/waiting"
)

var (
	nodesDesc    = prometheus.NewDesc("bedplate_dpf_nodes", "Nodes whose network is moved, by phase.", []string{"phase"}, nil)
	clustersDesc = prometheus.NewDesc("bedplate_dpf_dpu_clusters", "DPU clusters, by whether they answer.", []string{"reachable"}, nil)
	entriesDesc  = prometheus.NewDesc("bedplate_dpf_journal_entries", "Records in the journal: what isn't as it was, or was changed once.",
		nil, nil)
)

var phaseSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name: "bedplate_dpf_node_phase_seconds", Help: "How long nodes were in a phase that they have left.",
	Buckets: prometheus.ExponentialBuckets(1, 2, 13), // to more than an hour
}, []string{"phase"})

func init() { metrics.Registry.MustRegister(phaseSeconds) }

// observePhases that nodes have left. Only a move takes time: nodes may be Ready for years.
func observePhases(before, after []operatorv1.NodeStatus, now time.Time) {
	phases := map[string]operatorv1.NodePhase{}
	for _, node := range after {
		phases[node.Name] = node.Phase
	}
	for _, node := range before {
		phase, there := phases[node.Name]
		if !there || phase == node.Phase || node.Since == nil {
			continue
		}
		switch node.Phase {
		case operatorv1.NodeIsolated, operatorv1.NodeProvisioning, operatorv1.NodeSwitching, operatorv1.NodeRollingBack:
			phaseSeconds.WithLabelValues(string(node.Phase)).Observe(max(0, now.Sub(node.Since.Time).Seconds()))
		}
	}
}

// patience with the cache: metrics that come late don't come at all.
const patience = 5 * time.Second

// Expose in the manager's metrics what the configuration waits for, and the state of its nodes and clusters, while the manager leads.
func Expose(mgr ctrl.Manager) error {
	waits := objects.New(mgr.GetClient(), &operatorv1.DPFOperatorConfigList{})
	waits.Conditions = func(object runtime.Object) []metav1.Condition {
		return object.(*operatorv1.DPFOperatorConfig).Status.Conditions
	}
	return errors.Join(mgr.Add(objects.WhileLeading{Collector: waits}), mgr.Add(objects.WhileLeading{Collector: NewState(mgr.GetClient())}))
}

// State counts nodes, clusters and records whenever the metrics are collected.
type State struct{ cache client.Reader }

// NewState returns a collector that reads from a cache.
func NewState(cache client.Reader) *State { return &State{cache} }

// Describe implements prometheus.Collector.
func (s *State) Describe(into chan<- *prometheus.Desc) {
	into <- nodesDesc
	into <- clustersDesc
	into <- entriesDesc
}

// Collect implements prometheus.Collector. Each phase has a value, so that one which no node is in any more doesn't end without a 0. What
// can't be read is left out.
func (s *State) Collect(into chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var configs operatorv1.DPFOperatorConfigList
	if err := s.cache.List(ctx, &configs, client.UnsafeDisableDeepCopy); err != nil {
		klog.Background().Error(err, "Can't count nodes and DPU clusters")
	} else {
		count(configs.Items, into)
	}
	var records corev1.ConfigMapList
	err := s.cache.List(ctx, &records, client.InNamespace(ovnNamespace), client.HasLabels{journal.Label}, client.UnsafeDisableDeepCopy)
	if err != nil {
		klog.Background().Error(err, "Can't count the records of the journal")
		return
	}
	entries := 0
	for i := range records.Items {
		entries += len(records.Items[i].Data)
	}
	into <- prometheus.MustNewConstMetric(entriesDesc, prometheus.GaugeValue, float64(entries))
}

func count(configs []operatorv1.DPFOperatorConfig, into chan<- prometheus.Metric) {
	nodes, clusters := map[operatorv1.NodePhase]int{}, map[bool]int{true: 0, false: 0}
	for _, phase := range operatorv1.NodePhases {
		nodes[phase] = 0
	}
	for i := range configs {
		for _, node := range configs[i].Status.Nodes {
			nodes[node.Phase]++
		}
		for _, cluster := range configs[i].Status.DPUClusters {
			clusters[cluster.Reachable]++
		}
	}
	for phase, number := range nodes {
		into <- prometheus.MustNewConstMetric(nodesDesc, prometheus.GaugeValue, float64(number), string(phase))
	}
	for reachable, number := range clusters {
		into <- prometheus.MustNewConstMetric(clustersDesc, prometheus.GaugeValue, float64(number), strconv.FormatBool(reachable))
	}
}
