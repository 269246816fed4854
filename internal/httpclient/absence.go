package httpclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/bedplate/bedplate/internal/fault"
)

// Proven makes a call for one object, which counts as absent only if the service says so twice, and a control call succeeds in between:
// under a wrong path everything is 404. Once isn't enough: the service may recover just before the control call. Check is what a user
// should look at otherwise, such as "endpoint and project".
func Proven(ctx context.Context, call, control func(context.Context) error, check string) error {
	err := call(ctx)
	if !fault.IsNotFound(err) {
		return err
	}
	if control(ctx) != nil {
		return NotProven(err, check)
	}
	return call(ctx)
}

// NotProven turns a NotFound that proves nothing into a Transient error; other errors stay as they are.
func NotProven(err error, check string) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Class != fault.NotFound {
		return err
	}
	return &fault.Error{
		Class: fault.Transient, Op: f.Op, Err: fmt.Errorf("%w (this doesn't prove that it is absent: check %s)", f.Err, check),
	}
}
