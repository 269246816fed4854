package dpuservice

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// attemptInfo of an operation counts those that were asked for in a row: Argo CD keeps it with the operation in the status.
	attemptInfo = "svc.dpu.nvidia.com/attempt"
	initiator   = "dpf-dpuservice-controller"
	// longestPause between two of them.
	longestPause = time.Hour
)

// resync has Argo CD sync an Application again that it has given up: after some attempts that have failed it begins none of the same source,
// also where a cluster was away, or a project has changed since. It returns when that is due; 0 is never.
func (r *reconciler) resync(ctx context.Context, a *unstructured.Unstructured) (time.Duration, error) {
	attempt, at, givenUp := lastAttempt(a)
	if !givenUp {
		return 0, nil
	}
	if left := time.Until(at.Add(pauseAfter(attempt, r.Poll))); left > 0 {
		return left, nil
	}
	asked := a.DeepCopy()
	options, _, _ := unstructured.NestedSlice(a.Object, "spec", "syncPolicy", "syncOptions")
	sync := map[string]any{"prune": true}
	if len(options) > 0 {
		sync["syncOptions"] = options
	}
	return 0, r.change(ctx, asked, func() {
		asked.Object["operation"] = map[string]any{
			"initiatedBy": map[string]any{"username": initiator}, "sync": sync,
			"info": []any{map[string]any{"name": attemptInfo, "value": strconv.Itoa(attempt + 1)}},
		}
	})
}

// pauseAfter so many attempts.
func pauseAfter(attempt int, first time.Duration) time.Duration {
	pause := first
	for range attempt {
		if pause >= longestPause {
			break
		}
		pause *= 2
	}
	return min(pause, longestPause)
}

// lastAttempt is how many syncs were asked for here, and when the last one ended, whoever has begun it. An Application is given up where
// that has failed, of the source that it has now.
func lastAttempt(a *unstructured.Unstructured) (attempt int, at time.Time, givenUp bool) {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(a.Object, fields...)
		return value
	}
	phase := text("status", "operationState", "phase")
	if a.GetDeletionTimestamp() != nil || a.Object["operation"] != nil || !compared(a) || text("status", "sync", "status") != "OutOfSync" ||
		phase != "Failed" && phase != "Error" {
		return 0, at, false
	}
	at, err := time.Parse(time.RFC3339, text("status", "operationState", "finishedAt"))
	infos, _, _ := unstructured.NestedSlice(a.Object, "status", "operationState", "operation", "info")
	for _, info := range infos {
		if fields, _ := info.(map[string]any); fields["name"] == attemptInfo {
			value, _ := fields["value"].(string)
			attempt, _ = strconv.Atoi(value)
		}
	}
	return attempt, at, err == nil
}
