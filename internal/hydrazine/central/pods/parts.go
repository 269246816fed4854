package pods

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// parts of a central are the containers of its Pod.
type parts struct {
	pod      types.UID
	restarts int // of all of them together
}

// restarted notes a group's Pod, and returns how many of its containers have been started again since one was noted last.
// Restarts before this process aren't known.
func (r *Runtime) restarted(group string, pod *corev1.Pod) int {
	now := parts{pod: pod.UID}
	for _, c := range pod.Status.ContainerStatuses {
		now.restarts += int(c.RestartCount)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	before, known := r.parts[group]
	if known && before.pod == now.pod && before.restarts > now.restarts { // the cache is stale
		return 0
	}
	r.parts[group] = now
	switch {
	case !known:
		return 0
	case before.pod != now.pod:
		return now.restarts
	}
	return now.restarts - before.restarts
}
