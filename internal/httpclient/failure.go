package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
)

// failure is a request that didn't succeed, between the layers.
type failure struct {
	// err is a *fault.Error, but for one of a layer of the system's own.
	err error
	// status of the answer; 0 without one.
	status int
	// retryAfter is how long the server asks to wait; 0 if it doesn't. pause is how long all calls are held back.
	retryAfter, pause time.Duration
	// unsent means that there was no connection to send the request on; withheld, that it had no turn.
	unsent, withheld bool
	// hopeless means that no repetition can help.
	hopeless bool
	// refused means that our credentials were, before any work.
	refused bool
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failureOf an error between the layers.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{err: err}
}

// Failed is what an error between the layers says: the status of the answer, 0 without one, and the error for callers.
func Failed(err error) (status int, _ error) {
	f := failureOf(err)
	return f.status, f.err
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

// unanswered classifies a request that got no answer. key is that of its URL in the Secret.
func (c *Client) unanswered(ctx context.Context, op, key string, write bool, err error) *failure {
	if refused, ok := errors.AsType[*egress.Refused](err); ok {
		return c.notAllowed(op, key, refused)
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		err = sent.Err // the URL adds nothing to op
	}
	dialled := false
	if network, ok := errors.AsType[*net.OpError](err); ok {
		dialled = network.Op == "dial"
		// Without the addresses: the local port differs each time, and conditions must not change with it.
		err = &net.OpError{Op: network.Op, Net: network.Net, Err: withoutResolver(network.Err)}
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
	}
	return &failure{
		err:    &fault.Error{Class: fault.Transient, Op: op, Ambiguous: write && !dialled && !untrusted, Err: err},
		unsent: dialled, hopeless: untrusted,
	}
}

// notAllowed is a request that wasn't sent, because of its destination. Its text is the same whatever is there, and it isn't
// retried before the Secret changes or its time is over.
func (c *Client) notAllowed(op, key string, refused *egress.Refused) *failure {
	if c.config.Secret != "" {
		key += " of secret " + c.config.Secret
	}
	return &failure{
		err:     &fault.Error{Class: fault.Credentials, Op: op, Err: fmt.Errorf("%s: %w", key, refused)},
		refused: true, hopeless: true,
	}
}

// withoutResolver leaves out the DNS server and the local port.
func withoutResolver(err error) error {
	lookup, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return err
	case lookup.IsNotFound:
		return fmt.Errorf("lookup %s: no such host", lookup.Name)
	case lookup.IsTimeout:
		return fmt.Errorf("lookup %s: no answer in time", lookup.Name)
	}
	return fmt.Errorf("lookup %s failed", lookup.Name)
}
