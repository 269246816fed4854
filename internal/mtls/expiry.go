package mtls

import (
	"context"
	"crypto/x509"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Expiry is a metric: how long the own certificate is still valid.
type Expiry struct {
	source *source // nil in plaintext
	desc   *prometheus.Desc
}

// Expiry returns the metric for these files. In plaintext it has no value.
func (f *Files) Expiry(ctx context.Context) (*Expiry, error) {
	e := &Expiry{desc: prometheus.NewDesc("bedplate_tls_certificate_remaining_seconds",
		"Time until the certificate of this program expires.", nil, nil)}
	if f.Insecure {
		return e, nil
	}
	var err error
	e.source, err = newSource(ctx, *f, x509.ExtKeyUsageAny)
	return e, err
}

// Describe implements prometheus.Collector.
func (e *Expiry) Describe(descs chan<- *prometheus.Desc) { descs <- e.desc }

// Collect implements prometheus.Collector.
func (e *Expiry) Collect(metrics chan<- prometheus.Metric) {
	if e.source == nil {
		return
	}
	left := time.Until(e.source.current().certificate.Leaf.NotAfter)
	metrics <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, left.Seconds())
}
