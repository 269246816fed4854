package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/bedplate/bedplate/internal/callmetrics"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
	"github.com/bedplate/bedplate/internal/memo"
)

const (
	// tokenTimeout bounds the fetch of a token.
	tokenTimeout = 15 * time.Second
	// tokenMargin is how long before its end a token isn't used any more, or a fifth of its life if that is shorter.
	tokenMargin = 30 * time.Second
)

// login is how a client authenticates. It keeps its secrets in closures only, so that printing it can't show them.
type login struct {
	// means is what the user would have to correct.
	means string
	// token returns the token to send.
	token func(context.Context) (string, error)
	// renew is called when a token was refused, and reports whether token may return another one.
	renew func(refused string) bool
	// redact takes the secrets out of a text.
	redact func(string) string
}

// login of the configuration, which is valid.
func (c Config) login(sender *http.Client) login {
	if c.OAuth2 != nil {
		return c.OAuth2.login(sender, c.Secret, c.Circuits)
	}
	token := c.Token
	return login{
		means:  "token",
		token:  func(context.Context) (string, error) { return token, nil },
		renew:  func(string) bool { return false },
		redact: func(text string) string { return hide(text, token) },
	}
}

func (o OAuth2) login(sender *http.Client, secret string, circuits *circuit.Circuits) login {
	config := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL, Scopes: o.Scopes,
	}
	short := *sender
	short.Transport = shortAnswers{sender.Transport}
	server := "the login at " + o.TokenURL // another one than the API, even if both are at the same address
	tokens := &memo.Value[string]{}
	fetch := func(ctx context.Context) (string, time.Time, error) {
		ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, &short), tokenTimeout)
		defer cancel()
		ctx, done := callmetrics.Observe(ctx, system, opLogin, secret)
		sent := time.Now()
		token, answered, err := fetchToken(ctx, &config, secret)
		if answered {
			circuits.Heard(server, sent, true)
		}
		done(err)
		if err != nil {
			return "", time.Time{}, err
		}
		return token.AccessToken, useUntil(token, time.Now()), nil
	}
	return login{
		means: "OAuth2 client",
		token: func(ctx context.Context) (string, error) {
			if token, known := tokens.Recall(); known {
				return token, nil
			}
			pass, err := circuits.Enter(ctx, circuit.Call{System: system, Endpoint: server, Op: opLogin, Tenant: namespaceOf(secret)})
			if err != nil {
				return "", err
			}
			token, err := tokens.Get(ctx, fetch)
			circuits.Leave(pass, err)
			if err != nil && ctx.Err() != nil {
				err = &fault.Error{Class: fault.Transient, Op: opLogin, Err: err}
			}
			return token, err
		},
		renew:  func(refused string) bool { tokens.Forget(refused); return true },
		redact: func(text string) string { return hide(text, o.ClientSecret) },
	}
}

const opLogin = "log in"

// shortAnswers bounds answers before OAuth2's library decodes them: that accepts up to a MiB, of anything.
type shortAnswers struct{ next http.RoundTripper }

// RoundTrip truncates an answer that is too long, which is no JSON then.
func (s shortAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := cmp.Or(s.next, http.DefaultTransport).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // all that matters has been read
	text, err := io.ReadAll(io.LimitReader(resp.Body, bounds.MaxOther))
	if err != nil {
		return nil, err
	}
	if !bounds.Fit(text) {
		text = nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}

// fetchToken also reports whether there was an answer, whatever it says.
func fetchToken(ctx context.Context, config *clientcredentials.Config, secret string) (_ *oauth2.Token, answered bool, _ error) {
	token, err := config.Token(ctx)
	if err != nil {
		_, unanswered := errors.AsType[*url.Error](err)
		return nil, !unanswered && ctx.Err() == nil, tokenError(ctx, err, secret)
	}
	if !tokenPattern.MatchString(token.AccessToken) {
		return nil, true, &fault.Error{Class: fault.Transient, Op: opLogin, Err: errors.New("the answer has no token that can be sent")}
	}
	return token, true, nil
}

// useUntil is when another token has to be fetched; the zero time if the token has no end.
func useUntil(token *oauth2.Token, now time.Time) time.Time {
	if token.Expiry.IsZero() {
		return token.Expiry
	}
	return token.Expiry.Add(-min(tokenMargin, token.Expiry.Sub(now)/5))
}

// wrongCredentials are the errors of OAuth2 (RFC 6749, 5.2 and 4.1.2.1) that only a change of the Secret can fix.
var wrongCredentials = []string{
	"invalid_client", "invalid_grant", "invalid_request", "invalid_scope", "unauthorized_client", "unsupported_grant_type",
	"access_denied",
}

var errorCodePattern = regexp.MustCompile(`^[a-z_]{1,40}$`)

// tokenError classifies why there is no token. It repeats nothing of the answer but the error code.
func tokenError(ctx context.Context, err error, secret string) error {
	answer, answered := errors.AsType[*oauth2.RetrieveError](err)
	if !answered {
		if _, sent := errors.AsType[*url.Error](err); !sent {
			err = errors.New("the answer isn't one of OAuth2 (is tokenURL right?)")
		}
		return transportFailure(ctx, request{op: opLogin}, secret, err).err
	}
	status := answer.Response.StatusCode
	text := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	if errorCodePattern.MatchString(answer.ErrorCode) {
		text += ": " + answer.ErrorCode
	}
	class := fault.Transient
	switch {
	case slices.Contains(wrongCredentials, answer.ErrorCode),
		answer.ErrorCode == "" && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		class = fault.Credentials
		text += "; correct the keys tokenURL, clientID, clientSecret and scopes"
		if secret != "" {
			text += " in secret " + secret
		}
	case status < 500 && status != http.StatusTooManyRequests:
		text += " (is tokenURL right?)"
	}
	return &fault.Error{Class: class, Op: opLogin, Err: errors.New(text)}
}
