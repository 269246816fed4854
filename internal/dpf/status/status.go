// Package status writes the conditions of service objects.
package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

// Bounds of messages.
const (
	maxProblems = 10
	maxMessage  = 2048
)

// Set a condition: it is True with the reason Success only, which needs no message.
func Set(o svcv1.Object, kind, reason, message string) {
	is := metav1.ConditionFalse
	if reason == svcv1.ReasonSuccess {
		is = metav1.ConditionTrue
	}
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	meta.SetStatusCondition(&o.GetStatus().Conditions, metav1.Condition{
		Type: kind, Status: is, Reason: reason, Message: message, ObservedGeneration: o.GetGeneration(),
	})
}

// Done sets a condition to what is left: nothing, or problems, of which some are shown.
func Done(o svcv1.Object, kind, reason string, problems []string) {
	if len(problems) == 0 {
		Set(o, kind, svcv1.ReasonSuccess, "")
		return
	}
	Set(o, kind, reason, List(problems))
}

// List of problems, of which some are shown.
func List(problems []string) string {
	shown := problems[:min(len(problems), maxProblems)]
	text := strings.Join(shown, "; ")
	if more := len(problems) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Sum sets Ready: it is True where all conditions are, and of this generation. Otherwise it is as the first that isn't.
func Sum(o svcv1.Object, kinds ...string) {
	status := o.GetStatus()
	status.ObservedGeneration = o.GetGeneration()
	for _, kind := range kinds {
		c := meta.FindStatusCondition(status.Conditions, kind)
		switch {
		case c == nil || c.ObservedGeneration != o.GetGeneration():
			Set(o, svcv1.ReadyCondition, svcv1.ReasonPending, kind+" isn't known yet")
			return
		case c.Status != metav1.ConditionTrue:
			Set(o, svcv1.ReadyCondition, c.Reason, c.Message)
			return
		}
	}
	Set(o, svcv1.ReadyCondition, svcv1.ReasonSuccess, "")
}

// IsReady reports whether an object is ready, and its condition is about the object as it is now.
func IsReady(o svcv1.Object) bool {
	c := meta.FindStatusCondition(o.GetStatus().Conditions, svcv1.ReadyCondition)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.GetGeneration()
}
