// Package phases has the states of a node of a graph: what they mean for the nodes after it, for the owner's conditions, and for when to
// requeue.
package phases

import (
	"errors"
	"fmt"

	"github.com/bedplate/bedplate/internal/fault"
)

// ErrStale says that something was read from a cache that lags behind the server. Nothing was changed because of it.
var ErrStale = errors.New("the object changed meanwhile")

// ReasonLost is the reason of a resource that is proven to be gone, and isn't created again.
const ReasonLost = "Lost"

// ReasonMissing is the reason of a resource of the user's own that is proven to be gone.
const ReasonMissing = "Missing"

// State of a node.
type State string

// States of a node. Those after it start only if it is Ready, or its phase is Usable.
const (
	StateReady    State = "Ready"
	StateWaiting  State = "Waiting"
	StateFailed   State = "Failed"
	StateDeleting State = "Deleting"
	// StateUnknown: the service couldn't be reached.
	StateUnknown State = "Unknown"
)

// Phase is the state of a node, why it is in it, and what to do about it.
type Phase struct {
	State State
	// Reason is the machine-readable CamelCase reason; by default the State.
	Reason string
	// Message is human-readable; it names the object and the remedy.
	Message string

	// Err made the phase unknown and is worth a retry with backoff.
	Err error
	// Retry says how soon to requeue.
	Retry Pace
	// Suffices: those after it may start although it isn't ready.
	Suffices bool
	// FromError: the message is that of an error, so it may differ each time. Unasked: the service wasn't called.
	FromError, Unasked bool
}

// Ready is the phase of a resource that is as wanted.
func Ready() Phase { return Phase{State: StateReady, Reason: "Ready"} }

// Waiting is the phase of a resource that will be ready by itself.
func Waiting(format string, args ...any) Phase {
	return Phase{State: StateWaiting, Reason: "Waiting", Message: fmt.Sprintf(format, args...), Retry: Poll}
}

// Failed is the phase of a resource that won't be ready by itself.
func Failed(format string, args ...any) Phase {
	return Phase{State: StateFailed, Reason: "Failed", Message: fmt.Sprintf(format, args...)}
}

// Deleting is the phase of a resource that is being deleted.
func Deleting() Phase { return Phase{State: StateDeleting, Reason: "Deleting", Retry: Poll} }

// Announced says that an event enqueues the owner when the phase changes: until then it is polled slowly.
func (p Phase) Announced() Phase {
	p.Retry = Slowly
	return p
}

// Usable lets those after it start although it isn't ready: that it exists is enough for them.
func (p Phase) Usable() Phase {
	p.Suffices = true
	return p
}

// Because gives a phase a more specific machine-readable reason.
func (p Phase) Because(reason string) Phase {
	p.Reason = reason
	return p
}

// Pace says how soon to poll something again.
type Pace int

// Paces.
const (
	Slowly  Pace = iota // it is as wanted, or won't change by itself soon: ten poll intervals
	Poll                // it is in progress: soon at first, then one poll interval
	BackOff             // the service couldn't be reached: back off
	Soon                // our own view was stale, so nothing is reported: requeue after a second
)

// Of is the phase of a node after an error. Gates whose check can fail use it too.
func Of(err error) Phase {
	if errors.Is(err, ErrStale) {
		return Phase{State: StateUnknown, Reason: "Stale", Retry: Soon}
	}
	class := fault.ClassOf(err)
	phase := Phase{State: StateFailed, Reason: string(class), Message: err.Error(), Retry: Slowly, FromError: true}
	switch class {
	case fault.Busy:
		phase.State, phase.Retry = StateWaiting, Poll
	case fault.Quota:
		phase.State = StateWaiting
	case fault.Credentials:
		phase.State = StateUnknown
	case fault.Conflict:
		if other := fault.OtherID(err); other != "" {
			phase.Message += fmt.Sprintf(" (the name is taken by %s)", other)
		}
	case fault.Transient:
		phase.State, phase.Retry, phase.Err = StateUnknown, BackOff, err
	}
	return phase
}

// WaitsFor is the phase of a node that waits for another one. The other's pace decides when to requeue.
func WaitsFor(other string) Phase {
	p := Waiting("waits for %s", other)
	p.Retry, p.Unasked = Slowly, true
	return p
}
