package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/bedplate/bedplate/internal/fault"
)

// tokenMargin is how long before its end a token isn't used any more, or a fifth of its life if that is shorter.
const tokenMargin = 30 * time.Second

// OAuth2 is a login with the client credentials of OAuth2 (RFC 6749, 4.4).
type OAuth2 struct {
	// TokenURL is where tokens are fetched: https, and what the limits' Egress allows.
	TokenURL string
	ClientID string
	// ClientSecret is never printed.
	ClientSecret string `json:"-"`
	Scopes       []string
}

// String prints the login without the secret.
func (o OAuth2) String() string { return fmt.Sprintf("%s at %s", o.ClientID, o.TokenURL) }

// GoString prints the login without the secret.
func (o OAuth2) GoString() string { return o.String() }

// Login with the credentials, which are those in a Secret, its namespace/name.
func (o OAuth2) Login(secret string) Login {
	config := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL, Scopes: o.Scopes,
	}
	fetch := func(ctx context.Context, sender *http.Client) (string, time.Time, error) {
		token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, sender))
		if err != nil {
			return "", time.Time{}, tokenError(err, secret)
		}
		if !tokenPattern.MatchString(token.AccessToken) {
			err := errors.New("the answer has no token that can be sent")
			return "", time.Time{}, &fault.Error{Class: fault.Transient, Op: opLogin, Err: err}
		}
		return "Bearer " + token.AccessToken, useUntil(token, time.Now()), nil
	}
	login := Fetched("OAuth2 client", o.TokenURL, fetch, o.ClientSecret)
	if o.ClientID == "" || o.ClientSecret == "" || slices.Contains(o.Scopes, "") {
		login.invalid = errors.New("clientID, clientSecret or a scope is empty")
	}
	return login
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
func tokenError(err error, secret string) error {
	answer, answered := errors.AsType[*oauth2.RetrieveError](err)
	if !answered {
		if _, sent := errors.AsType[*url.Error](err); !sent {
			err = errors.New("the answer isn't one of OAuth2 (is " + KeyTokenURL + " right?)")
		}
		return err
	}
	status := answer.Response.StatusCode
	text := StatusText(status)
	if errorCodePattern.MatchString(answer.ErrorCode) {
		text += ": " + answer.ErrorCode
	}
	class := fault.Transient
	switch {
	case slices.Contains(wrongCredentials, answer.ErrorCode),
		answer.ErrorCode == "" && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		class = fault.Credentials
		text += fmt.Sprintf("; correct the keys %s, %s, %s and %s", KeyTokenURL, KeyClientID, KeyClientSecret, KeyScopes)
		if secret != "" {
			text += " in secret " + secret
		}
	case status < 500 && status != http.StatusTooManyRequests:
		text += " (is " + KeyTokenURL + " right?)"
	}
	return &fault.Error{Class: class, Op: opLogin, Err: errors.New(text)}
}
