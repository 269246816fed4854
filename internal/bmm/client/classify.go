package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// transportFailure classifies a request that got no answer.
func transportFailure(ctx context.Context, r request, secret string, err error) *failure {
	if refused, ok := errors.AsType[*egress.Refused](err); ok {
		return notAllowed(r, secret, refused)
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		err = sent.Err // the URL adds nothing to op
	}
	dialled := false
	if network, ok := errors.AsType[*net.OpError](err); ok {
		dialled = network.Op == "dial"
		// Without the addresses: the local port differs each time, and conditions must not change with it.
		err = &net.OpError{Op: network.Op, Net: network.Net, Err: withoutResolver(network.Err)}
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
	}
	return &failure{
		err:    &fault.Error{Class: fault.Transient, Op: r.op, Ambiguous: r.write && !dialled && !untrusted, Err: err},
		unsent: dialled, hopeless: untrusted,
	}
}

// notAllowed is a request that wasn't sent, because of its destination. Its text is the same whatever is there, and it isn't
// retried before the Secret changes or its time is over.
func notAllowed(r request, secret string, refused *egress.Refused) *failure {
	key := SecretKeyEndpoint
	if r.op == opLogin {
		key = SecretKeyTokenURL
	}
	if secret != "" {
		key += " of secret " + secret
	}
	return &failure{
		err:     &fault.Error{Class: fault.Credentials, Op: r.op, Err: fmt.Errorf("%s: %w", key, refused)},
		refused: true, hopeless: true,
	}
}

func isNotAllowed(err error) bool {
	_, refused := errors.AsType[*egress.Refused](err)
	return refused
}

// withoutResolver leaves out the DNS server and the local port.
func withoutResolver(err error) error {
	lookup, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return err
	case lookup.IsNotFound:
		return fmt.Errorf("lookup %s: no such host", lookup.Name)
	case lookup.IsTimeout:
		return fmt.Errorf("lookup %s: no answer in time", lookup.Name)
	}
	return fmt.Errorf("lookup %s failed", lookup.Name)
}

// answerFailure classifies an answer that isn't a success.
func (c *Client) answerFailure(r request, resp *http.Response, body []byte, redact func(string) string) *failure {
	a := parseAnswer(resp.StatusCode, body)
	class := a.class(r.rules)
	text := bounds.Shorten(redact(a.String()))
	if a.status == http.StatusNotFound && (a.message == "" || a.wrongPath()) {
		text += " (are endpoint, orgName and apiName right?)"
	}
	if class == fault.Credentials && c.secret != "" {
		text += fmt.Sprintf("; correct the %s in secret %s", c.login.means, c.secret)
	}
	cause := errors.New(text)
	switch {
	case class == fault.Credentials && a.lacksRole():
		cause = roleError{cause}
	case a.wrongPath():
		cause = pathError{cause}
	}
	return &failure{
		err: &fault.Error{
			Class:     class,
			Op:        r.op,
			OtherID:   a.otherID(class),
			Ambiguous: class == fault.Transient && r.write && a.mayHaveWorked(),
			// The rest are about the object, not the server.
			Overloaded: class == fault.Busy && a.status >= http.StatusInternalServerError || a.status == http.StatusGatewayTimeout,
			Err:        cause,
		},
		status:     a.status,
		retryAfter: retryAfter(resp),
		refused:    a.status == http.StatusUnauthorized && class == fault.Credentials,
		wrongPath:  a.wrongPath(),
	}
}

// wrongPath is the service's answer to every path that it doesn't know, before it checks the token.
const wrongPath = "requested path could not be found"

func (a answer) wrongPath() bool {
	return a.status == http.StatusNotFound && strings.Contains(strings.ToLower(a.message), wrongPath)
}

// pathError is the answer to a wrong path.
type pathError struct{ error }

func isWrongPath(err error) bool {
	_, wrong := errors.AsType[pathError](err)
	return wrong
}

// roleError is the refusal of a call of an authenticated user.
type roleError struct{ error }

// LacksRole reports whether the credentials were refused for this one call, because it needs another role.
func LacksRole(err error) bool {
	_, lacks := errors.AsType[roleError](err)
	return lacks
}

func (a answer) lacksRole() bool {
	return a.status == http.StatusForbidden && strings.Contains(strings.ToLower(a.message), "role")
}

// mayHaveWorked reports whether the work may be done, or still be in progress, in spite of the answer.
func (a answer) mayHaveWorked() bool {
	return a.status >= 500 || strings.Contains(strings.ToLower(a.message), "workflow")
}

// rule is the meaning of an answer whose message contains one of the texts, in lower case. The status alone isn't enough:
// a VPC that is still in use is 400, like a misspelled field.
type rule struct {
	status int
	texts  []string
	class  fault.Class
}

// rules are tried from top to bottom. The texts are those of the service's releases 1.0 and 1.5.
var rules = []rule{
	{http.StatusBadRequest, []string{"cannot be deleted directly"}, fault.Invalid},
	{http.StatusBadRequest, []string{
		"no machines are available", "is assigned to an instance", "is missing on site", "does not allow instance creation",
		"it can be provisioned by setting", "set `allowunhealthymachine`", "ipam entry",
	}, fault.Quota},
	{http.StatusBadRequest, []string{"registered state"}, fault.Transient},
	{http.StatusBadRequest, []string{
		"cannot delete", "cannot be deleted", "unable to delete", "exist for allocation", "exist for this allocation",
		"deleting this allocation",
		"in ready state", "is not ready",
	}, fault.Busy},

	// The user was authenticated, but his record couldn't be written.
	{http.StatusUnauthorized, []string{"db error"}, fault.Transient},

	// A refusal by the site, not of the token.
	{http.StatusForbidden, []string{"workflow"}, fault.Invalid},
	{http.StatusForbidden, []string{
		"maximum number", "quota", "does not have any allocations", "does not have access to site",
		"does not have access to this site",
	}, fault.Quota},
	{http.StatusForbidden, []string{"in ready state", "already being used"}, fault.Busy},
	{http.StatusForbidden, []string{
		"role with org", "roles assigned", "membership for org", "token", "not authorized", "unauthorized",
	}, fault.Credentials},

	// 404s that say nothing of the requested object: the path is wrong, the organisation has nothing yet, or the site
	// doesn't know what the service does.
	{http.StatusNotFound, []string{wrongPath, "tenant for org", "provider for org", "workflow"}, fault.Transient},

	{http.StatusPreconditionFailed, []string{"capability"}, fault.Invalid},

	{http.StatusInternalServerError, []string{"no allocations for"}, fault.Quota},
	// Nothing was started: another request had the lock.
	{http.StatusInternalServerError, []string{"multiple parallel request", "failed to lock", "unable to acquire"}, fault.Busy},
}

var classes = map[int]fault.Class{
	http.StatusUnauthorized:       fault.Credentials,
	http.StatusForbidden:          fault.Invalid, // another tenant's object, not a bad token: the message names it
	http.StatusNotFound:           fault.NotFound,
	http.StatusConflict:           fault.Conflict,
	http.StatusPreconditionFailed: fault.Busy,
	http.StatusRequestTimeout:     fault.Transient,
	http.StatusTooManyRequests:    fault.Transient,
	http.StatusNotImplemented:     fault.Invalid,
}

// class of the answer to a call, which may have its own rules.
func (a answer) class(own []rule) fault.Class {
	message := strings.ToLower(a.message)
	for _, r := range slices.Concat(own, rules) {
		if r.status == a.status && slices.ContainsFunc(r.texts, func(t string) bool { return strings.Contains(message, t) }) {
			return r.class
		}
	}
	if a.status == http.StatusNotFound && message == "" {
		return fault.Transient // not the service's own words
	}
	if class, ok := classes[a.status]; ok {
		return class
	}
	if a.status >= 500 {
		return fault.Transient
	}
	return fault.Invalid
}
