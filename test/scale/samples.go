package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// samples are a process' metrics at one moment.
type samples map[string]*dto.MetricFamily

func parseSamples(text io.Reader) (samples, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	return families, nil
}

// by sums a counter or a gauge up for each value of a label.
func (s samples) by(name, label string) map[string]float64 {
	sums := map[string]float64{}
	for _, m := range s[name].GetMetric() {
		value := ""
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				value = l.GetValue()
			}
		}
		sums[value] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return sums
}

// total of a counter or a gauge.
func (s samples) total(name string) float64 {
	total := 0.0
	for _, value := range s.by(name, "") {
		total += value
	}
	return total
}

// above is how many observations of a histogram, with a value of a label, were greater than one of its bounds.
func (s samples) above(name, label, value string, bound float64) (above float64) {
	for _, m := range s[name].GetMetric() {
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == label && l.GetValue() == value }) {
			continue
		}
		above += float64(m.GetHistogram().GetSampleCount())
		for _, bucket := range m.GetHistogram().GetBucket() {
			if bucket.GetUpperBound() == bound {
				above -= float64(bucket.GetCumulativeCount())
			}
		}
	}
	return above
}

// since is what was added to each value; what wasn't added to is left out.
func since[N int | float64](before, after map[string]N) map[string]N {
	added := map[string]N{}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if n := after[key] - before[key]; n != 0 {
			added[key] = n
		}
	}
	return added
}

func sum[N int | float64](values map[string]N) N {
	var total N
	for _, n := range values {
		total += n
	}
	return total
}
