package sim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Times are simulated durations. A zero value means that of DefaultTimes.
type Times struct {
	// Workspace is the time from creation to active, WorkspaceDelete that from a DELETE to reclamation.
	Workspace       metav1.Duration `json:"workspace,omitzero"`
	WorkspaceDelete metav1.Duration `json:"workspaceDelete,omitzero"`
}

// DefaultTimes are about those of the real services.
func DefaultTimes() Times {
	return Times{Workspace: seconds(20), WorkspaceDelete: seconds(20)}
}

func (t *Times) setDefaults() {
	defaults := DefaultTimes()
	for _, pair := range []struct{ value, fallback *metav1.Duration }{
		{&t.Workspace, &defaults.Workspace},
		{&t.WorkspaceDelete, &defaults.WorkspaceDelete},
	} {
		if pair.value.Duration == 0 {
			*pair.value = *pair.fallback
		}
	}
}

func seconds(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
