// Package client speaks to the NVIDIA BMM REST API; nothing else does. Every error is a *fault.Error.
//
// Methods that ask for one object take the ID of its site as well. A server answers 404 to everything under a wrong
// path, before it looks at the token, so a 404 counts as fault.NotFound only if the site can still be seen.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/fault"
)

// Client is safe for concurrent use. One is enough for all calls with the same credentials.
type Client struct {
	api     *gen.Client
	timeout time.Duration
	source  string
	refusal refusal
	// redact removes the token from a text. The client keeps the token in closures only, so that printing a Client
	// can't show it.
	redact func(string) string
}

// New validates the configuration and returns a client. It makes no call. Its errors don't contain the token.
func New(config Config) (*Client, error) {
	if config.APIName == "" {
		config.APIName = DefaultAPIName
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	base, err := config.baseURL()
	if err != nil {
		return nil, fmt.Errorf("configure BMM client: %w", err)
	}
	sender := http.Client{}
	if config.HTTP != nil {
		sender = *config.HTTP
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	token := config.Token
	api, err := gen.NewClient(base,
		gen.WithHTTPClient(&sender),
		gen.WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Accept", "application/json")
			return nil
		}))
	if err != nil {
		return nil, fmt.Errorf("configure BMM client: %w", err)
	}
	return &Client{
		api:     api,
		timeout: config.Timeout,
		source:  config.Source,
		refusal: refusal{pause: config.RefusalPause},
		redact:  func(text string) string { return strings.ReplaceAll(text, token, "[redacted]") },
	}, nil
}

// send is one generated call.
type send func(context.Context) (*http.Response, error)

// do makes one call, within the timeout, and decodes the answer into out unless that is nil.
func (c *Client) do(ctx context.Context, op string, call send, out any) (http.Header, error) {
	if err := c.refusal.recent(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	resp, err := call(ctx)
	if err != nil {
		return nil, transportError(ctx, op, err)
	}
	defer func() { _ = resp.Body.Close() }() // all that matters has been read
	body, err := readBody(resp)
	if err != nil {
		return nil, &fault.Error{Class: fault.Transient, Op: op, Ambiguous: isWrite(resp.Request), Err: err}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		err := c.answerError(op, resp, body)
		c.refusal.note(resp.StatusCode, err)
		return nil, err
	}
	if err := decode(body, out); err != nil {
		// A write that was answered with 2xx has happened, whatever the answer says.
		return nil, &fault.Error{Class: fault.Transient, Op: op, Ambiguous: isWrite(resp.Request), Err: err}
	}
	return resp.Header, nil
}

// get makes a call for one object of a site. See the package comment about the site.
func get[T any](ctx context.Context, c *Client, op, siteID string, call send) (*T, error) {
	out := new(T)
	if _, err := c.do(ctx, op, call, out); err != nil {
		return nil, c.proveAbsence(ctx, siteID, err)
	}
	return out, nil
}

// create makes a call that creates one object.
func create[T any](ctx context.Context, c *Client, op string, call send) (*T, error) {
	out := new(T)
	if _, err := c.do(ctx, op, call, out); err != nil {
		return nil, notProven(err)
	}
	return out, nil
}

// remove makes a call that deletes one object of a site.
func (c *Client) remove(ctx context.Context, op, siteID string, call send) error {
	_, err := c.do(ctx, op, call, nil)
	return c.proveAbsence(ctx, siteID, err)
}

// proveAbsence leaves a NotFound as it is if the control call succeeds: GET of the site, through the same client.
func (c *Client) proveAbsence(ctx context.Context, siteID string, err error) error {
	if !fault.IsNotFound(err) {
		return err
	}
	if siteID == "" {
		return notProven(err)
	}
	control := func(ctx context.Context) (*http.Response, error) { return c.api.GetSite(ctx, siteID) }
	if _, controlErr := c.do(ctx, "get site", control, &Site{}); controlErr != nil {
		return notProven(err)
	}
	return err
}

// notProven turns a NotFound that proves nothing into a Transient error; other errors stay as they are.
func notProven(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Class != fault.NotFound {
		return err
	}
	return &fault.Error{Class: fault.Transient, Op: f.Op, Err: fmt.Errorf(
		"%w (this proves no absence: are endpoint, orgName and apiName right?)", f.Err)}
}
