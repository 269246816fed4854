package httpclient

import (
	"cmp"
	"context"
	"net/http"

	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

// Call describes a call, for its requests. It is for one call only.
type Call struct {
	// Op names it in errors, metrics and spans, in words that don't depend on the object, such as "create VPC"; default the
	// request's method.
	Op string
	// Site is what a change waits for behind the API, such as a data centre. Optional.
	Site string
	// Query means that it changes nothing, whatever its method: it may be repeated, and show whether a silent endpoint answers again.
	Query bool
	// Unattended means that no worker waits for the answer.
	Unattended bool
	// Pages means that the call consists of several requests, one after the other: a worker waits for all of them.
	Pages bool
	// Classify replaces that of the Config. Optional.
	Classify func(Answer) Meaning
	// Read reads an answer that is a success, in each attempt: without it all of it is read, up to bounds.MaxObject, and is the
	// body of the response; with it the response has none.
	Read func(*bounds.Body) error

	pass *circuit.Pass
	// header is the login of the last request.
	header string
	// wrote: a request of it has changed something, or may have. failed is why the last one did, if it did.
	wrote  bool
	failed error
}

type callKey struct{}

// With returns a context for the requests of a call. Only a layer needs it, for requests of its own: see Client.Do.
func With(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// callOf a request that is described.
func callOf(r *http.Request) *Call { return r.Context().Value(callKey{}).(*Call) }

// describe a request. What isn't described is known by its method.
func describe(r *http.Request) (*http.Request, *Call) {
	call, described := r.Context().Value(callKey{}).(*Call)
	if !described {
		call = &Call{}
		r = r.WithContext(With(r.Context(), call))
	}
	call.Op = cmp.Or(call.Op, r.Method, http.MethodGet)
	return r, call
}

// writes reports whether a request may change something, so that repeating it isn't safe.
func writes(r *http.Request) bool {
	if call, described := r.Context().Value(callKey{}).(*Call); described && call.Query {
		return false
	}
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}
