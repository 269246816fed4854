package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/values"
)

// identified is an object of a service. What isn't one has no ID.
type identified interface{ id() string }

func (r ResourceGroup) id() string     { return r.ID }
func (i Instance) id() string          { return i.ID }
func (k resourceKey) id() string       { return k.ID }
func (z zoneAnswer) id() string        { return z.Location.Region }
func (d DHCPServer) id() string        { return d.ID }
func (n Network) id() string           { return n.ID }
func (i Image) id() string             { return i.ID }
func (j Job) id() string               { return j.ID }
func (s Server) id() string            { return s.ID }
func (v VPC) id() string               { return v.ID }
func (z Zonal) id() string             { return z.Name }
func (s Subnet) id() string            { return s.ID }
func (g SecurityGroup) id() string     { return g.ID }
func (r SecurityGroupRule) id() string { return r.ID }
func (b LoadBalancer) id() string      { return b.ID }
func (l Listener) id() string          { return l.ID }
func (p Pool) id() string              { return p.ID }
func (m Member) id() string            { return m.ID }
func (g TransitGateway) id() string    { return g.ID }
func (c Connection) id() string        { return c.ID }

const (
	// maxID bounds an ID, in bytes.
	maxID = 128
	// maxPage bounds a page of a list, in bytes, and maxValues its values, those within objects too. The virtual servers of a workspace are
	// one page, and have about 100 values each.
	maxPage   = 8 << 20
	maxValues = 200_000
	maxDepth  = 32
	// maxItems bounds a list, and maxPages one of small pages.
	maxItems = 20_000
	maxPages = 1000
	// pageSize is asked for where a service has pages.
	pageSize = 50
	// listTimeouts is how many times as long as a call a list may take.
	listTimeouts = 2
)

// right fails unless an answer is the object of an ID; empty for any.
func right(found identified, id string) error {
	switch got := found.id(); {
	case got == "":
		return errors.New("unexpected answer: it has no ID")
	case len(got) > maxID:
		return errors.New("unexpected answer: its ID is too long")
	case id != "" && !strings.EqualFold(got, id):
		return errors.New("unexpected answer: it is of another object")
	}
	return nil
}

// object reads an answer that is the object of an ID. Each attempt starts over.
func object[T identified](out *T, id string) func(*bounds.Body) error {
	return func(b *bounds.Body) error {
		var found T
		if err := b.Decode(&found); err != nil {
			return err
		}
		*out = found
		return right(found, id)
	}
}

// listing is a list that is being read.
type listing[T identified] struct {
	// key is where in an answer it is; empty if it is the answer.
	key   string
	items []T
	// next is where the next page starts; empty after the last one.
	next string
}

// list reads all pages. An error in any of them is an error: half a list is none. A 404 says that what it is in is gone, if that is proven.
func list[T identified](
	ctx context.Context, c *Client, r call, key string, send func(_ context.Context, _ *api, start *string) error,
) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeouts*c.controller.Timeout(true))
	defer cancel()
	l := &listing[T]{}
	r.pages = true
	r.read = l.read
	r.send = func(ctx context.Context, to *api) error {
		*l = listing[T]{key: key}
		return l.all(ctx, r.op, func(ctx context.Context, start *string) error { return send(ctx, to, start) })
	}
	if r.control == nil {
		r.control = func(context.Context) error { return errNoList }
	}
	if err := c.ask(ctx, r); err != nil {
		return nil, err
	}
	return l.items, nil
}

// all reads all pages.
func (l *listing[T]) all(ctx context.Context, op string, send func(context.Context, *string) error) error {
	var start *string
	for range maxPages {
		if err := send(ctx, start); err != nil {
			return err
		}
		if l.next == "" {
			return nil
		}
		if start != nil && *start == l.next {
			return &fault.Error{Class: fault.Transient, Op: op, Err: errors.New("unexpected answer: its next page is itself")}
		}
		next := l.next
		start = &next
	}
	return &fault.Error{Class: fault.Transient, Op: op, Err: fmt.Errorf("more than %d pages", maxPages)}
}

// read a page, all of it or nothing.
func (l *listing[T]) read(b *bounds.Body) error {
	text, err := b.Whole(maxPage)
	if err != nil {
		return err
	}
	if _, ok := values.Of(text, maxValues, maxDepth); !ok {
		return fmt.Errorf("unexpected answer: a list of more than %d values", maxValues)
	}
	next := ""
	if l.key != "" {
		fields := map[string]json.RawMessage{}
		if err := bounds.Unmarshal(text, &fields); err != nil {
			return err
		}
		var ok bool
		if text, ok = fields[l.key]; !ok {
			return errors.New("unexpected answer: it has no " + l.key)
		}
		if next, err = nextOf(fields); err != nil {
			return err
		}
	}
	var items []T
	if err := bounds.Unmarshal(text, &items); err != nil {
		return err
	}
	if len(l.items)+len(items) > maxItems {
		return fmt.Errorf("the list is too long: it may have %d objects", maxItems)
	}
	for _, item := range items {
		if err := right(item, ""); err != nil {
			return err
		}
	}
	l.items, l.next = append(l.items, items...), next
	return nil
}

// nextOf an answer is where the next page starts, as Resource Controller says it, or VPC and Transit Gateway; empty after the last one.
func nextOf(fields map[string]json.RawMessage) (string, error) {
	var link string
	var next struct{ Href string }
	for key, into := range map[string]any{"next_url": &link, "next": &next} {
		if text, ok := fields[key]; ok && bounds.Unmarshal(text, into) != nil {
			return "", errors.New("unexpected answer: " + key + " is of another type")
		}
	}
	if link += next.Href; link == "" {
		return "", nil
	}
	parsed, err := url.Parse(link)
	if err != nil || parsed.Query().Get("start") == "" {
		return "", errors.New("unexpected answer: the link to its next page doesn't say where that starts")
	}
	return parsed.Query().Get("start"), nil
}
