// Package waiting says in the manager's metrics how many objects there are and what they wait for.
package waiting

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bedplate/bedplate/internal/graph"
)

var (
	objectsDesc = prometheus.NewDesc("bedplate_objects",
		"Number of objects by kind.", []string{"kind"}, nil)
	waitingDesc = prometheus.NewDesc("bedplate_objects_waiting",
		"Objects that don't meet a condition, by the reason that it gives.", []string{"kind", "condition", "reason"}, nil)
	longestDesc = prometheus.NewDesc("bedplate_objects_waiting_longest_seconds",
		"Longest time that an object hasn't met a condition, by reason.", []string{"kind", "condition", "reason"}, nil)
)

// patience with the cache: metrics that come late don't come at all.
const patience = 5 * time.Second

// Collector counts whenever the metrics are collected, so there is nothing to forget when an object is deleted.
type Collector struct {
	// Conditions of an object, where it isn't a graph.Owner itself.
	Conditions func(runtime.Object) []metav1.Condition

	cache client.Reader
	lists []client.ObjectList
}

// New returns a collector that reads from a cache. It counts the objects of the given kinds of lists.
func New(cache client.Reader, lists ...client.ObjectList) *Collector {
	return &Collector{Conditions: ownConditions, cache: cache, lists: lists}
}

func ownConditions(object runtime.Object) []metav1.Condition {
	return object.(graph.Owner).GetConditions()
}

// WhileLeading is the part of a manager that has a collector in its metrics while it leads: otherwise each replica would count the same
// objects.
type WhileLeading struct{ prometheus.Collector }

// Start collects until ctx ends.
func (l WhileLeading) Start(ctx context.Context) error {
	if err := metrics.Registry.Register(l); err != nil {
		return err
	}
	defer metrics.Registry.Unregister(l)
	<-ctx.Done()
	return nil
}

// Describe is for the registry.
func (c *Collector) Describe(into chan<- *prometheus.Desc) {
	into <- objectsDesc
	into <- waitingDesc
	into <- longestDesc
}

// Collect is called when the metrics are collected. A kind that can't be read is left out, so that the other metrics aren't
// lost too.
func (c *Collector) Collect(into chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, kind := range c.lists {
		list := kind.DeepCopyObject().(client.ObjectList)
		if err := c.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			klog.Background().Error(err, "Can't count what objects wait for", "kind", reflect.TypeOf(list).Elem().Name())
			continue
		}
		c.count(list, into)
	}
}

// wait is a condition that isn't met, and why.
type wait struct{ kind, condition, reason string }

type waiters struct {
	objects int
	since   time.Time // when the first of them began to
}

func (c *Collector) count(list client.ObjectList, into chan<- prometheus.Metric) {
	all := map[wait]*waiters{}
	kind := strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		for _, condition := range c.Conditions(object) {
			if !unmet(condition) {
				continue
			}
			at, since := wait{kind, condition.Type, condition.Reason}, condition.LastTransitionTime.Time
			if all[at] == nil {
				all[at] = &waiters{since: since}
			}
			all[at].objects++
			if since.Before(all[at].since) {
				all[at].since = since
			}
		}
		return nil
	})
	into <- prometheus.MustNewConstMetric(objectsDesc, prometheus.GaugeValue, float64(meta.LenList(list)), kind)
	for at, w := range all {
		labels := []string{at.kind, at.condition, at.reason}
		into <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(w.objects), labels...)
		into <- prometheus.MustNewConstMetric(longestDesc, prometheus.GaugeValue, time.Since(w.since).Seconds(), labels...)
	}
}

// unmet leaves out the summary, which would count everything twice.
func unmet(c metav1.Condition) bool {
	switch c.Type {
	case graph.ReadyCondition:
		return false
	case clusterv1.PausedCondition:
		return c.Status == metav1.ConditionTrue
	}
	return c.Status != metav1.ConditionTrue
}
