// Package client speaks to the NVIDIA BMM REST API; nothing else does. Every error is a *fault.Error.
//
// Methods that ask for one object take the ID of its site as well. A server answers 404 to everything under a wrong
// path, before it looks at the token, so a 404 counts as fault.NotFound only if the site can still be seen.
//
// Reads are repeated after passing faults, twice at most; writes only if the server certainly didn't begin them. All calls
// of a Client share its login, its rate limit and what it has learned about the server.
package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/fault"
)

// Client is safe for concurrent use. One is enough for all calls with the same credentials.
type Client struct {
	sender *http.Client
	// org is what the API's name and then all paths follow.
	org *url.URL
	// name of the organisation.
	name    string
	timeout time.Duration
	// secret is the name of the Secret.
	secret  string
	account Account
	login   login
	dialect dialect
	pace    *pace
	refusal refusal
}

// New validates the configuration and returns a client. It makes no call. Its errors don't contain a secret.
func New(config Config) (*Client, error) {
	c, err := build(config.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("configure BMM client: %w", err)
	}
	return c, nil
}

func build(config Config) (*Client, error) {
	org, err := config.validate()
	if err != nil {
		return nil, err
	}
	sender, err := config.sender()
	if err != nil {
		return nil, err
	}
	c := &Client{
		sender:  sender,
		org:     org,
		name:    config.Org,
		timeout: config.Timeout,
		secret:  config.Secret,
		account: config.account(),
		login:   config.login(sender),
		pace:    newPace(config.QPS, config.Burst),
		refusal: refusal{pause: config.RefusalPause},
	}
	c.dialect = newDialect(config.APIName, c.detect)
	return c, nil
}

// String names the server and not the login.
func (c *Client) String() string { return "BMM API at " + c.org.String() }

// Endpoint is the server, whichever organisation asks it, and however that has written it.
func (c *Client) Endpoint() string {
	host := strings.TrimSuffix(strings.ToLower(c.org.Hostname()), ".")
	if port := c.org.Port(); port != "" && (c.org.Scheme != "https" || port != "443") {
		host = net.JoinHostPort(host, port)
	}
	return c.org.Scheme + "://" + host
}

// Org is the organisation of the tenant.
func (c *Client) Org() string { return c.name }

// send is one generated call.
type send func(context.Context, *gen.Client) (*http.Response, error)

// plain is a generated call without arguments.
func plain(call func(*gen.Client, context.Context, ...gen.RequestEditorFn) (*http.Response, error)) send {
	return func(ctx context.Context, api *gen.Client) (*http.Response, error) { return call(api, ctx) }
}

// with is a generated call with one argument: an ID, a body, or the parameters of a list.
func with[A any](call func(*gen.Client, context.Context, A, ...gen.RequestEditorFn) (*http.Response, error), a A) send {
	return func(ctx context.Context, api *gen.Client) (*http.Response, error) { return call(api, ctx, a) }
}

// with2 is a generated call with two arguments: an ID and a body.
func with2[A, B any](
	call func(*gen.Client, context.Context, A, B, ...gen.RequestEditorFn) (*http.Response, error), a A, b B,
) send {
	return func(ctx context.Context, api *gen.Client) (*http.Response, error) { return call(api, ctx, a, b) }
}

// request is one call of the API, whatever number of HTTP requests it takes.
type request struct {
	// op names it in errors, metrics and spans, such as "create VPC".
	op string
	// write means that repeating it isn't safe.
	write bool
	send  send
}

// do makes one call, within the timeout, and decodes the answer into out unless that is nil.
func (c *Client) do(ctx context.Context, r request, out any) (http.Header, error) {
	if err := c.refusal.recent(); err != nil {
		return nil, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	apiName, err := c.dialect.name(ctx)
	if err != nil {
		if fault.ClassOf(err) == fault.Credentials {
			err = c.refusal.note(began, err, true)
		}
		return nil, err
	}
	header, failed := c.try(ctx, apiName, r, out)
	switch {
	case failed == nil:
		return header, nil
	case failed.refused:
		noAnswer := failed.status == 0 // from the API: the login itself has refused
		return nil, c.refusal.note(began, failed.err, noAnswer)
	}
	if failed.wrongPath {
		c.dialect.forget(apiName)
	}
	return nil, failed.err
}

// get makes a call for one object of a site. See the package comment about the site.
func get[T any](ctx context.Context, c *Client, op, siteID string, call send) (*T, error) {
	out := new(T)
	if err := c.ask(ctx, siteID, request{op: op, send: call}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// ask makes a call for one object of a site. That there is no such object is believed where the server says so twice, and
// shows the site in between. Once isn't enough: it may come back to its senses just before it is asked for the site.
func (c *Client) ask(ctx context.Context, siteID string, r request, out any) error {
	_, err := c.do(ctx, r, out)
	if err = c.proveAbsence(ctx, siteID, err); fault.IsNotFound(err) {
		_, err = c.do(ctx, r, out)
	}
	return err
}

// create makes a call that creates one object. With the ID of the site, NotFound of what the request refers to
// becomes Invalid; the new object itself can't be missing.
func create[T any](ctx context.Context, c *Client, op, siteID string, call send) (*T, error) {
	out := new(T)
	_, err := c.do(ctx, request{op: op, write: true, send: call}, out)
	if err == nil {
		return out, nil
	}
	err = c.proveAbsence(ctx, siteID, err)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Class == fault.NotFound {
		err = &fault.Error{Class: fault.Invalid, Op: f.Op, Err: f.Err}
	}
	return nil, err
}

// update makes a call that changes one object of a site.
func update[T any](ctx context.Context, c *Client, op, siteID string, call send) (*T, error) {
	out := new(T)
	if err := c.ask(ctx, siteID, request{op: op, write: true, send: call}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// remove makes a call that deletes one object of a site.
func (c *Client) remove(ctx context.Context, op, siteID string, call send) error {
	return c.ask(ctx, siteID, request{op: op, write: true, send: call}, nil)
}

// proveAbsence leaves a NotFound as it is if the control call succeeds: GET of the site, through the same client. It is
// made anew for each 404, and after it: an earlier success says nothing about a server that was switched in between.
// 404s are rare, so this costs next to nothing.
func (c *Client) proveAbsence(ctx context.Context, siteID string, err error) error {
	if !fault.IsNotFound(err) {
		return err
	}
	if siteID == "" {
		return notProven(err)
	}
	control := request{op: "get site", send: with((*gen.Client).GetSite, siteID)}
	if _, controlErr := c.do(ctx, control, &Site{}); controlErr != nil {
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

// hide takes secrets out of a text.
func hide(text string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}
