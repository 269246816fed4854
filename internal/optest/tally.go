package optest

import (
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// counts of what was tried.
type counts struct {
	sequences, operations, allowed, refused, asNew int
	// ready and bad are what became of the steps that were allowed.
	ready, bad int
}

// tally of all sequences.
type tally struct {
	mu sync.Mutex
	counts
}

func (t *tally) add(c counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sequences++
	t.operations += c.operations
	t.allowed += c.allowed
	t.refused += c.refused
	t.asNew += c.asNew
	t.ready += c.ready
	t.bad += c.bad
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%d operations tried in %d sequences: %d refused (%d of these tried on a new object), %d allowed; %d times ready "+
		"after that, %d times not, and healed", t.operations, t.sequences, t.refused, t.asNew, t.allowed, t.ready, t.bad)
}

// panics of all reconciles of this process: controller-runtime recovers them.
func panics() (sum float64) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return 0
	}
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_panics_total" {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
