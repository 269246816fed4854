package httpclient

import (
	"errors"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
)

// secondTry is how long after a first refusal the credentials are used again, at most: it may have been a transient failure
// of the server.
const secondTry = 5 * time.Second

// refusal remembers that the API or its login has refused our credentials, for all users of the client: retries with
// the same credentials are useless load.
type refusal struct {
	pause time.Duration

	mu sync.Mutex
	// err is the last refusal, and until when it is the answer to all calls.
	err       error
	at, until time.Time
}

// doubtedError is a refusal that may be transient.
type doubtedError struct{ error }

// doubt marks a refusal as possibly transient.
func doubt(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return &fault.Error{Class: fault.Transient, Op: f.Op, Err: doubtedError{f.Err}}
	}
	return err
}

// Refused reports whether an error is about the credentials, also where it is Transient because it was the first refusal.
func Refused(err error) bool {
	_, doubted := errors.AsType[doubtedError](err)
	return doubted || fault.ClassOf(err) == fault.Credentials
}

// recent is the error of a refusal that isn't long ago.
func (r *refusal) recent() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || !time.Now().Before(r.until) {
		return nil
	}
	return r.err
}

// note remembers a refusal of a call that began at a time, which is about the credentials and nothing else, and returns
// how to treat it: the first one in a long time may be transient, if it isn't final and there is a pause to retry after.
// Other answers meanwhile prove nothing: only some calls may be refused.
func (r *refusal) note(began time.Time, err error, final bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil && began.Before(r.at) {
		return r.err // they were refused together
	}
	pause := r.pause
	if first := r.err == nil || time.Since(r.at) > 2*r.pause; first && !final && r.pause > 0 {
		err, pause = doubt(err), min(secondTry, r.pause/10)
	}
	r.err, r.at, r.until = err, time.Now(), time.Now().Add(pause)
	return err
}
