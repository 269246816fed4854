package httpclient

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"github.com/bedplate/bedplate/internal/callmetrics"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

// Layer is an http.RoundTripper around another one.
type Layer func(next http.RoundTripper) http.RoundTripper

// RoundTrip is a function that is an http.RoundTripper.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// observed is the layer of metrics and spans: each attempt is one.
func (c *Client) observed(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		ctx, done := callmetrics.Observe(r.Context(), c.config.System, callOf(r).Op, c.config.Secret)
		otel.GetTextMapPropagator().Inject(ctx, propagation.HeaderCarrier(r.Header))
		resp, err := next.RoundTrip(r.WithContext(ctx))
		if err != nil {
			done(failureOf(err).err)
			return nil, err
		}
		done(nil)
		return resp, nil
	})
}

// heard is the layer that tells the circuits of answers.
func (c *Client) heard(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		sent := time.Now()
		resp, err := next.RoundTrip(r)
		if err == nil || failureOf(err).status > 0 && !errors.Is(err, circuit.ErrUnreached) {
			c.config.Circuits.Heard(c.server, sent, !writes(r))
		}
		return resp, err
	})
}

// letThrough is the layer of the circuits: the requests of a call share one pass.
func (c *Client) letThrough(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (_ *http.Response, err error) {
		call := callOf(r)
		if call.pass != nil {
			c.config.Circuits.Resume(call.pass)
			return next.RoundTrip(r)
		}
		pass, err := c.config.Circuits.Enter(r.Context(), circuit.Call{
			System: c.config.System, Endpoint: c.server, Op: call.Op, Tenant: c.Namespace(),
			Change: writes(r) && !call.Unattended, Site: call.Site, Unattended: call.Unattended,
		})
		if err != nil {
			return nil, err
		}
		if call.Pages {
			call.pass = pass
		} else {
			defer func() { c.config.Circuits.Leave(pass, err) }()
		}
		return next.RoundTrip(r)
	})
}

// errElsewhere is a request that an SDK has made of a link, for example.
var errElsewhere = errors.New("not sent, because it is for another server than the endpoint, for which the login is")

// loggedIn is the layer of the login.
func (c *Client) loggedIn(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		if server, ok := inOneForm(r.URL); !ok || r.URL.Scheme+"://"+server != c.Endpoint() {
			return nil, &failure{err: &fault.Error{Class: fault.Invalid, Op: callOf(r).Op, Err: errElsewhere}}
		}
		header, failed := c.authorize(r.Context())
		if failed != nil {
			return nil, failed
		}
		r = r.Clone(r.Context())
		r.Header.Set(authorization, header)
		return next.RoundTrip(r)
	})
}

const authorization = "Authorization"

// authorize returns the header of the login. Its failure is final, if the credentials are refused.
func (c *Client) authorize(ctx context.Context) (string, *failure) {
	header, err := c.login.header(ctx)
	if err != nil {
		return "", &failure{err: err, refused: fault.ClassOf(err) == fault.Credentials}
	}
	return header, nil
}

// inTime is the layer of deadlines.
func (c *Client) inTime(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithTimeout(r.Context(), c.Timeout(writes(r)))
		defer cancel() // the answer has been read
		return next.RoundTrip(r.WithContext(ctx))
	})
}

// notRefused is the layer that remembers refusals of the credentials.
func (c *Client) notRefused(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		if err := c.refusal.recent(); err != nil {
			return nil, err
		}
		began := time.Now()
		resp, err := next.RoundTrip(r)
		if err == nil {
			return resp, nil
		}
		failed, ok := errors.AsType[*failure](err)
		if !ok { // of a layer of the system's own
			failed = &failure{err: err, refused: fault.ClassOf(err) == fault.Credentials}
		}
		if failed.refused {
			noAnswer := failed.status == 0 // from the API: the login itself has refused
			return nil, c.refusal.note(began, failed.err, noAnswer)
		}
		return nil, err
	})
}
