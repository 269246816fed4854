package provider

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/waiting"
)

var clustersDesc = prometheus.NewDesc("bedplate_krake_clusters", "Number of Clusters by state.", []string{"state"}, nil)

// patience with the cache: metrics that come late don't come at all.
const patience = 5 * time.Second

// Expose in the manager's metrics what objects wait for, and the states of Clusters, while the manager leads.
func Expose(mgr ctrl.Manager) error {
	waits := waiting.New(mgr.GetClient(), Counted()...)
	waits.Conditions = conditionsOf
	return errors.Join(mgr.Add(waiting.WhileLeading{Collector: waits}), mgr.Add(waiting.WhileLeading{Collector: NewStates(mgr.GetClient())}))
}

// Counted are the kinds whose objects wait for something in the metrics: Clusters, and what they are made on and with.
func Counted() []client.ObjectList {
	return append(Lists(), &krakev1.CloudList{}, &krakev1.GlobalCloudList{},
		&krakev1.InfrastructureProviderList{}, &krakev1.GlobalInfrastructureProviderList{})
}

func conditionsOf(object runtime.Object) []metav1.Condition {
	return object.(interface{ GetConditions() []metav1.Condition }).GetConditions()
}

// States counts Clusters by their states whenever the metrics are collected.
type States struct{ cache client.Reader }

// NewStates returns a collector that reads from a cache.
func NewStates(cache client.Reader) *States { return &States{cache} }

// Describe implements prometheus.Collector.
func (s *States) Describe(into chan<- *prometheus.Desc) { into <- clustersDesc }

// Collect implements prometheus.Collector. Each state has a value, so that one which no Cluster is in any more doesn't end without a 0.
func (s *States) Collect(into chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var clusters krakev1.ClusterList
	if err := s.cache.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		klog.Background().Error(err, "Can't count Clusters by state")
		return
	}
	counts := map[krakev1.ClusterState]int{}
	for _, state := range krakev1.ClusterStates {
		counts[state] = 0
	}
	for i := range clusters.Items {
		state := clusters.Items[i].Status.State
		if state == "" { // written a moment ago
			state = krakev1.StatePending
		}
		counts[state]++
	}
	for state, number := range counts {
		into <- prometheus.MustNewConstMetric(clustersDesc, prometheus.GaugeValue, float64(number), string(state))
	}
}
