package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/bedplate/bedplate/internal/fault"
)

const (
	pageSize = 100
	// maxPages bounds a list: at most 100,000 objects.
	maxPages = 1000
	// orderBy keeps pages stable while objects are created.
	orderBy = "CREATED_ASC"
)

// page is what a list call asks for; its fields are pointers because the generated parameters are.
type page struct {
	number, size *int
	order        *string
}

// list reads all pages. An error in any of them is an error: half a list is none.
func list[T any](ctx context.Context, c *Client, op string, call func(page) send) ([]T, error) {
	var all []T
	for number := 1; number <= maxPages; number++ {
		var items []T
		p := page{number: ptr(number), size: ptr(pageSize), order: ptr(orderBy)}
		header, err := c.do(ctx, request{op: op, send: call(p)}, &items)
		if err != nil {
			return nil, notProven(err)
		}
		all = append(all, items...)
		last, err := isLastPage(header, number)
		if err != nil {
			return nil, &fault.Error{Class: fault.Transient, Op: op, Err: err}
		}
		if last {
			return all, nil
		}
	}
	return nil, &fault.Error{Class: fault.Transient, Op: op, Err: fmt.Errorf("more than %d pages", maxPages)}
}

// isLastPage goes by the page size that the server says it used, which may be smaller than what was asked for.
func isLastPage(header http.Header, number int) (bool, error) {
	var pagination struct{ PageSize, Total int }
	err := json.Unmarshal([]byte(header.Get("X-Pagination")), &pagination)
	if err != nil || pagination.PageSize < 1 {
		return false, errors.New("answer without X-Pagination: can't tell whether the list is complete")
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
