// Package fault says what can go wrong with a call to a service outside
// Kubernetes. An error is classified once, where it enters the program; everybody
// after that decides by class and never by message or status code.
package fault

import (
	"context"
	"errors"
	"fmt"
)

// Class is what a failed call means for the caller.
type Class string

const (
	// NotFound means gone, and proven: the service itself was reachable and knows no such object.
	NotFound Class = "NotFound"
	// Conflict means the name or ID is taken; Error.OtherID says by whom, if the service does.
	Conflict Class = "Conflict"
	// Credentials means the service refuses our credentials; only new ones help.
	Credentials Class = "Credentials"
	// Quota means nothing is left to give: an exhausted quota, no allocation, or no free machine.
	Quota Class = "Quota"
	// Transient means that the same call may succeed later.
	Transient Class = "Transient"
	// Invalid means the service refuses the request itself; only a changed request helps.
	Invalid Class = "Invalid"
	// Busy means that something still uses the object; wait until it doesn't.
	Busy Class = "Busy"
)

// Error is a classified failure of one call.
type Error struct {
	Class Class
	// Op is what was being done, such as "create VPC".
	Op string
	// OtherID is the ID of the object that a Conflict is with; empty if unknown.
	OtherID string
	// Ambiguous means that the service may have done the work, or may yet do it.
	Ambiguous bool
	// Overloaded means that the service says it has too much to do at once.
	Overloaded bool
	Err        error
}

// Error names the operation and its cause.
func (e *Error) Error() string {
	cause := string(e.Class)
	if e.Err != nil {
		cause = e.Err.Error()
	}
	if e.Op == "" {
		return cause
	}
	return fmt.Sprintf("%s: %s", e.Op, cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invalidf is an error of the class Invalid that we have found out ourselves.
func Invalidf(format string, args ...any) error {
	return &Error{Class: Invalid, Err: fmt.Errorf(format, args...)}
}

// Correct says which field of an object to correct, where the service was asked for what that refers to, and knows no such
// thing.
func Correct(field string, err error) error {
	if class := ClassOf(err); class == NotFound || class == Invalid {
		return fmt.Errorf("%w: correct %s", err, field)
	}
	return err
}

// ClassOf returns the class of err: "" for nil, Transient for an unclassified error.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Transient
}

// IsNotFound reports whether err proves that the object is gone.
func IsNotFound(err error) bool { return ClassOf(err) == NotFound }

// IsAmbiguous reports whether the service may have done the work, or may yet do
// it. An unclassified error, such as a passed deadline or a dropped connection,
// proves nothing and is therefore ambiguous.
func IsAmbiguous(err error) bool {
	if err == nil {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Ambiguous
	}
	return true
}

// IsOverload reports whether the service had more to do than it can: it says so, or a call that was sent wasn't answered in
// time. That the object isn't ready, or the login doesn't answer, is no matter of the service's.
func IsOverload(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok && e.Overloaded {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) && IsAmbiguous(err)
}

// OtherID returns the ID of the object that err is a Conflict with, or "".
func OtherID(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.OtherID
	}
	return ""
}
