package dpuservice

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestLastAttempt_whatArgoCDHasGivenUp(t *testing.T) {
	t.Parallel()
	givenUp := func(change func(a *unstructured.Unstructured, state map[string]any)) *unstructured.Unstructured {
		source := map[string]any{"chart": "c"}
		state := map[string]any{"phase": "Failed", "finishedAt": "2026-01-02T03:04:05Z"}
		a := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"source": source}, "status": map[string]any{
			"sync":           map[string]any{"status": "OutOfSync", "comparedTo": map[string]any{"source": map[string]any{"chart": "c"}}},
			"operationState": state,
		}}}
		change(a, state)
		return a
	}
	set := func(value any, fields ...string) func(*unstructured.Unstructured, map[string]any) {
		return func(a *unstructured.Unstructured, _ map[string]any) {
			_ = unstructured.SetNestedField(a.Object, value, fields...)
		}
	}
	info := []any{map[string]any{"name": attemptInfo, "value": "3"}}
	for name, row := range map[string]struct {
		of      *unstructured.Unstructured
		attempt int
		is      bool
	}{
		"after its own attempts": {of: givenUp(set("Failed", "status", "operationState", "phase")), is: true},
		"after an error":         {of: givenUp(set("Error", "status", "operationState", "phase")), is: true},
		"after one of ours": {is: true, attempt: 3, of: givenUp(func(_ *unstructured.Unstructured, state map[string]any) {
			state["operation"] = map[string]any{"info": info}
		})},
		"it is tried":            {of: givenUp(set("Running", "status", "operationState", "phase"))},
		"it is asked for":        {of: givenUp(set(map[string]any{}, "operation"))},
		"its cluster is away":    {of: givenUp(set("Unknown", "status", "sync", "status"))},
		"it is synced":           {of: givenUp(set("Synced", "status", "sync", "status"))},
		"its source has changed": {of: givenUp(set("d", "spec", "source", "chart"))},
		"it isn't known when":    {of: givenUp(set("soon", "status", "operationState", "finishedAt"))},
		"it is new":              {of: &unstructured.Unstructured{Object: map[string]any{}}},
		"it is being deleted now": {of: givenUp(func(a *unstructured.Unstructured, _ map[string]any) {
			a.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		})},
	} {
		attempt, _, is := lastAttempt(row.of)
		NewWithT(t).Expect(is).To(Equal(row.is), name)
		NewWithT(t).Expect(attempt).To(Equal(row.attempt), name)
	}
}

func TestPauseAfter_growsUpToAnHour(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(pauseAfter(0, 30*time.Second)).To(Equal(30 * time.Second))
	g.Expect(pauseAfter(2, 30*time.Second)).To(Equal(2 * time.Minute))
	for _, many := range []int{7, 100, 1 << 60} {
		g.Expect(pauseAfter(many, 30*time.Second)).To(Equal(time.Hour))
	}
	g.Expect(pauseAfter(-1, time.Second)).To(Equal(time.Second), "what others have written there")
}
