// Package phases has the states that a node of a graph can be in: what they mean for the nodes after it, for the owner's conditions, and
// for when to look again.
package phases

import (
	"errors"
	"fmt"

	"github.com/bedplate/bedplate/internal/fault"
)

// ErrStale says that something was read from a cache that lags behind the server. Nothing has been done on the strength of it.
var ErrStale = errors.New("the object changed meanwhile")

// ReasonLost is that of a resource which is proven to be gone, and isn't made again.
const ReasonLost = "Lost"

// State of a node.
type State string

// States of a node. Only Ready lets those after it begin, or a phase that is Usable.
const (
	StateReady    State = "Ready"
	StateWaiting  State = "Waiting"
	StateFailed   State = "Failed"
	StateDeleting State = "Deleting"
	// StateUnknown: the service couldn't be asked.
	StateUnknown State = "Unknown"
)

// Phase is the state of a node, why it is in it, and what to do about it.
type Phase struct {
	State State
	// Reason is a CamelCase word for programs; by default the State.
	Reason string
	// Message is for people; it names the object and the remedy.
	Message string

	// Err made the phase unknown and is worth a retry with backoff.
	Err error
	// Retry says how soon to look again.
	Retry Pace
	// Suffices: those after it may begin all the same.
	Suffices bool
	// FromError: the message is that of an error, so it may differ each time. Unasked: the service wasn't asked.
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

// Deleting is the phase of a resource that is on its way out.
func Deleting() Phase { return Phase{State: StateDeleting, Reason: "Deleting", Retry: Poll} }

// Announced says that somebody wakes the owner when the phase changes: until then it is looked at slowly.
func (p Phase) Announced() Phase {
	p.Retry = Slowly
	return p
}

// Usable lets those after it begin, although it isn't ready: that it exists is enough for them.
func (p Phase) Usable() Phase {
	p.Suffices = true
	return p
}

// Because gives a phase a more telling reason: a CamelCase word for programs.
func (p Phase) Because(reason string) Phase {
	p.Reason = reason
	return p
}

// Pace says how soon to look at something again.
type Pace int

// Paces.
const (
	Slowly  Pace = iota // it is as wanted, or won't change by itself soon: ten poll intervals
	Poll                // it is on its way: soon in the beginning, then one poll interval
	BackOff             // the service couldn't be asked: back off
	Soon                // our own view was stale, so nothing is reported: a second
)

// Of says what an error means for a node. Gates whose check can fail use it too.
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

// WaitsFor is the phase of what another node has to go before. That one's own pace decides when to look again.
func WaitsFor(other string) Phase {
	p := Waiting("waits for %s", other)
	p.Retry, p.Unasked = Slowly, true
	return p
}
