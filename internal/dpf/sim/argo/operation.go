package argo

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// retries of a sync that Argo CD begins itself. The real one has growing pauses between them.
const retries = 5

// attempt is the sync that an Application is in.
type attempt struct {
	// operation that was asked for, or that Argo CD has begun itself.
	operation map[string]any
	limit     int64
	// failed are the attempts before.
	failed int64
}

// next attempt of a sync; nil where Argo CD has given up: after an operation that has failed it begins none of the same source, whatever the
// cluster or the project is by now.
func next(app *unstructured.Unstructured) *attempt {
	state, _, _ := unstructured.NestedMap(app.Object, "status", "operationState")
	if state["phase"] == running && state["operation"] != nil {
		a := &attempt{operation: state["operation"].(map[string]any)}
		a.limit, _, _ = unstructured.NestedInt64(a.operation, "retry", "limit")
		a.failed, _, _ = unstructured.NestedInt64(state, "retryCount")
		return a
	}
	if asked, is := app.Object["operation"].(map[string]any); is {
		limit, _, _ := unstructured.NestedInt64(asked, "retry", "limit")
		return &attempt{operation: asked, limit: limit}
	}
	last, _, _ := unstructured.NestedMap(state, "syncResult", "source")
	if state["phase"] == failed && equality.Semantic.DeepEqual(last, source(app)) {
		return nil
	}
	return &attempt{limit: retries, operation: map[string]any{
		"initiatedBy": map[string]any{"automated": true}, "retry": map[string]any{"limit": int64(retries)}, "sync": map[string]any{"prune": true}}}
}

// state of an operation after this attempt.
func (a *attempt) state(phase, message string, app *unstructured.Unstructured, resources []any) map[string]any {
	result := map[string]any{"source": source(app)}
	if len(resources) > 0 {
		result["resources"] = resources
	}
	state := map[string]any{"phase": phase, "message": message, "syncResult": result, "operation": a.operation, "finishedAt": now()}
	switch {
	case phase == failed && a.failed < a.limit:
		state["phase"], state["retryCount"] = running, a.failed+1
	case phase == failed && a.failed > 0:
		state["message"] = fmt.Sprintf("%s (retried %d times).", message, a.failed)
	}
	return state
}
