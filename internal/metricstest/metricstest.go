// Package metricstest shows tests the values of metrics.
package metricstest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Value is one value of a metric.
type Value struct {
	*dto.Metric
	Labels map[string]string
}

// ValuesOf returns all values of a metric; none where there is no such metric.
func ValuesOf(t testing.TB, registry prometheus.Gatherer, metric string) (all []Value) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatalf("gather the metrics: %v", err)
	}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, value := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range value.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			all = append(all, Value{value, labels})
		}
	}
	return all
}
