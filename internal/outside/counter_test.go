package outside

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
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
		g.Expect(series(g, registry)).To(HaveLen(3))
		c.count("bmm", "list instances", classOK, "red/used")
		time.Sleep(time.Second)
		g.Expect(series(g, registry)).To(Equal(map[string]float64{"red/used list instances": 4}))
		g.Expect(c.used).To(HaveLen(1))

		c.count("bmm", "get VPC", classOK, "blue/gone") // the same Secret, come back
		g.Expect(series(g, registry)).To(HaveKeyWithValue("blue/gone get VPC", 1.0))
	})
}

func series(g Gomega, registry *prometheus.Registry) map[string]float64 {
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	counts := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			counts[labels["credential"]+" "+labels["operation"]] = metric.GetCounter().GetValue()
		}
	}
	return counts
}
