package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
)

const (
	opLogin = "log in to IAM"
	// tokenMargin is how long before its end a token isn't used any more, or a fifth of its life if that is shorter.
	tokenMargin = time.Minute
	grantType   = "urn:ibm:params:oauth:grant-type:apikey"
)

var (
	apiKeyPattern = regexp.MustCompile(`^[\x21-\x7e]+$`)
	iamCode       = regexp.MustCompile(`^BX[A-Z]{3}[0-9]{4}[A-Z]$`)
)

// login is that of IAM, with the API key.
func (c *Client) login() httpclient.Login {
	key, iam := c.config.APIKey, strings.TrimSuffix(c.config.endpoint(place{service: ServiceIAM}), "/")+"/identity/token"
	login := httpclient.Fetched("API key", iam, func(ctx context.Context, sender *http.Client) (string, time.Time, error) {
		form := url.Values{"grant_type": {grantType}, "apikey": {key}, "response_type": {"cloud_iam"}}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, iam, strings.NewReader(form.Encode()))
		if err != nil {
			return "", time.Time{}, err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", "application/json")
		began := time.Now()
		resp, err := sender.Do(r)
		if err != nil {
			return "", time.Time{}, err
		}
		defer func() { _ = resp.Body.Close() }()
		token, life, err := c.readToken(resp)
		if err != nil {
			return "", time.Time{}, err
		}
		return "Bearer " + token, began.Add(life - min(tokenMargin, life/5)), nil
	}, key)
	login.Key = ServiceIAM.secretKey()
	return login
}

// tokenAnswer is what IAM answers, either way.
type tokenAnswer struct {
	Token     string `json:"access_token"`
	ExpiresIn int64  `json:"expires_in"`

	ErrorCode    string `json:"errorCode"`
	ErrorMessage string `json:"errorMessage"`
}

// maxLife bounds how long a token is used, whatever IAM says.
const maxLife = 24 * time.Hour

// readToken returns a token and its life, and remembers whose it is.
func (c *Client) readToken(resp *http.Response) (string, time.Duration, error) {
	failed := func(text string) (string, time.Duration, error) {
		return "", 0, &fault.Error{Class: fault.Transient, Op: opLogin, Err: errors.New(text)}
	}
	var answer tokenAnswer
	notIAM := json.NewDecoder(resp.Body).Decode(&answer) != nil
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", 0, c.refused(resp.StatusCode, answer)
	case notIAM:
		return failed("the answer isn't one of IAM (is " + ServiceIAM.secretKey() + " right?)")
	case !apiKeyPattern.MatchString(answer.Token) || answer.ExpiresIn <= 0:
		return failed("the answer has no token that can be used")
	}
	account := accountOf(answer.Token)
	if account == "" {
		return failed("the token names no account")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accountID = account
	return answer.Token, min(time.Duration(min(answer.ExpiresIn, int64(maxLife/time.Second)))*time.Second, maxLife), nil
}

// refused classifies why there is no token. It repeats nothing of the answer but the code.
func (c *Client) refused(status int, answer tokenAnswer) error {
	text := httpclient.StatusText(status)
	if iamCode.MatchString(answer.ErrorCode) {
		text += ": " + answer.ErrorCode + cmp.Or(meanings[answer.ErrorCode], "")
	}
	class := fault.Transient
	ours := answer.ErrorCode != "" && status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden
	switch {
	case ours:
		class = fault.Credentials
		if c.config.Secret != "" {
			text += "; correct " + SecretKeyAPIKey + " in secret " + c.config.Secret
		}
	case status < 500 && status != http.StatusTooManyRequests:
		text += " (is " + ServiceIAM.secretKey() + " right?)"
	}
	return &fault.Error{Class: class, Op: opLogin, Err: errors.New(text)}
}

// meanings of some codes of IAM.
var meanings = map[string]string{
	"BXNIM0415E": " (the API key doesn't exist)",
	"BXNIM0462E": " (the API key is disabled)",
}

// accountOf a token, which is a JWT; empty if it names none.
func accountOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ Account struct{ BSS string } }
	if err != nil || json.NewDecoder(bytes.NewReader(text)).Decode(&claims) != nil || !accountPattern.MatchString(claims.Account.BSS) {
		return ""
	}
	return claims.Account.BSS
}

// accountPattern is what can be in a CRN.
var accountPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
