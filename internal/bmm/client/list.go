package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

const (
	pageSize = 100
	// maxObjects bounds a list, and maxPages one of smaller pages than were asked for.
	maxObjects = 20_000
	maxPages   = 1000
	// maxListed bounds what a list takes in memory, in bytes, but for that of a whole site's instances.
	maxListed = 4 << 20
	// listTimeouts is how many times as long as a call a list may take.
	listTimeouts = 2
	// orderBy keeps pages stable while objects are created.
	orderBy = "CREATED_ASC"
)

// page is what a list call asks for; its fields are pointers because the generated parameters are.
type page struct {
	number, size *int
	order        *string
}

// listing is a list that is being read.
type listing[T any] struct {
	memory *bounds.Share
	// most it may take in memory, in bytes.
	most  int
	items []T
	// before are how many items, and bytes in memory, there were before the page that is being read.
	before struct{ items, bytes int }
}

// list reads all pages. An error in any of them is an error: half a list is none.
func list[T any](ctx context.Context, c *Client, op string, call func(page) send) ([]T, error) {
	return listUpTo[T](ctx, c, maxListed, op, call)
}

// listUpTo is list with another bound than maxListed.
func listUpTo[T any](ctx context.Context, c *Client, most int, op string, call func(page) send) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeouts*c.api.Timeout(true))
	defer cancel()
	l := &listing[T]{memory: c.api.Memory(), most: most}
	defer l.memory.Release()
	all := request{op: op}.call(l)
	all.Pages = true
	if err := c.api.Do(ctx, all, func(ctx context.Context) error { return l.read(ctx, c, op, call) }); err != nil {
		return nil, err
	}
	return l.items, nil
}

// read all pages.
func (l *listing[T]) read(ctx context.Context, c *Client, op string, call func(page) send) error {
	for number := 1; number <= maxPages; number++ {
		l.before.items, l.before.bytes = len(l.items), l.memory.Has()
		header, err := c.send(ctx, call(page{number: ptr(number), size: ptr(pageSize), order: ptr(orderBy)}))
		if err != nil {
			return notProven(err)
		}
		last, err := isLastPage(header, number)
		if err != nil {
			return &fault.Error{Class: fault.Transient, Op: op, Err: err}
		}
		if last {
			return nil
		}
	}
	return &fault.Error{Class: fault.Transient, Op: op, Err: fmt.Errorf("more than %d pages", maxPages)}
}

// decodeFrom adds the items of a page, one after the other. It starts over where a page is read once more.
func (l *listing[T]) decodeFrom(b *bounds.Body) error {
	l.items = l.items[:l.before.items]
	_ = l.memory.Set(l.before.bytes) // less than before
	err := l.decodeItems(b)
	if b.Err() != nil { // the other is only its consequence
		return b.Err()
	}
	return err
}

func (l *listing[T]) decodeItems(b *bounds.Body) error {
	of := bounds.ItemsOf(b)
	if list, err := of.Begin(); !list {
		return err
	}
	for {
		text, err := of.Next()
		switch {
		case err != nil || text == nil:
			return err
		case len(l.items) == l.before.items+pageSize:
			return fmt.Errorf("unexpected answer: more than %d items in a page", pageSize)
		}
		if err := l.add(text); err != nil {
			return err
		}
	}
}

// add an item, whose text is within the bounds of an object.
func (l *listing[T]) add(text []byte) error {
	var item T
	if err := bounds.Unmarshal(text, &item); err != nil {
		return err
	}
	if err := rightObject(&item, ""); err != nil {
		return err
	}
	bytes := l.memory.Has() + bounds.Size(&item)
	if bytes > l.most || len(l.items) == maxObjects {
		return fmt.Errorf("the list is too long: it may have %d objects and %d MiB", maxObjects, l.most>>20)
	}
	l.items = append(l.items, item)
	return l.memory.Set(bytes)
}

// isLastPage compares with the page size that the server says it used, which may be smaller than requested.
func isLastPage(header http.Header, number int) (bool, error) {
	var pagination struct{ PageSize, Total int }
	err := json.Unmarshal([]byte(header.Get("X-Pagination")), &pagination)
	switch {
	case err != nil || pagination.PageSize < 1:
		return false, errors.New("answer without X-Pagination: can't tell whether the list is complete")
	case pagination.PageSize > pageSize || pagination.Total < 0:
		return false, errors.New("unexpected answer: X-Pagination can't be right")
	case pagination.Total > maxObjects:
		return false, fmt.Errorf("the list is too long: it may have %d objects", maxObjects)
	}
	return number*pagination.PageSize >= pagination.Total, nil
}

func ptr[T any](v T) *T { return &v }

// optional is nil for an empty string: the parameter is left out.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
