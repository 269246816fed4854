package callmetrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// idleFor is how long the counts of a credential are kept that nothing is done with. Whatever is in use makes a call every
// few minutes.
const idleFor = time.Hour

// counter counts calls. Credentials come and go, and their counts go with them.
type counter struct {
	*prometheus.CounterVec

	mu   sync.Mutex
	used map[string]time.Time // by credential
}

func newCounter() *counter {
	return &counter{used: map[string]time.Time{}, CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "bedplate_outside_calls_total",
		Help: "Calls to services outside Kubernetes, by error class and by the Secret used to log in.",
	}, []string{"system", "operation", "class", "credential"})}
}

func (c *counter) count(system, operation, class, credential string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[credential] = time.Now()
	c.WithLabelValues(system, operation, class, credential).Inc()
}

// Collect is called when the metrics are collected.
func (c *counter) Collect(into chan<- prometheus.Metric) {
	c.forgetIdle()
	c.CounterVec.Collect(into)
}

func (c *counter) forgetIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for credential, at := range c.used {
		if time.Since(at) > idleFor {
			c.DeletePartialMatch(prometheus.Labels{"credential": credential})
			delete(c.used, credential)
		}
	}
}
