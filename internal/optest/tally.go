package optest

import (
	"fmt"
	"strings"
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
	// fields of the kind, and whether a step that was allowed changed them.
	fields map[string]bool
	// calls and reconciles of an object at rest in a poll interval, at most.
	calls, reconciles float64
}

func (t *tally) atRest(calls, reconciles float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls, t.reconciles = max(t.calls, calls), max(t.reconciles, reconciles)
}

// of are the fields of a schema.
func (t *tally) of(s *schema, field string) {
	if t.fields == nil {
		t.fields = map[string]bool{}
	}
	if field != "" && !t.fields[field] {
		t.fields[field] = false
	}
	for name := range s.Properties {
		of := s.Properties[name]
		t.of(&of, strings.TrimPrefix(field+"."+name, "."))
	}
	if s.Items != nil && s.Items.Schema != nil {
		t.of(s.Items.Schema, field+"[]")
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		t.of(s.AdditionalProperties.Schema, field+".*")
	}
}

func (t *tally) changed(fields []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, field := range fields {
		t.fields[field] = true
	}
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
	var never []string
	for _, field := range sortedKeys(t.fields) {
		if !t.fields[field] {
			never = append(never, field)
		}
	}
	return fmt.Sprintf("%d operations tried in %d sequences: %d refused (%d of these on a new object, too), %d allowed; %d times ready after "+
		"that, %d times not.\nAt rest there were at most %.1f calls and %.1f reconciles in a poll interval.\n%d of %d fields were changed, "+
		"and never: %s", t.operations, t.sequences, t.refused, t.asNew, t.allowed, t.ready, t.bad, t.calls, t.reconciles,
		len(t.fields)-len(never), len(t.fields), strings.Join(never, ", "))
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
