// Package client calls the NVIDIA BMM REST API; no other package does. Every error is a *fault.Error.
//
// Methods that read one object take the ID of its site as well. A server answers 404 to everything under a wrong
// path, before it checks the token, so a 404 counts as fault.NotFound only if the site can still be seen.
//
// What it has in common with clients of other services is in package httpclient.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// Client is safe for concurrent use. One is enough for all calls with the same credentials.
type Client struct {
	api  *httpclient.Client
	http *http.Client
	// org is the URL of the organisation: the API's name and then the path are appended.
	org *url.URL
	// name of the organisation.
	name string
	// secret is the name of the Secret.
	secret  string
	account credentials.Account
	// letIn: the API has answered a call of the organisation.
	letIn atomic.Bool
}

// New validates the configuration and returns a client. It makes no call. Its errors don't contain a secret.
func New(config Config) (*Client, error) {
	c, err := build(config)
	if err != nil {
		return nil, fmt.Errorf("configure BMM client: %w", err)
	}
	return c, nil
}

func build(config Config) (*Client, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Client{name: config.Org, secret: config.Secret, account: config.account()}
	frame := config.frame()
	frame.Layer = c.dialect(config.APIName)
	api, err := httpclient.New(frame)
	if err != nil {
		return nil, err
	}
	c.api, c.http = api, api.HTTP()
	c.org = api.Base().JoinPath("v2", "org", url.PathEscape(config.Org))
	return c, nil
}

// String names the server and not the login.
func (c *Client) String() string { return "BMM API at " + c.org.String() }

// Endpoint is the server in canonical form, the same for all organisations.
func (c *Client) Endpoint() string { return c.api.Endpoint() }

// Namespace is that of the Secret: limits are per namespace. Empty if there is none.
func (c *Client) Namespace() string { return c.api.Namespace() }

// Secret is the namespace/name of the Secret that the login is from. Empty if there is none.
func (c *Client) Secret() string { return c.secret }

// Silent is the error if the circuits know that the API doesn't answer, so that callers shouldn't wait for it now;
// otherwise nil.
func (c *Client) Silent() error { return c.api.Silent() }

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
	// create means that no worker waits for it.
	create bool
	// rules of its own, tried before the common ones.
	rules []rule
	// site is that of a change of one object.
	site string
	// id is that of the requested object; empty if it isn't one certain object.
	id   string
	send send
}

// call for the frame, whose answer is decoded into out unless that is nil.
func (r request) call(out any) *httpclient.Call {
	return &httpclient.Call{
		Op: r.op, Site: r.site, Unattended: r.create, Classify: classify(r.rules),
		Read: func(b *bounds.Body) error { return decode(b, out, r.id) },
	}
}

// do makes one call, within its timeout, and decodes the answer into out unless that is nil.
func (c *Client) do(ctx context.Context, r request, out any) error {
	return c.api.Do(ctx, r.call(out), func(ctx context.Context) error {
		_, err := c.send(ctx, r.send)
		return err
	})
}

// send one request of a call, and return the header of the answer.
func (c *Client) send(ctx context.Context, send send) (http.Header, error) {
	api := gen.Client{Server: c.org.String() + "/", Client: c.http, RequestEditors: []gen.RequestEditorFn{acceptJSON}}
	resp, err := send(ctx, &api)
	if err != nil {
		return nil, err
	}
	c.letIn.Store(true)
	return resp.Header, resp.Body.Close()
}

func acceptJSON(_ context.Context, r *http.Request) error {
	r.Header.Set("Accept", "application/json")
	return nil
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

// ask makes a call for one object of a site. See the package comment about the site: it is read through the same client, for each 404 and
// after it, since an earlier success says nothing about a server that was replaced in between. 404s are rare, so this costs next to nothing.
func (c *Client) ask(ctx context.Context, siteID string, r request, out any) error {
	return httpclient.Proven(ctx, func(ctx context.Context) error { return c.do(ctx, r, out) }, c.control(siteID), checkPath)
}

// checkPath is what a user should look at after a 404 that proves nothing.
const checkPath = "endpoint, orgName and apiName"

// control is the control call of a site.
func (c *Client) control(siteID string) func(context.Context) error {
	return func(ctx context.Context) error {
		if siteID == "" {
			return errNoSite
		}
		return c.do(ctx, getSite(siteID), &Site{})
	}
}

var errNoSite = errors.New("no site is known")

// create makes a call that creates one object. With the ID of the site, NotFound of what the request refers to
// becomes Invalid; the new object itself can't be missing.
func create[T any](ctx context.Context, c *Client, op, siteID string, call send) (*T, error) {
	out := new(T)
	err := c.do(ctx, request{op: op, create: true, send: call}, out)
	if err == nil {
		return out, nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Class == fault.NotFound {
		if c.control(siteID)(ctx) != nil {
			return nil, notProven(err)
		}
		err = &fault.Error{Class: fault.Invalid, Op: f.Op, Err: f.Err}
	}
	return nil, err
}

// update makes a call that changes one object of a site.
func update[T any](ctx context.Context, c *Client, op, siteID, id string, call send) (*T, error) {
	out := new(T)
	if err := c.ask(ctx, siteID, request{op: op, site: siteID, id: id, send: call}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// remove makes a call that deletes one object of a site.
func (c *Client) remove(ctx context.Context, op, siteID string, call send) error {
	return c.ask(ctx, siteID, request{op: op, site: siteID, send: call}, nil)
}

// notProven is an error of a call without a control call.
func notProven(err error) error { return httpclient.NotProven(err, checkPath) }

// CloseIdleConnections is for the end of the client.
func (c *Client) CloseIdleConnections() { c.api.CloseIdleConnections() }
