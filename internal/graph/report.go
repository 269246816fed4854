package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	engine     *Engine
	order      []string // conditions in the order in which they came
	conditions map[string][]finding
	seen       map[string]bool
	// errs are the errors of services, inside those of Kubernetes.
	errs, inside []error
	retry        phases.Pace
	// poll is the shortest interval of the services at which something is in progress.
	poll     time.Duration
	services map[*Service]*standing
}

// standing is the state of a service in one reconcile.
type standing struct {
	// stopped is the phase of all nodes after one whose credentials were refused, or which got no answer in time; by is the
	// condition of that one.
	stopped *phases.Phase
	by      string
	// asked: a call was made; failing: a call ended in an error.
	asked, failing bool
}

type finding struct {
	key string
	phases.Phase
}

func newReport(e *Engine) *report {
	return &report{engine: e, conditions: map[string][]finding{}, seen: map[string]bool{}, services: map[*Service]*standing{}}
}

// report starts with the services that haven't answered in this reconcile.
func (g *Graph) report() *report {
	r := newReport(g.engine)
	for service, err := range g.stopped {
		p := phases.Of(err)
		r.at(service).stopped = &phases.Phase{State: phases.StateUnknown, Reason: p.Reason, Message: p.Message, FromError: true}
	}
	return r
}

func (r *report) has(key string) bool { return r.seen[key] }

func (r *report) empty() bool { return len(r.order) == 0 }

func (r *report) at(s *Service) *standing {
	if r.services[s] == nil {
		r.services[s] = &standing{}
	}
	return r.services[s]
}

func (r *report) add(condition, key string, of *Service, p phases.Phase) {
	if _, ok := r.conditions[condition]; !ok {
		r.order = append(r.order, condition)
	}
	r.conditions[condition] = append(r.conditions[condition], finding{key, p})
	r.seen[key] = true
	service := r.at(of)
	service.asked = service.asked || !p.Unasked
	switch {
	case p.Err == nil:
	case of == inside:
		r.inside = append(r.inside, p.Err)
	default:
		r.errs = append(r.errs, p.Err)
		service.failing = true
	}
	silent := errors.Is(p.Err, context.DeadlineExceeded)
	if (p.Reason == string(fault.Credentials) || silent) && service.stopped == nil && of != inside {
		service.stopped, service.by = &phases.Phase{State: phases.StateUnknown, Reason: p.Reason}, condition
	}
	if r.retry = max(r.retry, p.Retry); p.Retry == phases.Poll {
		poll := r.engine.service(of).Poll
		r.poll = min(cmp.Or(r.poll, poll), poll)
	}
}

// retract the phase of a key, which is added again.
func (r *report) retract(condition, key string) {
	r.conditions[condition] = slices.DeleteFunc(r.conditions[condition], func(f finding) bool { return f.key == key })
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
	service := r.at(of)
	if service.stopped == nil {
		return phases.Phase{}, false
	}
	p := *service.stopped
	if service.by != "" && condition != service.by {
		p.Message = "waits for " + service.by
	}
	p.Unasked = true
	return p, true
}

// conclude writes the conditions and says when to requeue.
func (r *report) conclude(owner Owner) (ctrl.Result, error) {
	if r.retry == phases.Soon {
		return ctrl.Result{RequeueAfter: jittered(time.Second)}, nil
	}
	e := r.engine
	summary := finding{Phase: phases.Ready()}
	var sight strings.Builder
	for _, condition := range r.order {
		worst := worstOf(r.conditions[condition])
		if condition != ReadyCondition { // which is a part of the sum only
			e.set(owner, condition, worst)
		}
		for _, f := range r.conditions[condition] {
			if f.FromError { // the text of an error may differ each time
				f.Message = ""
			}
			_, _ = fmt.Fprintln(&sight, condition, f.key, f.Reason, f.Message)
		}
		if rank(worst.State) > rank(summary.State) {
			summary = worst
			if summary.Message != "" && condition != ReadyCondition {
				summary.Message = condition + ": " + summary.Message
			}
		}
	}
	e.set(owner, ReadyCondition, summary)
	err := errors.Join(slices.Concat(r.inside, r.errs)...)
	if len(r.inside) > 0 || err != nil && !r.goesOnElsewhere() {
		return ctrl.Result{}, err
	}
	slowly := e.service(nil).slowly()
	if r.poll == 0 && err == nil {
		e.polls.rest(owner.GetUID())
		return ctrl.Result{RequeueAfter: jittered(slowly)}, nil
	}
	interval := cmp.Or(r.poll, slowly)
	since := e.polls.since(owner.GetUID(), sight.String(), e.Clock.Now(), 2*max(interval, slowly))
	return ctrl.Result{RequeueAfter: jittered(Interval(interval, since))}, nil
}

// goesOnElsewhere reports whether another service was called without an error. Then the owner is requeued at the poll
// interval, not with the queue's backoff: the error is in the conditions.
func (r *report) goesOnElsewhere() bool {
	for of, service := range r.services {
		if of != inside && service.asked && !service.failing {
			return true
		}
	}
	return false
}

// jittered keeps owners from being requeued in step.
func jittered(interval time.Duration) time.Duration {
	return interval + time.Duration(rand.Int64N(int64(interval)/5+1)) //nolint:gosec // it decides nothing
}

func rank(s phases.State) int {
	switch s {
	case phases.StateReady:
		return 0
	case phases.StateWaiting:
		return 1
	case phases.StateDeleting:
		return 2
	case phases.StateUnknown:
		return 3
	default:
		return 4
	}
}

// worstOf is the finding that counts for a condition. If several keys share the condition, the message names the key.
func worstOf(findings []finding) finding {
	worst := findings[0]
	var messages []string
	for _, f := range findings {
		if rank(f.State) > rank(worst.State) {
			worst = f
		}
		if f.State == phases.StateReady || f.Message == "" {
			continue
		}
		if len(findings) > 1 {
			f.Message = f.key + ": " + f.Message
		}
		messages = append(messages, f.Message)
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
