package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/simulator"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 8 << 20

// service is one API of the cloud.
type service struct {
	cloud *Cloud
	// name is before those of its operations, as in power.createDHCPServer.
	name string
	mux  *http.ServeMux
	// authenticate refuses who may not call it.
	authenticate func(*http.Request) error
	// fail writes an error in the service's own format.
	fail func(http.ResponseWriter, *failure)
}

// newService has no operations yet. Its callers need a token of IAM.
func newService(c *Cloud, name string, fail func(http.ResponseWriter, *failure)) *service {
	return &service{cloud: c, name: name, mux: http.NewServeMux(), authenticate: c.authenticate, fail: fail}
}

// ServeHTTP answers a call of an operation. What isn't one is 404.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.fail(w, refuse(http.StatusNotFound, "not_found", "no such path: %s %s", r.Method, r.URL.Path))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// call is a call of an operation. Cloud.mu is held while that is at work.
type call struct {
	*http.Request
	now  time.Time
	body []byte
}

// into decodes the body. What the simulator doesn't know is refused, so that it can't be overlooked.
func (c *call) into(value any) error {
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(value)
	if err == nil && decoder.More() {
		err = errors.New("something follows it")
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "bad_request", "invalid request body: %v", err)
	}
	return nil
}

// query is a parameter of the URL.
func (c *call) query(name string) string { return c.URL.Query().Get(name) }

// reply is what an operation answers. The body is written as it is if it is []byte, otherwise as JSON.
type reply struct {
	status int
	header http.Header
	body   any
}

// ok answers with a value.
func ok(body any) (reply, error) { return reply{status: http.StatusOK, body: body}, nil }

// handle an operation for callers with a token.
func (s *service) handle(operation, pattern string, work func(*call) (reply, error)) {
	s.register(operation, pattern, s.authenticate, work)
}

// open an operation to all callers.
func (s *service) open(operation, pattern string, work func(*call) (reply, error)) {
	s.register(operation, pattern, func(*http.Request) error { return nil }, work)
}

func (s *service) register(
	operation, pattern string, authenticate func(*http.Request) error, work func(*call) (reply, error),
) {
	operation = s.name + "." + operation
	s.cloud.operations[strings.ToLower(operation)] = true
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.cloud.Count(operation)
		answer, err := s.answer(operation, w, r, authenticate, work)
		if err != nil {
			s.fail(w, failureOf(err))
			return
		}
		answer.write(w)
	})
}

// answer does the work of an operation, or what a fault puts in its place.
func (s *service) answer(
	operation string, w http.ResponseWriter, r *http.Request, authenticate func(*http.Request) error,
	work func(*call) (reply, error),
) (answer reply, err error) {
	if err := authenticate(r); err != nil {
		return reply{}, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest)) // before the lock: it may take long
	if err != nil {
		return reply{}, refuse(http.StatusBadRequest, "bad_request", "read request: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body)) // for forms
	err = s.cloud.Inject(r.Context(), operation, func(context.Context) error {
		return s.cloud.change(func(now time.Time) (err error) {
			answer, err = work(&call{Request: r, now: now, body: body})
			return err
		})
	})
	return answer, err
}

func (a reply) write(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	raw, isRaw := a.body.([]byte)
	if !isRaw && a.body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	switch {
	case isRaw:
		_, _ = w.Write(raw) // the client may be gone
	case a.body != nil:
		_ = json.NewEncoder(w).Encode(a.body)
	}
}

// authenticate refuses a request without a valid token of IAM.
func (c *Cloud) authenticate(r *http.Request) error {
	_, err := c.tokens.Grant(r)
	switch {
	case errors.Is(err, simulator.ErrNoToken):
		return refuse(http.StatusUnauthorized, "unauthorized", "the request has no authorization token")
	case errors.Is(err, simulator.ErrTokenExpired):
		return refuse(http.StatusUnauthorized, "unauthorized", "the authorization token has expired")
	case err != nil:
		return refuse(http.StatusUnauthorized, "unauthorized", "the authorization token is invalid")
	}
	return nil
}
