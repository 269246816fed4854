package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/callmetrics"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// system names the API in metrics and spans.
const system = "bmm"

// maxRepeats bounds how often one call is repeated.
const maxRepeats = 2

// failure is an HTTP request that didn't succeed.
type failure struct {
	err error
	// status of the answer; 0 without one.
	status int
	// retryAfter is how long the server asks to wait; 0 if it doesn't.
	retryAfter time.Duration
	// unsent means that there was no connection to send the request on.
	unsent bool
	// hopeless means that no repetition can help.
	hopeless bool
	// refused means that our credentials were, before any work.
	refused bool
	// wrongPath is the answer to everything under a wrong path.
	wrongPath bool
}

// mayRepeat reports whether repeating the request is safe and may help.
func (f *failure) mayRepeat(write bool) bool {
	switch f.status {
	case http.StatusTooManyRequests: // answered before any work
		return true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return !write
	case 0: // no answer
		return !f.hopeless && (!write || f.unsent)
	}
	return false
}

// try makes one call under an API name, and repeats it if it may. Another token is fetched only after this one is refused: a
// login that hangs would look like an API that hangs.
func (c *Client) try(
	ctx context.Context, apiName, token string, r request, out any,
) (header http.Header, failed *failure) {
	renewed := false
	for repeats := 0; ; repeats++ {
		if token == "" {
			var err error
			if token, err = c.login.token(ctx); err != nil {
				return nil, &failure{err: err, refused: fault.ClassOf(err) == fault.Credentials}
			}
		}
		if err := c.pace.wait(ctx, r.op); err != nil {
			return nil, cmp.Or(failed, &failure{err: err})
		}
		sent := time.Now()
		header, failed = c.exchange(ctx, apiName, token, r, out)
		if failed == nil || failed.status > 0 {
			c.circuits.Heard(c.server, sent, !r.write)
		}
		if failed == nil {
			c.pace.heed(sent, http.StatusOK, 0)
			return header, nil
		}
		if failed.refused && !failed.hopeless && !renewed && c.login.renew(token) {
			renewed, token = true, ""
			continue
		}
		pause := c.pace.heed(sent, failed.status, failed.retryAfter)
		if repeats >= maxRepeats || pause > patience || !failed.mayRepeat(r.write) || !sleep(ctx, backoff(repeats)) {
			return nil, failed
		}
	}
}

// exchange sends one HTTP request and reads the answer.
func (c *Client) exchange(
	ctx context.Context, apiName, token string, r request, out any,
) (header http.Header, failed *failure) {
	ctx, done := callmetrics.Observe(ctx, system, r.op, c.secret)
	defer func() {
		if failed != nil {
			done(failed.err)
			return
		}
		done(nil)
	}()
	if late(ctx) {
		return nil, &failure{err: &fault.Error{Class: fault.Transient, Op: r.op, Err: errLate}, hopeless: true}
	}
	api := gen.Client{
		Server: c.org.JoinPath(apiName).String() + "/", Client: c.sender,
		RequestEditors: []gen.RequestEditorFn{headers(token)},
	}
	resp, err := r.send(ctx, &api)
	if err != nil {
		return nil, transportFailure(ctx, r, c.secret, err)
	}
	defer func() { _ = resp.Body.Close() }() // all that matters has been read
	memory := bounds.ShareOf(c.Namespace())
	defer memory.Release()
	body := bounds.NewBody(resp.Body, memory)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		text, err := body.Whole(bounds.MaxOther)
		if !body.Lost() { // what is too long is not in the service's own words
			return nil, c.answerFailure(r, resp, text, func(text string) string { return c.login.redact(hide(text, token)) })
		}
		return nil, &failure{err: &fault.Error{Class: fault.Transient, Op: r.op, Ambiguous: r.write, Err: err}}
	}
	if err = decode(body, out, r.id); err != nil {
		// A write that was answered with 2xx has happened, whatever the answer says.
		failed := &failure{err: &fault.Error{Class: fault.Transient, Op: r.op, Ambiguous: r.write, Err: err}}
		if !body.Lost() {
			failed.status = resp.StatusCode
		}
		return nil, failed
	}
	return resp.Header, nil
}

var errLate = errors.New("not sent, because its deadline has passed while this process was suspended")

// late reports whether a deadline has passed by the wall clock: timers stand still while a machine is suspended.
func late(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Now().Round(0).After(deadline.Round(0))
}

func headers(token string) gen.RequestEditorFn {
	return func(ctx context.Context, req *http.Request) error {
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Accept", "application/json")
		otel.GetTextMapPropagator().Inject(ctx, propagation.HeaderCarrier(req.Header))
		return nil
	}
}
