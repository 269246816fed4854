// Package httpclient is what clients of outside services have in common: they differ in their endpoints, in how they log in,
// and in what their answers mean.
//
// A Client is an http.RoundTripper, for an http.Client of the system's own or for that of an SDK. It consists of layers, each
// an http.RoundTripper around the next one, see New. Client.Do describes a call to the layers:
//
//	err := api.Do(ctx, &httpclient.Call{Op: "get server"}, func(ctx context.Context) (err error) {
//		server, err = sdk.GetServer(ctx, id) // with api.HTTP() as its http.Client
//		return err
//	})
//
// An answer that isn't a success is an error of http.Client.Do, with a *fault.Error inside. Client.Do finds it, also where an SDK
// has made an error of its own of that. An SDK must not repeat requests itself, and calls no server but that of the endpoint.
//
// Reads are repeated after passing faults, twice at most; writes only if the server certainly didn't start them. All calls of a
// Client share its login, its rate limit and what it has learned about the server.
package httpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

// Keys of Secrets that all systems have in common: errors name them.
const (
	KeyEndpoint     = "endpoint"
	KeyCA           = "ca.crt"
	KeyTokenURL     = "tokenURL"
	KeyClientID     = "clientID"
	KeyClientSecret = "clientSecret"
	KeyScopes       = "scopes"
)

// Config is an API and its login.
type Config struct {
	// System is the API's short name in metrics and spans, such as "bmm".
	System string
	// Name is that in messages, such as "the BMM API".
	Name string
	// Endpoint is the base URL: https, and what Egress allows.
	Endpoint string
	// EndpointKey is that of the endpoint in the Secret; default KeyEndpoint.
	EndpointKey string
	// Secret is the namespace/name of the Secret that all this comes from. Errors about the login name it, metrics and spans
	// carry it, and limits are per namespace.
	Secret string
	Login  Login
	// LoginOf is a client whose login this one shares, in place of Login: several servers accept it. Optional.
	LoginOf *Client
	// Classify says what an answer means that isn't a success.
	Classify func(Answer) Meaning
	// CABundle is trusted beside the system's roots, for the API and for the login; certificates in PEM.
	CABundle []byte
	// Layer is one of the system's own, optional. It is around the repetitions of a call that was let through to the server.
	Layer Layer
	Limits
}

// Limits of a client's calls.
type Limits struct {
	// Egress says what the endpoint and the login may lead to.
	Egress egress.Policy `json:"-"`
	// HTTP sends the requests, also those of the login; default one that trusts the CABundle, and keeps to Egress when it
	// connects. Its redirect policy is not used.
	HTTP *http.Client `json:"-"`
	// Timeout bounds each call with its repetitions. Reads have less.
	Timeout time.Duration
	// QPS and Burst bound the rate of requests.
	QPS   float64
	Burst int
	// RefusalPause is how long credentials aren't used again after they were refused twice; default none. With a pause the
	// first refusal is Transient, and they are tried once more after a tenth of it, or sooner.
	RefusalPause time.Duration
	// Circuits of the program; without them each call is sent.
	Circuits *circuit.Circuits `json:"-"`
}

// Paced returns the limits of a program that polls each of its objects once per interval: the given rate and burst, ten intervals
// of rest after a refusal, and calls only to where the policy allows. All clients with these limits share circuits.
func Paced(interval time.Duration, qps float64, burst int, policy egress.Policy) Limits {
	return Limits{RefusalPause: 10 * interval, QPS: qps, Burst: burst, Egress: policy, Circuits: circuit.New(interval)}
}

// readTimeout bounds each read with its repetitions: one page of a list at most.
const readTimeout = 20 * time.Second

// Client is safe for concurrent use. One is enough for all calls with the same credentials.
type Client struct {
	config Config
	base   *url.URL
	// server is the key of the API in the circuits. The path is part of it: what one tenant writes there must not affect
	// others.
	server  string
	sender  *http.Client
	login   session
	pace    *pace
	refusal refusal
	layers  http.RoundTripper
}

// New validates the configuration and returns a client. It makes no call. Its errors don't contain a secret.
func New(config Config) (*Client, error) {
	config.EndpointKey = cmp.Or(config.EndpointKey, KeyEndpoint)
	base, err := parseEndpoint(config.Egress, config.EndpointKey, config.Endpoint)
	if err != nil {
		return nil, err
	}
	if config.Timeout <= 0 || config.QPS <= 0 || config.Burst <= 0 {
		return nil, errors.New("timeout, QPS and burst must be positive")
	}
	if config.LoginOf != nil {
		config.Login = config.LoginOf.config.Login
	}
	if err := config.Login.validate(config.Egress); err != nil {
		return nil, err
	}
	sender, err := config.sender()
	if err != nil {
		return nil, err
	}
	c := &Client{
		config: config, base: base, sender: sender,
		pace:    newPace(config.QPS, config.Burst),
		refusal: refusal{pause: config.RefusalPause},
	}
	c.server = fmt.Sprintf("%s at %s", config.Name, c.Endpoint()+strings.TrimSuffix(base.JoinPath().EscapedPath(), "/"))
	if config.LoginOf != nil {
		c.login = config.LoginOf.login
	} else {
		c.login = c.newSession(config.Login)
	}
	// From the innermost, which sends a request, to the outermost.
	c.layers = RoundTrip(sender.Do)
	for _, layer := range []Layer{
		c.bounded,    // reads the answer, or says why there is none
		c.observed,   // one span, and one count
		c.heard,      // the server answers
		c.paced,      // waits for its turn, and for what the server asks for
		c.repeated,   // once more, where that is safe and may help
		config.Layer, // the system's own
		c.letThrough, // the circuits
		c.loggedIn,   // before the circuits: a login that hangs must not keep others from the API
		c.inTime,     // the deadline of all within
		c.notRefused, // the credentials aren't known to be refused
	} {
		if layer != nil {
			c.layers = layer(c.layers)
		}
	}
	return c, nil
}

// RoundTrip sends a request, and reads its answer.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // each attempt has its own
	}
	r, call := describe(r)
	resp, err := c.layers.RoundTrip(r)
	if failed, ok := errors.AsType[*failure](err); ok {
		err = failed.err
	}
	call.failed = err
	call.wrote = call.wrote || writes(r) && (err == nil || fault.IsAmbiguous(err))
	return resp, err
}

// HTTP returns an http.Client that sends its requests with this one: for an SDK.
func (c *Client) HTTP() *http.Client { return &http.Client{Transport: c} }

// Base is the URL of the endpoint in canonical form.
func (c *Client) Base() *url.URL { return c.base.JoinPath() }

// Endpoint is the server in canonical form, whatever the path.
func (c *Client) Endpoint() string { return c.base.Scheme + "://" + c.base.Host }

// Namespace is that of the Secret: limits are per namespace. Empty if there is none.
func (c *Client) Namespace() string {
	namespace, _, _ := strings.Cut(c.config.Secret, "/")
	return namespace
}

// Memory is a share of what answers may take, for one that is kept while it is read. It has to be released.
func (c *Client) Memory() *bounds.Share { return bounds.ShareOf(c.Namespace()) }

// Silent is the error if the circuits know that the API doesn't answer, so that callers shouldn't wait for it now;
// otherwise nil.
func (c *Client) Silent() error { return c.config.Circuits.State(c.server) }

// Timeout bounds a call. A write may take as long as what it changes.
func (c *Client) Timeout(write bool) time.Duration {
	if write {
		return c.config.Timeout
	}
	return min(c.config.Timeout, readTimeout)
}

// Do makes a call, by a function whose requests have its context. An error is a *fault.Error: that of the last request, or what
// the function says of an answer.
func (c *Client) Do(ctx context.Context, call *Call, do func(context.Context) error) (err error) {
	defer func() { c.config.Circuits.Leave(call.pass, err) }()
	if err := do(With(ctx, call)); err != nil {
		return c.outcome(call, err)
	}
	return nil
}

func (c *Client) outcome(call *Call, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok {
		known, ok = errors.AsType[*fault.Error](call.failed)
	}
	if ok && call.wrote && !known.Ambiguous { // it is of another request than the one that wrote
		unsure := *known
		unsure.Ambiguous = true
		return &unsure
	}
	if ok {
		return known
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		err = sent.Err // the URL adds nothing to Op
	}
	text := bounds.Shorten(c.safe(call, err.Error()))
	return &fault.Error{Class: fault.Transient, Op: cmp.Or(call.Op, "call"), Ambiguous: call.wrote, Err: errors.New(text)}
}

// CloseIdleConnections is for the end of the client.
func (c *Client) CloseIdleConnections() { c.sender.CloseIdleConnections() }
