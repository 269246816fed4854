package client

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// call is one call of a service, whatever number of HTTP requests it takes.
type call struct {
	place
	// op names it in errors, metrics and spans, such as "create VPC".
	op string
	// ids are what it puts into its path.
	ids []string
	// create means that no worker waits for it, and that what is missing is what it refers to.
	create bool
	// pages means that it consists of several requests.
	pages bool
	// site is where a change is made, if a service has several.
	site string
	// classify is its own; optional.
	classify func(httpclient.Answer) httpclient.Meaning
	// read reads an answer; default that only its success matters.
	read func(*bounds.Body) error
	// send it by an SDK.
	send func(context.Context, *api) error
	// control is what has to succeed before a 404 is believed.
	control func(context.Context) error
}

// idPattern keeps what users write for an ID from being another path. The longest are those of VPC, with 41 bytes.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

func ignore(b *bounds.Body) error { return b.Decode(nil) }

// do makes one call. Its NotFound proves nothing.
func (c *Client) do(ctx context.Context, r call) error {
	invalid := func(err error) error { return &fault.Error{Class: fault.Invalid, Op: r.op, Err: err} }
	for _, id := range r.ids {
		if !idPattern.MatchString(id) {
			return invalid(fmt.Errorf("%q is not an ID", id))
		}
	}
	to, err := c.at(r.place)
	if err != nil {
		return invalid(err)
	}
	if r.read == nil {
		r.read = ignore
	}
	described := &httpclient.Call{Op: r.op, Site: r.site, Unattended: r.create, Pages: r.pages, Classify: r.classify, Read: r.read}
	return to.Do(ctx, described, func(ctx context.Context) error { return r.send(ctx, to) })
}

// ask makes a call whose NotFound is proven: see the package comment. What a create refers to is missing; that makes it Invalid.
func (c *Client) ask(ctx context.Context, r call) error {
	send := func(ctx context.Context) error { return c.do(ctx, r) }
	if !r.create {
		return httpclient.Proven(ctx, send, r.control, r.check())
	}
	err := send(ctx)
	if !fault.IsNotFound(err) {
		return err
	}
	if r.control(ctx) != nil {
		return httpclient.NotProven(err, r.check())
	}
	missing, _ := errors.AsType[*fault.Error](err)
	return &fault.Error{Class: fault.Invalid, Op: missing.Op, Err: missing.Err}
}

// check is what a user should look at after a 404 that proves nothing.
func (p place) check() string {
	if p.service.regional() {
		return "region or zone, and " + p.service.secretKey()
	}
	return p.service.secretKey()
}

// within is the control call about something that is in something else: it is gone with that, and otherwise more has to succeed.
func within(parent, more func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		switch err := parent(ctx); {
		case fault.IsNotFound(err):
			return nil
		case err != nil || more == nil:
			return err
		}
		return more(ctx)
	}
}

// ifGone is the control call about the list of what is in something else: only where that is gone there is no list.
func ifGone(parent func(context.Context) error) func(context.Context) error {
	return within(parent, func(context.Context) error { return errNoList })
}

var errNoList = errors.New("it exists, and its list doesn't")

// get makes a call for one object, which has an ID.
func get[T identified](ctx context.Context, c *Client, r call, id string) (*T, error) {
	out := new(T)
	r.read = object(out, id)
	if err := c.ask(ctx, r); err != nil {
		return nil, err
	}
	return out, nil
}

// create makes a call that creates one object.
func create[T identified](ctx context.Context, c *Client, r call) (*T, error) {
	r.create = true
	return get[T](ctx, c, r, "")
}

// optional is nil for an empty text: the field is left out.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
