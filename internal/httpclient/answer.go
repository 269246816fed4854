package httpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// Answer is one that isn't a success.
type Answer struct {
	Status int
	Header http.Header
	// Body, or its beginning if it is too long to be the service's own words.
	Body []byte
}

// Meaning of an answer.
type Meaning struct {
	Class fault.Class
	// Text describes the answer; default its status. Secrets are taken out of it, and it is cut. Hint follows as it is.
	Text, Hint string
	// Kind is an error that the text wraps, for errors.Is. Optional.
	Kind error
	// OtherID is the ID of the object that a Conflict is with, if the service names it.
	OtherID string
	// MayHaveWorked means that a change may be done, or still be in progress, in spite of a Transient answer.
	MayHaveWorked bool
	// Overloaded means that the service says it has too much to do at once.
	Overloaded bool
}

// StatusText is how an answer's status is described.
func StatusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// saidError is the text of an answer.
type saidError struct {
	text string
	kind error
}

func (e saidError) Error() string { return e.text }
func (e saidError) Unwrap() error { return e.kind }

var errLate = errors.New("not sent, because its deadline has passed while this process was suspended")

// late reports whether a deadline has passed by the wall clock: timers stand still while a machine is suspended.
func late(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Now().Round(0).After(deadline.Round(0))
}

// bounded is the layer that sends a request and reads the answer.
func (c *Client) bounded(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		call := callOf(r)
		unread := func(err error, body *bounds.Body, resp *http.Response) *failure {
			failed := &failure{err: &fault.Error{Class: fault.Transient, Op: call.Op, Ambiguous: writes(r), Err: err}}
			if !body.Lost() {
				failed.status = resp.StatusCode
			}
			return failed
		}
		if late(r.Context()) {
			return nil, &failure{err: &fault.Error{Class: fault.Transient, Op: call.Op, Err: errLate}, hopeless: true}
		}
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, c.unanswered(r.Context(), call.Op, c.config.EndpointKey, writes(r), err)
		}
		stream := resp.Body
		defer func() { _ = stream.Close() }() // all that matters has been read
		memory := c.Memory()
		defer memory.Release()
		body := bounds.NewBody(stream, memory)
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			text, err := body.Whole(bounds.MaxOther)
			if err != nil && !errors.Is(err, bounds.ErrTooLong) {
				return nil, unread(err, body, resp)
			}
			return nil, c.answered(r, call, Answer{resp.StatusCode, resp.Header, text})
		}
		if r.Method == http.MethodHead { // its length is that of another answer
			return resp, nil
		}
		if err := read(call, resp, body); err != nil {
			// A write that was answered with 2xx has happened, whatever the answer says.
			return nil, unread(err, body, resp)
		}
		return resp, nil
	})
}

// read an answer that is a success.
func read(call *Call, resp *http.Response, body *bounds.Body) error {
	if call.Read != nil {
		resp.Body = http.NoBody
		return call.Read(body)
	}
	text, err := body.Whole(bounds.MaxObject)
	if err != nil {
		return err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return bounds.Check(text)
}

// answered classifies an answer that isn't a success.
func (c *Client) answered(r *http.Request, call *Call, a Answer) *failure {
	classify := c.config.Classify
	if call.Classify != nil {
		classify = call.Classify
	}
	m := classify(a)
	text := bounds.Shorten(c.safe(call, cmp.Or(m.Text, StatusText(a.Status)))) + m.Hint
	if m.Class == fault.Credentials && c.config.Secret != "" {
		text += fmt.Sprintf("; correct the %s in secret %s", c.config.Login.means, c.config.Secret)
	}
	return &failure{
		err: &fault.Error{
			Class:      m.Class,
			Op:         call.Op,
			OtherID:    m.OtherID,
			Ambiguous:  m.Class == fault.Transient && writes(r) && m.MayHaveWorked,
			Overloaded: m.Overloaded,
			Err:        saidError{text, m.Kind},
		},
		status:     a.Status,
		retryAfter: retryAfter(a),
		refused:    a.Status == http.StatusUnauthorized && m.Class == fault.Credentials,
	}
}

// safe takes the secrets out of a text about a call.
func (c *Client) safe(call *Call, text string) string {
	return c.login.redact(hide(text, secretsIn(call.header)...))
}

// secretsIn a header: all after its scheme, such as Bearer, and where that is JSON its longer strings.
func secretsIn(header string) []string {
	secrets := []string{header}
	if _, token, ok := strings.Cut(header, " "); ok {
		secrets = []string{token}
	}
	for n, text := range strings.Split(header, `"`) {
		if n%2 == 1 && len(text) > longestKey {
			secrets = append(secrets, text)
		}
	}
	return secrets
}

// longestKey is how long a string in a header may be that is no secret, but a key.
const longestKey = 8

// hide takes secrets out of a text.
func hide(text string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}
