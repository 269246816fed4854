package operator

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
)

const (
	// maxProblems are shown in a condition.
	maxProblems = 10
	// Bounds of texts, in bytes: of conditions and of events the API server's, of clusters the CRD's.
	maxMessage, maxEvent, maxClusterMessage = 16 << 10, 1000, 1000
	// maxClusters are in the status.
	maxClusters = 256
	// soon is when a next step is taken that nothing is waited for.
	soon = 50 * time.Millisecond
)

// conditions that Ready sums up.
var conditions = []string{
	operatorv1.PrerequisitesMetCondition, operatorv1.SystemComponentsReconciledCondition, operatorv1.SystemComponentsReadyCondition,
	operatorv1.DPUClustersReachableCondition, operatorv1.ImagePullSecretsReconciledCondition, operatorv1.HostNetworkConfiguredCondition,
}

// condition is True with the reason Success only.
func condition(kind, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if reason == operatorv1.ReasonSuccess {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func (w *round) set(c metav1.Condition) {
	c.ObservedGeneration, c.Message = w.config.Generation, shorten(c.Message, maxMessage)
	meta.SetStatusCondition(&w.config.Status.Conditions, c)
}

func (w *round) find(kind string) *metav1.Condition {
	return meta.FindStatusCondition(w.config.Status.Conditions, kind)
}

func (w *round) forget(kind string) { meta.RemoveStatusCondition(&w.config.Status.Conditions, kind) }

func (w *round) done(kind, message string) {
	w.set(condition(kind, operatorv1.ReasonSuccess, message))
}

func (w *round) pending(kind, message string) {
	w.set(condition(kind, operatorv1.ReasonPending, message))
}

// failed says that something couldn't be done. It isn't known then how it is.
func (w *round) failed(kind string, err error) {
	c := condition(kind, operatorv1.ReasonError, err.Error())
	c.Status = metav1.ConditionUnknown
	w.set(c)
}

// waits for problems to end; without any, the condition is True.
func (w *round) waits(kind string, problems []string) {
	w.waitsFor(kind, operatorv1.ReasonPending, problems)
}

func (w *round) waitsFor(kind, reason string, problems []string) {
	if len(problems) == 0 {
		w.done(kind, "")
		return
	}
	shown := problems[:min(len(problems), maxProblems)]
	text := strings.Join(shown, "; ")
	if more := len(problems) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	w.set(condition(kind, reason, text))
}

func (w *round) paused() {
	w.again = 0
	w.pending(operatorv1.ReadyCondition, "it is paused: take spec.paused out to go on")
}

// sum up all conditions: Ready is as the first that isn't True. All is looked at again later, too: not everything that can go wrong has an
// event.
func (w *round) sum() {
	for _, kind := range conditions {
		c := w.find(kind)
		if c == nil || c.ObservedGeneration != w.config.Generation {
			w.pending(operatorv1.ReadyCondition, kind+" isn't known yet")
			return
		}
		if c.Status != metav1.ConditionTrue {
			w.set(condition(operatorv1.ReadyCondition, c.Reason, kind+": "+c.Message))
			return
		}
	}
	w.done(operatorv1.ReadyCondition, "")
}

func shorten(s string, length int) string {
	const more = "…"
	if len(s) <= length {
		return s
	}
	return strings.ToValidUTF8(s[:length-len(more)], "") + more
}
