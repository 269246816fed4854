package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
)

// maxMessage bounds what is taken over from an answer into an error text, in bytes.
const maxMessage = 300

// transportError classifies a call that got no answer.
func transportError(ctx context.Context, op string, err error) error {
	write := true
	if sent, ok := errors.AsType[*url.Error](err); ok {
		write = sent.Op != "Get"
		err = sent.Err // the URL says nothing that op doesn't
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		// Without the addresses: the port of this side is another one each time, and conditions must not change with it.
		err = &net.OpError{Op: network.Op, Net: network.Net, Err: network.Err}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
	}
	return &fault.Error{Class: fault.Transient, Op: op, Ambiguous: write && !neverSent(err), Err: err}
}

// neverSent reports whether the request certainly didn't leave: there was no connection to send it on.
func neverSent(err error) bool {
	if opErr, ok := errors.AsType[*net.OpError](err); ok && opErr.Op == "dial" {
		return true
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}

// answerError classifies an answer that isn't a success.
func (c *Client) answerError(op string, resp *http.Response, body []byte) error {
	a := parseAnswer(resp.StatusCode, body)
	class := a.class()
	text := a.String()
	if class == fault.Credentials && c.source != "" {
		text += "; correct the token in " + c.source
	}
	return &fault.Error{
		Class:     class,
		Op:        op,
		OtherID:   a.otherID(class),
		Ambiguous: class == fault.Transient && a.status >= 500 && isWrite(resp.Request),
		Err:       errors.New(c.redact(text)),
	}
}

// answer is an error answer: {"source", "message", "data"}.
type answer struct {
	status  int
	message string
	fields  map[string]string
}

func parseAnswer(status int, body []byte) answer {
	var parsed struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	// A body that isn't the service's own (a proxy's page) is not repeated.
	if json.Unmarshal(body, &parsed) != nil {
		return answer{status: status}
	}
	a := answer{status: status, message: parsed.Message, fields: map[string]string{}}
	var data map[string]any
	if json.Unmarshal(parsed.Data, &data) == nil {
		for key, value := range data {
			if text, ok := value.(string); ok {
				a.fields[key] = text
			}
		}
	}
	return a
}

// String is short and repeats nothing of the user's data.
func (a answer) String() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
	if a.message != "" {
		text += ": " + a.message
	}
	for _, field := range slices.Sorted(maps.Keys(a.fields)) {
		switch field {
		case "id": // OtherID
		case "userData":
			text += "; userData is not accepted"
		default:
			text += fmt.Sprintf("; %s: %s", field, a.fields[field])
		}
	}
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

func (a answer) otherID(class fault.Class) string {
	if class != fault.Conflict {
		return ""
	}
	return a.fields["id"]
}

// rule says what an answer means whose message contains one of the texts, in lower case. The status alone doesn't
// say it: a VPC that is still in use is 400, like a misspelled field.
type rule struct {
	status int
	texts  []string
	class  fault.Class
}

var rules = []rule{
	{http.StatusBadRequest, []string{"no machines are available", "is assigned to an instance", "ipam entry"}, fault.Quota},
	{http.StatusBadRequest, []string{"cannot delete", "cannot be deleted", "in ready state", "is not ready"}, fault.Busy},
	{http.StatusBadRequest, []string{"registered state"}, fault.Transient},
	{http.StatusForbidden, []string{"maximum number", "quota", "does not have any allocations"}, fault.Quota},
	{http.StatusForbidden, []string{"token", "role", "membership", "not authorized", "unauthorized"}, fault.Credentials},
	{http.StatusInternalServerError, []string{"no allocations for"}, fault.Quota},
}

func (a answer) class() fault.Class {
	message := strings.ToLower(a.message)
	for _, r := range rules {
		if r.status == a.status && slices.ContainsFunc(r.texts, func(t string) bool { return strings.Contains(message, t) }) {
			return r.class
		}
	}
	switch a.status {
	case http.StatusUnauthorized:
		return fault.Credentials
	case http.StatusForbidden:
		return fault.Invalid // another tenant's object, not a bad token: the message names it
	case http.StatusNotFound:
		return fault.NotFound
	case http.StatusConflict:
		return fault.Conflict
	case http.StatusPreconditionFailed:
		return fault.Busy
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return fault.Transient
	case http.StatusNotImplemented:
		return fault.Invalid
	}
	if a.status >= 500 {
		return fault.Transient
	}
	return fault.Invalid
}
