package httpclient_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

const (
	token = "a-very-secret-token"
	id    = "22222222-2222-4222-8222-222222222222"
)

// loopback allows a server of the test's.
var loopback = egress.Policy{Loopback: true}

// toy is the client of a toy service, with an http.Client as an SDK has one. Classes are by status, and a message is in JSON.
type toy struct {
	*httpclient.Client
	http *http.Client
}

type thing struct{ ID string }

var toyClasses = map[int]fault.Class{
	http.StatusUnauthorized: fault.Credentials, http.StatusForbidden: fault.Quota, http.StatusGone: fault.NotFound,
	http.StatusConflict: fault.Conflict, http.StatusLocked: fault.Busy, http.StatusTooManyRequests: fault.Transient,
}

func classify(a httpclient.Answer) httpclient.Meaning {
	var said struct{ Message, Other string }
	_ = json.Unmarshal(a.Body, &said) // not each answer is the service's own
	m := httpclient.Meaning{
		Class: cmp.Or(toyClasses[a.Status], fault.Invalid), Text: httpclient.StatusText(a.Status), OtherID: said.Other,
		Overloaded: a.Status == http.StatusLocked,
	}
	if a.Status >= http.StatusInternalServerError {
		m.Class, m.MayHaveWorked = fault.Transient, true
	}
	if said.Message != "" {
		m.Text += ": " + said.Message
	}
	return m
}

// configured is the configuration of a toy.
func configured(change ...func(*httpclient.Config)) httpclient.Config {
	config := httpclient.Config{
		System: "toy", Name: "the toy API", Endpoint: "https://toy.example.com", Login: httpclient.Bearer(token), Classify: classify,
		Limits: httpclient.Limits{Timeout: 75 * time.Second, QPS: 20, Burst: 100},
	}
	for _, c := range change {
		c(&config)
	}
	return config
}

func newToy(t *testing.T, change ...func(*httpclient.Config)) *toy {
	t.Helper()
	config := configured(change...)
	api, err := httpclient.New(config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(api.CloseIdleConnections)
	return &toy{Client: api, http: api.HTTP()}
}

// send a request of a call's.
func (t *toy) send(ctx context.Context, method, path string) (*thing, error) {
	r, err := http.NewRequestWithContext(ctx, method, t.Base().JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := t.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	found := &thing{}
	return found, json.NewDecoder(resp.Body).Decode(found)
}

func (t *toy) call(ctx context.Context, call *httpclient.Call, method, path string) (found *thing, err error) {
	err = t.Do(ctx, call, func(ctx context.Context) error {
		found, err = t.send(ctx, method, path)
		return err
	})
	return found, err
}

func (t *toy) Get(ctx context.Context) (*thing, error) {
	return t.call(ctx, &httpclient.Call{Op: "get thing"}, http.MethodGet, "/thing")
}

func (t *toy) Create(ctx context.Context) (*thing, error) {
	return t.call(ctx, &httpclient.Call{Op: "create thing", Unattended: true}, http.MethodPost, "/thing")
}

func (t *toy) Delete(ctx context.Context, site, id string) error {
	_, err := t.call(ctx, &httpclient.Call{Op: "delete thing", Site: site}, http.MethodDelete, "/thing/"+id)
	return err
}

// List reads many pages.
func (t *toy) List(ctx context.Context) error {
	return t.Do(ctx, &httpclient.Call{Op: "list things", Pages: true}, func(ctx context.Context) error {
		for page := range 200 {
			if _, err := t.send(ctx, http.MethodGet, fmt.Sprintf("/things/%d", page)); err != nil {
				return err
			}
		}
		return nil
	})
}

// serve starts a server with the given routes, and returns a client for it.
func serve(t *testing.T, routes map[string]http.HandlerFunc) *toy {
	t.Helper()
	return newToy(t, at(httpclienttest.Start(t, routes)))
}

// at a server of the test's.
func at(server *httptest.Server) func(*httpclient.Config) {
	return func(c *httpclient.Config) { c.Endpoint, c.Egress, c.Timeout = server.URL, loopback, 5*time.Second }
}
