package callmetrics

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bedplate/bedplate/internal/metricstest"
)

// A management cluster sees thousands of Secrets in its life.
func TestCounter_forgetsCredentialsThatNobodyUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := newCounter()
		registry := prometheus.NewRegistry()
		g.Expect(registry.Register(c)).To(Succeed())
		for range 3 {
			c.count("bmm", "list instances", classOK, "blue/gone")
			c.count("bmm", "get VPC", "Transient", "blue/gone")
			c.count("bmm", "list instances", classOK, "red/used")
		}
		time.Sleep(idleFor) // the bubble's time
		g.Expect(series(t, registry)).To(HaveLen(3))
		c.count("bmm", "list instances", classOK, "red/used")
		time.Sleep(time.Second)
		g.Expect(series(t, registry)).To(Equal(map[string]float64{"red/used list instances": 4}))
		g.Expect(c.used).To(HaveLen(1))

		c.count("bmm", "get VPC", classOK, "blue/gone") // the same Secret, come back
		g.Expect(series(t, registry)).To(HaveKeyWithValue("blue/gone get VPC", 1.0))
	})
}

func series(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	counts := map[string]float64{}
	for _, value := range metricstest.ValuesOf(t, registry, "bedplate_outside_calls_total") {
		counts[value.Labels["credential"]+" "+value.Labels["operation"]] = value.GetCounter().GetValue()
	}
	return counts
}
