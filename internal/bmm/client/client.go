// Package client calls the NVIDIA BMM REST API; no other package does. Every error is a *fault.Error.
//
// Methods that read one object take the ID of its site as well. A server answers 404 to everything under a wrong
// path, before it checks the token, so a 404 counts as fault.NotFound only if the site can still be seen.
//
// Reads are repeated after passing faults, twice at most; writes only if the server certainly didn't start them. All calls
// of a Client share its login, its rate limit and what it has learned about the server.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

// Client is safe for concurrent use. One is enough for all calls with the same credentials.
type Client struct {
	sender *http.Client
	// org is the URL of the organisation: the API's name and then the path are appended.
	org *url.URL
	// name of the organisation.
	name    string
	timeout time.Duration
	// secret is the name of the Secret.
	secret  string
	account credentials.Account
	login   login
	// server is the key of the API in the circuits. The path is part of it: what one tenant writes there must not affect
	// others.
	server   string
	circuits *circuit.Circuits
	dialect  dialect
	pace     *pace
	refusal  refusal
	// letIn: the API has answered a call of the organisation.
	letIn atomic.Bool
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
		sender:   sender,
		org:      org,
		name:     config.Org,
		timeout:  config.Timeout,
		secret:   config.Secret,
		account:  config.account(),
		login:    config.login(sender),
		circuits: config.Circuits,
		pace:     newPace(config.QPS, config.Burst),
		refusal:  refusal{pause: config.RefusalPause},
	}
	c.server = "the BMM API at " + c.Endpoint() + strings.TrimSuffix(org.JoinPath("../../..").EscapedPath(), "/")
	c.dialect = newDialect(config.APIName, c.detect)
	return c, nil
}

// String names the server and not the login.
func (c *Client) String() string { return "BMM API at " + c.org.String() }

// Endpoint is the server in canonical form, the same for all organisations.
func (c *Client) Endpoint() string { return c.org.Scheme + "://" + c.org.Host }

// Namespace is that of the Secret: limits are per namespace. Empty if there is none.
func (c *Client) Namespace() string { return namespaceOf(c.secret) }

// Secret is the namespace/name of the Secret that the login is from. Empty if there is none.
func (c *Client) Secret() string { return c.secret }

// Silent is the error if the circuits know that the API doesn't answer, so that callers shouldn't wait for it now;
// otherwise nil.
func (c *Client) Silent() error { return c.circuits.State(c.server) }

// Org is the organisation of the tenant.
func (c *Client) Org() string { return c.name }

// Tenancy names whose creates the service blocks while it works on one of this client's: those of the organisation, once the
// API has accepted the client's login. Before that, the name in the Secret proves nothing.
func (c *Client) Tenancy() string {
	if c.letIn.Load() {
		return c.name
	}
	return c.name + ", as Secret " + c.secret + " says"
}

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
	// write means that repeating it isn't safe; create means that no worker waits for it.
	write, create bool
	// rules of its own, tried before the common ones.
	rules []rule
	// site is that of a change of one object.
	site string
	// id is that of the requested object; empty if it isn't one certain object.
	id string
	// list is the one that it reads a page of; nil for other calls.
	list *visit
	send send
}

// visit is one pass for all pages of a list: a worker waits for all of them.
type visit struct{ pass *circuit.Pass }

// namespaceOf a Secret, by its namespace/name.
func namespaceOf(secret string) string {
	namespace, _, _ := strings.Cut(secret, "/")
	return namespace
}

// do makes one call, within its timeout, and decodes the answer into out unless that is nil.
func (c *Client) do(ctx context.Context, r request, out any) (_ http.Header, err error) {
	if err := c.refusal.recent(); err != nil {
		return nil, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.timeoutOf(r))
	defer cancel()
	// Before the call is let through: a login that hangs must not keep others from the API.
	token, err := c.login.token(ctx)
	if err != nil {
		if fault.ClassOf(err) == fault.Credentials {
			err = c.refusal.note(began, err, true)
		}
		return nil, err
	}
	if r.list != nil && r.list.pass != nil {
		c.circuits.Resume(r.list.pass)
		return c.call(ctx, began, token, r, out)
	}
	pass, err := c.circuits.Enter(ctx, circuit.Call{
		System: system, Endpoint: c.server, Op: r.op, Tenant: c.Namespace(), Change: r.write && !r.create, Site: r.site, Unattended: r.create,
	})
	if err != nil {
		return nil, err
	}
	if r.list != nil {
		r.list.pass = pass
	} else {
		defer func() { c.circuits.Leave(pass, err) }()
	}
	return c.call(ctx, began, token, r, out)
}

// call makes a call that was let through.
func (c *Client) call(ctx context.Context, began time.Time, token string, r request, out any) (http.Header, error) {
	apiName, err := c.dialect.name(ctx, token)
	if err != nil {
		if fault.ClassOf(err) == fault.Credentials {
			err = c.refusal.note(began, err, true)
		}
		return nil, err
	}
	header, failed := c.try(ctx, apiName, token, r, out)
	switch {
	case failed == nil:
		c.letIn.Store(true)
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

// timeoutOf a call. A write may take as long as its site does.
func (c *Client) timeoutOf(r request) time.Duration {
	if r.write {
		return c.timeout
	}
	return min(c.timeout, readTimeout)
}

// get makes a call for one object of a site. See the package comment about the site.
func get[T any](
	ctx context.Context, c *Client, op, siteID, id string,
	call func(*gen.Client, context.Context, gen.ID, ...gen.RequestEditorFn) (*http.Response, error),
) (*T, error) {
	out := new(T)
	if err := c.ask(ctx, siteID, request{op: op, id: id, send: with(call, id)}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// ask makes a call for one object of a site. The object counts as absent if the server says so twice, and shows the site
// in between. Once isn't enough: the server may recover just before the site is read.
func (c *Client) ask(ctx context.Context, siteID string, r request, out any) error {
	if r.write {
		r.site = siteID
	}
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
	_, err := c.do(ctx, request{op: op, write: true, create: true, send: call}, out)
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
func update[T any](ctx context.Context, c *Client, op, siteID, id string, call send) (*T, error) {
	out := new(T)
	if err := c.ask(ctx, siteID, request{op: op, write: true, id: id, send: call}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// remove makes a call that deletes one object of a site.
func (c *Client) remove(ctx context.Context, op, siteID string, call send) error {
	return c.ask(ctx, siteID, request{op: op, write: true, send: call}, nil)
}

// proveAbsence leaves a NotFound as it is if the control call succeeds: GET of the site, through the same client. It is
// repeated for each 404, and after it: an earlier success says nothing about a server that was replaced in between.
// 404s are rare, so this costs next to nothing.
func (c *Client) proveAbsence(ctx context.Context, siteID string, err error) error {
	if !fault.IsNotFound(err) {
		return err
	}
	if siteID == "" {
		return notProven(err)
	}
	if _, controlErr := c.do(ctx, getSite(siteID), &Site{}); controlErr != nil {
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

// CloseIdleConnections is for the end of the client.
func (c *Client) CloseIdleConnections() { c.sender.CloseIdleConnections() }
