package httpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/bedplate/bedplate/internal/callmetrics"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
	"github.com/bedplate/bedplate/internal/memo"
)

const (
	opLogin = "log in"
	// loginTimeout bounds the fetch of a header.
	loginTimeout = 15 * time.Second
)

// Login says how a client logs in. It keeps its secrets in closures only, so that printing it can't show them.
type Login struct {
	// Key is that of the URL in the Secret; default KeyTokenURL.
	Key string

	// means is what the user would have to correct.
	means string
	// invalid is why it can't work, if it can't.
	invalid error
	// header is always the same; or it is fetched from a URL.
	header func() string
	fetch  Fetch
	url    string
	redact func(string) string
}

// Fetch logs in with a sender whose answers are short, and returns the value of the header Authorization, and until when it is
// used; the zero time is for good. An error that isn't a *fault.Error is Transient.
type Fetch func(ctx context.Context, sender *http.Client) (header string, until time.Time, _ error)

// Static is a login with a header Authorization that is always the same. means is what a user has to correct when it is
// refused. The secrets never show up in a message.
func Static(means, header string, secrets ...string) Login {
	return Login{
		means: means, header: func() string { return header },
		redact: func(text string) string { return hide(text, secrets...) },
	}
}

// Bearer is a login with a token that is always the same.
func Bearer(token string) Login {
	login := Static("token", "Bearer "+token, token)
	if !tokenPattern.MatchString(token) {
		login.invalid = errors.New("token is empty or contains characters that a bearer token can't have")
	}
	return login
}

// Fetched is a login with a header that is fetched at a URL, and kept until it ends or is refused.
func Fetched(means, url string, fetch Fetch, secrets ...string) Login {
	return Login{means: means, url: url, fetch: fetch, redact: func(text string) string { return hide(text, secrets...) }}
}

var tokenPattern = regexp.MustCompile(`^[\x21-\x7e]+$`)

func (l Login) validate(policy egress.Policy) error {
	switch {
	case l.invalid != nil:
		return l.invalid
	case l.header != nil:
		return nil
	case l.fetch == nil:
		return errors.New("there is no way to log in")
	}
	_, err := serviceURL(policy, cmp.Or(l.Key, KeyTokenURL), l.url)
	return err
}

// session is a client's login.
type session struct {
	// header returns the one to send.
	header func(context.Context) (string, error)
	// renew is called when a header was refused, and reports whether header may return another one.
	renew func(refused string) bool
	// redact takes the secrets out of a text.
	redact func(string) string
}

// LogIn fetches what calls log in with, unless it is known.
func (c *Client) LogIn(ctx context.Context) error {
	_, err := c.login.header(ctx)
	return err
}

func (c *Client) newSession(l Login) session {
	if l.header != nil {
		return session{
			header: func(context.Context) (string, error) { return l.header(), nil },
			renew:  func(string) bool { return false },
			redact: l.redact,
		}
	}
	server := "the login at " + l.url // another one than the API, even if both are at the same address
	short := *c.sender
	short.Transport = shortAnswers{c.sender.Transport, func(sent time.Time) { c.config.Circuits.Heard(server, sent, true) }}
	headers := &memo.Value[string]{}
	fetch := func(ctx context.Context) (_ string, _ time.Time, err error) {
		ctx, cancel := context.WithTimeout(ctx, loginTimeout)
		defer cancel()
		ctx, done := callmetrics.Observe(ctx, c.config.System, opLogin, c.config.Secret)
		defer func() { done(err) }()
		header, until, err := l.fetch(ctx, &short)
		if err != nil {
			return "", time.Time{}, c.notFetched(ctx, l, err)
		}
		return header, until, nil
	}
	return session{
		header: func(ctx context.Context) (string, error) {
			if header, known := headers.Recall(); known {
				return header, nil
			}
			pass, err := c.config.Circuits.Enter(ctx, circuit.Call{
				System: c.config.System, Endpoint: server, Op: opLogin, Tenant: c.Namespace(),
			})
			if err != nil {
				return "", err
			}
			header, err := headers.Get(ctx, fetch)
			c.config.Circuits.Leave(pass, err)
			if err != nil && ctx.Err() != nil {
				err = &fault.Error{Class: fault.Transient, Op: opLogin, Err: err}
			}
			return header, err
		},
		renew:  func(refused string) bool { headers.Forget(refused); return true },
		redact: l.redact,
	}
}

// notFetched classifies why there is no header.
func (c *Client) notFetched(ctx context.Context, l Login, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok {
		err = c.unanswered(ctx, opLogin, cmp.Or(l.Key, KeyTokenURL), false, err).err
		known, _ = errors.AsType[*fault.Error](err)
	}
	if known.Err == nil {
		return known
	}
	if text := known.Err.Error(); l.redact(text) != text {
		return &fault.Error{Class: known.Class, Op: known.Op, Err: errors.New(l.redact(text))}
	}
	return known
}

// shortAnswers bounds answers before the library of a login decodes them: that of OAuth2 accepts up to a MiB, of anything.
type shortAnswers struct {
	next  http.RoundTripper
	heard func(sent time.Time)
}

// RoundTrip truncates an answer that is too long, which is no JSON then.
func (s shortAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := time.Now()
	resp, err := cmp.Or(s.next, http.DefaultTransport).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // all that matters has been read
	text, err := io.ReadAll(io.LimitReader(resp.Body, bounds.MaxOther))
	if err != nil {
		return nil, err
	}
	s.heard(sent)
	if bounds.Check(text) != nil {
		text = nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}
