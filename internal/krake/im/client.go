// Package im calls the REST API of GRyCAP's Infrastructure Manager (IM); no other package does. Every error is a *fault.Error, and no
// error, no line of a log has a credential in it.
//
// IM gets the credentials with each call: who calls, and those of the clouds that it is to work on. So a Client is of one provider and
// one cloud. What it has in common with clients of other services is in package httpclient.
//
// A 404 counts as fault.NotFound only if it is proven: IM says so twice, in its own words, and lists infrastructures in between. IM keeps
// no users: another password is another user, who sees nothing in a list, and gets 403 for what is known by its ID (OfAnother).
package im

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// Client is safe for concurrent use. One is enough for all calls with the same credentials.
type Client struct {
	api     *httpclient.Client
	http    *http.Client
	hidden  redactor
	user    string
	secret  string
	account credentials.Account
}

// New validates the configuration and returns a client. It makes no call. Its errors don't contain a secret.
func New(config Config) (*Client, error) {
	c := &Client{user: userOf(config.Login), secret: config.Secret, account: config.account()}
	header, err := config.header()
	if err == nil { // it is bounded, and so are the forms of what is in it
		c.hidden = newRedactor(config.all())
		c.api, err = httpclient.New(config.frame(header, c.hidden))
	}
	if err != nil {
		return nil, fmt.Errorf("configure client of IM: %w", err)
	}
	c.http = c.api.HTTP()
	return c, nil
}

// String names the server and not the login.
func (c *Client) String() string { return "IM at " + c.api.Base().String() }

// Account of the client. It changes when the login does.
func (c *Client) Account() credentials.Account { return c.account }

// User is the name of who logs in, the same for all of the user's passwords: to IM, each makes another user. With a token it is whom the
// token is of, by its subject and its issuer: to IM, all of these are one user.
func (c *Client) User() string { return c.user }

// Secret is the namespace/name of the Secret that the login is from. Empty if there is none.
func (c *Client) Secret() string { return c.secret }

// Namespace is that of the Secret: limits are per namespace. Empty if there is none.
func (c *Client) Namespace() string { return c.api.Namespace() }

// Endpoint is the server in canonical form, the same for all users.
func (c *Client) Endpoint() string { return c.api.Endpoint() }

// Silent is the error if the circuits know that IM doesn't answer, so that callers shouldn't wait for it now; otherwise nil.
func (c *Client) Silent() error { return c.api.Silent() }

// Answers is an error if IM is known not to answer. Of many callers one at a time finds out whether it does again.
func (c *Client) Answers(ctx context.Context) error {
	if c.Silent() == nil {
		return nil
	}
	_, err := c.Version(ctx)
	return err
}

// CloseIdleConnections is for the end of the client.
func (c *Client) CloseIdleConnections() { c.api.CloseIdleConnections() }

// request is one call of the API.
type request struct {
	// op names it in errors, metrics and spans, such as "create infrastructure".
	op     string
	method string
	// path below the endpoint.
	path  []string
	query url.Values
	// template in TOSCA, of a call that has one.
	template string
	// create means that no worker waits for it.
	create bool
	// harmless means that it changes nothing, whatever its method.
	harmless bool
	// read an answer; default that only its success matters.
	read func(*bounds.Body) error
}

// infrastructure is a call for one that has an ID.
func infrastructure(op, method, id string, below ...string) request {
	return request{op: op, method: method, path: append([]string{infrastructures, id}, below...)}
}

const infrastructures = "infrastructures"

// idText is that of IM's IDs, which are UUIDs. It keeps what isn't an ID from being another path.
const idText = `[A-Za-z0-9][A-Za-z0-9_-]{0,127}`

var (
	infrastructureID  = regexp.MustCompile("^" + idText + "$")
	infrastructureURL = regexp.MustCompile("^https?://.*/" + infrastructures + "/(" + idText + ")$")
)

// ask makes a call for one infrastructure: see the package comment.
func (c *Client) ask(ctx context.Context, r request) error {
	if !infrastructureID.MatchString(r.path[1]) {
		return &fault.Error{Class: fault.Invalid, Op: r.op, Err: fmt.Errorf("%q is not the ID of an infrastructure", r.path[1])}
	}
	call := func(ctx context.Context) error { return c.send(ctx, r) }
	control := func(ctx context.Context) error {
		_, err := c.List(ctx, "")
		return err
	}
	return httpclient.Proven(ctx, call, control, endpointKey)
}

// do makes a call for none in particular, whose 404 is about the path.
func (c *Client) do(ctx context.Context, r request) error {
	return httpclient.NotProven(c.send(ctx, r), endpointKey)
}

func (c *Client) send(ctx context.Context, r request) error {
	if r.read == nil {
		r.read = func(b *bounds.Body) error { return b.Decode(nil) }
	}
	call := &httpclient.Call{Op: r.op, Query: r.harmless, Unattended: r.create, Read: r.read, Classify: c.hidden.classify(r.template != "")}
	return c.api.Do(ctx, call, func(ctx context.Context) error {
		to := c.api.Base().JoinPath(r.path...)
		to.RawQuery = r.query.Encode()
		sent, err := http.NewRequestWithContext(ctx, r.method, to.String(), body(r.template))
		if err != nil {
			return err
		}
		sent.Header.Set("Accept", "application/json")
		if r.template != "" {
			sent.Header.Set("Content-Type", "text/yaml")
		}
		resp, err := c.http.Do(sent)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

func body(template string) io.Reader {
	if template == "" {
		return http.NoBody
	}
	return strings.NewReader(template)
}

// errNoTemplate is what IM would take for another format.
var errNoTemplate = errors.New("the template is empty")
