package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// maxNote is what the API server takes of an event's note, and maxMessage of a condition's message, in bytes.
const maxNote, maxMessage = 1024, 32768

// ReadyCondition sums up the conditions that the engine writes.
const ReadyCondition = "Ready"

// waitsUntilGone is the phase of what others come after. Some of them may be wanted: then they get something else to come after.
func (g *Graph) waitsUntilGone(dependents []string) phases.Phase {
	text := "waits until " + strings.Join(dependents, ", ") + " is gone"
	if still := slices.DeleteFunc(slices.Clone(dependents), func(key string) bool { return !g.wants(key) }); len(still) > 0 {
		text = "waits until " + strings.Join(still, ", ") + " doesn't need it any more"
	}
	return phases.Phase{State: phases.StateDeleting, Reason: "Deleting", Message: text, Unasked: true}
}

// report collects the phases of one reconcile, and turns them into conditions, events and the next poll.
type report struct {
	engine   *Engine
	findings []finding
	// stopped are the services that refused credentials or didn't answer in time, with the phase of all nodes that come then. The condition is
	// that of the first one.
	stopped map[*Service]finding
}

// finding is the phase of a key.
type finding struct {
	condition, key string
	service        *Service
	phases.Phase
}

func newReport(e *Engine) *report { return &report{engine: e, stopped: map[*Service]finding{}} }

// report starts with the services that haven't answered in this reconcile.
func (g *Graph) report() *report {
	r := newReport(g.engine)
	for service, err := range g.stopped {
		p := phases.Of(err)
		r.stopped[service] = finding{Phase: phases.Phase{State: phases.StateUnknown, Reason: p.Reason, Message: p.Message, FromError: true}}
	}
	return r
}

func (r *report) add(condition, key string, of *Service, p phases.Phase) {
	r.findings = append(r.findings, finding{condition, key, of, p})
	silent := errors.Is(p.Err, context.DeadlineExceeded)
	if _, already := r.stopped[of]; !already && of != inside && (p.Reason == string(fault.Credentials) || silent) {
		r.stopped[of] = finding{condition: condition, Phase: phases.Phase{State: phases.StateUnknown, Reason: p.Reason}}
	}
}

// retract the phase of a key, which is added again.
func (r *report) retract(key string) {
	r.findings = slices.DeleteFunc(r.findings, func(f finding) bool { return f.key == key })
}

// of are the findings of a condition.
func (r *report) of(condition string) []finding {
	return slices.DeleteFunc(slices.Clone(r.findings), func(f finding) bool { return f.condition != condition })
}

// Blocked reports that a prerequisite of the whole graph is missing, such as its credentials. Nothing is read or changed
// outside, and the other conditions stay as they are.
func (e *Engine) Blocked(owner Owner, condition string, err error) (ctrl.Result, error) {
	r := newReport(e)
	r.add(condition, condition, inside, phases.Of(err))
	return r.conclude(owner)
}

// stop reports whether a service isn't to be called again in this reconcile, because it refused our credentials or
// doesn't answer; if so, with the phase of a node that would have called it.
func (r *report) stop(condition string, of *Service) (phases.Phase, bool) {
	first, stopped := r.stopped[of]
	p := first.Phase
	if first.condition != "" && condition != first.condition {
		p.Message = "waits for " + first.condition
	}
	p.Unasked = true
	return p, stopped
}

// conclude writes the conditions and says when to requeue.
func (r *report) conclude(owner Owner) (ctrl.Result, error) {
	if slices.ContainsFunc(r.findings, func(f finding) bool { return f.Retry == phases.Soon }) {
		return ctrl.Result{RequeueAfter: jittered(time.Second)}, nil
	}
	r.show(owner)
	var errs []error
	var poll time.Duration // the shortest interval of the services at which something is in progress
	var sight strings.Builder
	asked, failing := map[*Service]bool{}, map[*Service]bool{}
	for _, f := range r.findings {
		if !f.Unasked {
			asked[f.service] = true
		}
		if f.Err != nil {
			failing[f.service], errs = true, append(errs, f.Err)
		}
		if f.Retry == phases.Poll {
			interval := r.engine.service(f.service).Poll
			poll = min(cmp.Or(poll, interval), interval)
		}
		if f.FromError { // the text of an error may differ each time
			f.Message = ""
		}
		_, _ = fmt.Fprintln(&sight, f.condition, f.key, f.Reason, f.Message)
	}
	// If another service was called without an error, the owner is requeued at the poll interval, not with the queue's backoff: the error is
	// in the conditions.
	maps.DeleteFunc(asked, func(of *Service, _ bool) bool { return of == inside || failing[of] })
	if err := errors.Join(errs...); failing[inside] || err != nil && len(asked) == 0 {
		return ctrl.Result{}, err
	}
	slowly, polls := r.engine.service(nil).slowly(), &r.engine.polls
	if poll == 0 && len(errs) == 0 {
		polls.rest(owner.GetUID())
		return ctrl.Result{RequeueAfter: jittered(slowly)}, nil
	}
	interval := cmp.Or(poll, slowly)
	since := polls.since(owner.GetUID(), sight.String(), r.engine.Clock.Now(), 2*max(interval, slowly))
	return ctrl.Result{RequeueAfter: jittered(Interval(interval, since))}, nil
}

// show the findings in the owner's conditions, and their sum.
func (r *report) show(owner Owner) {
	summary := finding{Phase: phases.Ready()}
	shown := map[string]bool{}
	for _, f := range r.findings {
		condition := f.condition
		if shown[condition] {
			continue
		}
		shown[condition] = true
		worst := worstOf(r.of(condition))
		if condition != ReadyCondition { // which is a part of the sum only
			r.engine.set(owner, condition, worst)
		}
		if bySeverity(worst, summary) < 0 {
			summary = worst
			if summary.Message != "" && condition != ReadyCondition {
				summary.Message = condition + ": " + summary.Message
			}
		}
	}
	r.engine.set(owner, ReadyCondition, summary)
}

// jittered keeps owners from being requeued in step.
func jittered(interval time.Duration) time.Duration {
	return interval + time.Duration(rand.Int64N(int64(interval)/5+1)) //nolint:gosec // it decides nothing
}

// severity of states. One that isn't known is the most severe.
var severity = []phases.State{phases.StateFailed, phases.StateUnknown, phases.StateDeleting, phases.StateWaiting, phases.StateReady}

func bySeverity(a, b finding) int {
	return cmp.Compare(slices.Index(severity, a.State), slices.Index(severity, b.State))
}

// worstOf is the finding that counts for a condition. If several keys share the condition, the message names the key.
func worstOf(findings []finding) finding {
	worst := slices.MinFunc(findings, bySeverity)
	var messages []string
	for _, f := range findings {
		switch {
		case f.State == phases.StateReady || f.Message == "":
		case len(findings) == 1:
			messages = append(messages, f.Message)
		default:
			messages = append(messages, f.key+": "+f.Message)
		}
	}
	worst.Message = strings.Join(messages, "; ")
	return worst
}

// set writes one condition, and an event if it changed.
func (e *Engine) set(owner Owner, condition string, f finding) {
	status := metav1.ConditionFalse
	switch f.State {
	case phases.StateReady:
		status = metav1.ConditionTrue
	case phases.StateUnknown:
		status = metav1.ConditionUnknown
	}
	conditions := owner.GetConditions()
	before := meta.FindStatusCondition(conditions, condition)
	// A condition that starts well hasn't changed: with thousands of owners those would be most events.
	begins := before == nil && (f.State == phases.StateReady || f.State == phases.StateWaiting)
	turned := !begins && (before == nil || before.Status != status || before.Reason != f.Reason)
	if status == metav1.ConditionTrue {
		met(owner, before)
	}
	meta.SetStatusCondition(&conditions, metav1.Condition{ // overwrites before
		Type: condition, Status: status, Reason: f.Reason, Message: Message(f.Message), ObservedGeneration: owner.GetGeneration(),
	})
	owner.SetConditions(conditions)
	if !turned || condition == ReadyCondition {
		return
	}
	kind := corev1.EventTypeNormal
	if f.State == phases.StateFailed || f.State == phases.StateUnknown {
		kind = corev1.EventTypeWarning
	}
	note := condition + " is " + string(status)
	if f.Message != "" {
		note += ": " + f.Message
	}
	e.Recorder.Eventf(ledgers.ObjectOf(owner), nil, kind, f.Reason, condition, "%s", Note(note))
}

// Message is as much of a text as the API server accepts as a condition's message: with more, it would refuse the whole status.
func Message(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-len("…")], "") + "…"
}

// Note is as much of a text as the API server accepts as an event's note.
func Note(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxNote)], "") }
