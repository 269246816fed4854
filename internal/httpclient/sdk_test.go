package httpclient_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// sdk is a vendor's client, which takes an http.Client and knows nothing of this package. Its errors keep no cause.
type sdk struct {
	http *http.Client
	url  string
}

// put something, from a body of unknown length that can be read once.
func (s sdk) put(ctx context.Context, path, body string) (map[string]any, error) {
	return s.send(ctx, http.MethodPut, path, io.NopCloser(struct{ io.Reader }{strings.NewReader(body)}))
}

func (s sdk) get(ctx context.Context, path string) (map[string]any, error) {
	return s.send(ctx, http.MethodGet, path, nil)
}

func (s sdk) send(ctx context.Context, method, path string, body io.Reader) (map[string]any, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := s.http.Do(r)
	if err != nil {
		return nil, errors.New("SDK: " + err.Error())
	}
	defer func() { _ = resp.Body.Close() }()
	found := map[string]any{}
	if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
		return nil, errors.New("SDK: " + err.Error())
	}
	return found, nil
}

const apiKey = "a-secret-API-key"

// apiKeyLogin fetches a session for an API key, and sends it in a header that is a JSON array.
func apiKeyLogin(url string) httpclient.Login {
	return httpclient.Fetched("apiKey", url, func(ctx context.Context, sender *http.Client) (string, time.Time, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(apiKey))
		if err != nil {
			return "", time.Time{}, err
		}
		resp, err := sender.Do(r)
		if err != nil {
			return "", time.Time{}, err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return "", time.Time{}, &fault.Error{Class: fault.Credentials, Op: "log in", Err: errors.New(httpclient.StatusText(resp.StatusCode))}
		}
		var session struct{ Session string }
		if err := json.NewDecoder(resp.Body).Decode(&session); err != nil {
			return "", time.Time{}, errors.New("the answer is no session")
		}
		return sessionHeader(session.Session), time.Now().Add(time.Hour), nil
	}, apiKey)
}

func sessionHeader(session string) string { return `[{"type":"toy","session":"` + session + `"}]` }

// service is what the SDK calls: sessions by number, of which only the newest is good, and things.
type service struct {
	sessions atomic.Int32
	calls    atomic.Int32
	// answer to a call that is logged in.
	answer http.HandlerFunc
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/sessions" {
		httpclienttest.Reply(200, fmt.Sprintf(`{"session":"session-%d"}`, s.sessions.Add(1)))(w, r)
		return
	}
	s.calls.Add(1)
	if r.Header.Get("Authorization") != sessionHeader(fmt.Sprintf("session-%d", s.sessions.Load())) {
		httpclienttest.Reply(401, `{"message":"unknown login `+strings.ReplaceAll(r.Header.Get("Authorization"), `"`, `'`)+`"}`)(w, r)
		return
	}
	s.answer(w, r)
}

// vendor is a service, and a client of it by an SDK.
func vendor(t *testing.T, answer http.HandlerFunc, change ...func(*httpclient.Config)) (*httpclient.Client, sdk, *service) {
	t.Helper()
	s := &service{answer: answer}
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": s.ServeHTTP})
	login := func(c *httpclient.Config) { c.Login = apiKeyLogin(server.URL + "/sessions") }
	c := newToy(t, append([]func(*httpclient.Config){at(server), login}, change...)...).Client
	return c, sdk{c.HTTP(), server.URL}, s
}

func TestSDK_logsInAndOnceMoreWhenItsSessionIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var bodies []string
	c, vendor, service := vendor(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, fmt.Sprintf("%s %d", body, r.ContentLength))
		httpclienttest.Reply(200, `{"id":"one"}`)(w, r)
	})
	put := func() (found map[string]any, err error) {
		err = c.Do(t.Context(), &httpclient.Call{Op: "put thing"}, func(ctx context.Context) error {
			found, err = vendor.put(ctx, "/things/one", "body")
			return err
		})
		return found, err
	}
	g.Expect(put()).To(HaveKeyWithValue("id", "one"))
	service.sessions.Add(1) // another client has logged in
	g.Expect(put()).To(HaveKeyWithValue("id", "one"))
	g.Expect(service.calls.Load()).To(BeEquivalentTo(3))
	g.Expect(bodies).To(HaveEach("body 4"), "each attempt has the whole body")
	g.Expect(bodies).To(HaveLen(2))

	service.sessions.Add(1)
	service.answer = func(w http.ResponseWriter, r *http.Request) {
		httpclienttest.Reply(401, `{"message":"no `+strings.ReplaceAll(r.Header.Get("Authorization"), `"`, ``)+` `+apiKey+`"}`)(w, r)
	}
	_, err := put()
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
	g.Expect(err).To(MatchError("put thing: 401 Unauthorized: no [{type:toy,session:[redacted]}] [redacted]"))
}

func TestSDK_seesWhatAnAnswerMeansThoughItKeepsNoCause(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status int
		body   string
		calls  int32 // of a read
		want   fault.Error
	}{
		"gone":       {410, `{}`, 1, fault.Error{Class: fault.NotFound}},
		"taken":      {409, `{"other":"two"}`, 1, fault.Error{Class: fault.Conflict, OtherID: "two"}},
		"in use":     {423, `{}`, 1, fault.Error{Class: fault.Busy, Overloaded: true}},
		"no more":    {403, `{}`, 1, fault.Error{Class: fault.Quota}},
		"wrong":      {400, `{}`, 1, fault.Error{Class: fault.Invalid}},
		"down":       {503, ``, 3, fault.Error{Class: fault.Transient, Ambiguous: true}},
		"a redirect": {307, ``, 1, fault.Error{Class: fault.Invalid}},
		"too long":   {200, `{"id":"` + strings.Repeat("x", bounds.MaxObject) + `"}`, 1, fault.Error{Class: fault.Transient, Ambiguous: true}},
		"too much":   {200, `{"id":[` + strings.Repeat("{},", bounds.MaxValues) + `{}]}`, 1, fault.Error{Class: fault.Transient, Ambiguous: true}},
		"not JSON":   {200, `<html>`, 1, fault.Error{Class: fault.Transient, Ambiguous: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c, vendor, service := vendor(t, httpclienttest.Reply(row.status, row.body))
			err := c.Do(t.Context(), &httpclient.Call{Op: "put thing"}, func(ctx context.Context) error {
				_, err := vendor.put(ctx, "/things/one", "body")
				return err
			})
			failed, ok := err.(*fault.Error) //nolint:errorlint // that is what Do returns
			g.Expect(ok).To(BeTrue())
			g.Expect(failed).To(HaveField("Op", "put thing"))
			failed.Op, failed.Err = "", nil
			g.Expect(*failed).To(Equal(row.want))
			g.Expect(service.calls.Load()).To(BeEquivalentTo(1), "a write is not repeated")

			service.calls.Store(0)
			err = c.Do(t.Context(), &httpclient.Call{Op: "get thing"}, func(ctx context.Context) error {
				_, err := vendor.get(ctx, "/things/one")
				return err
			})
			g.Expect(fault.ClassOf(err)).To(Equal(row.want.Class))
			g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "reading changes nothing")
			g.Expect(service.calls.Load()).To(Equal(row.calls))
		})
	}
}

// An SDK that unpacks answers itself would do so without bounds.
func TestSDK_getsNoAnswerThatIsStillPacked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, vendor, _ := vendor(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", r.Header.Get("Accept-Encoding"))
		packed := gzip.NewWriter(w)
		_, _ = packed.Write(bytes.Repeat([]byte(" "), bounds.MaxObject+1))
		_ = packed.Close()
	})
	err := c.Do(t.Context(), &httpclient.Call{Op: "get thing"}, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, vendor.url+"/things", nil)
		if err != nil {
			return err
		}
		r.Header.Set("Accept-Encoding", "gzip")
		_, err = vendor.http.Do(r)
		return err
	})
	g.Expect(err).To(MatchError("get thing: the answer is too long"))
}

func TestSDK_saysNoSecretWhereItCantLogIn(t *testing.T) {
	t.Parallel()
	for name, failed := range map[string]error{
		"a fault":     &fault.Error{Class: fault.Credentials, Op: "log in", Err: errors.New("401: bad " + apiKey)},
		"no fault":    errors.New("401: bad " + apiKey),
		"a fetch too": fmt.Errorf("SDK: %w", errors.New("401: bad "+apiKey)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c, vendor, service := vendor(t, httpclienttest.Reply(200, `{}`), func(c *httpclient.Config) {
				c.Login = httpclient.Fetched("API key", c.Endpoint, func(context.Context, *http.Client) (string, time.Time, error) {
					return "", time.Time{}, failed
				}, apiKey)
			})
			err := c.Do(t.Context(), &httpclient.Call{Op: "get thing"}, func(ctx context.Context) error {
				_, err := vendor.get(ctx, "/things")
				return err
			})
			g.Expect(err).To(MatchError(And(HavePrefix("log in: "), HaveSuffix("401: bad [redacted]"))))
			g.Expect(service.calls.Load()).To(BeZero())
		})
	}
}

// What isn't described is known by its method, and its error is inside of the http.Client's.
func TestSDK_mayMakeRequestsThatAreNotDescribed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := "default/" + rand.Text() // metrics are the process's own
	failures := 1
	c, _, service := vendor(t, func(w http.ResponseWriter, r *http.Request) {
		if failures--; failures >= 0 {
			httpclienttest.Reply(503, "")(w, r)
			return
		}
		httpclienttest.Reply(200, `{"id":"one"}`)(w, r)
	}, func(c *httpclient.Config) { c.Secret = secret })
	resp, err := c.HTTP().Get(c.Base().JoinPath("things").String())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(io.ReadAll(resp.Body)).To(BeEquivalentTo(`{"id":"one"}`))
	g.Expect(resp.Body.Close()).To(Succeed())
	failures = 1
	_, err = c.HTTP().Post(c.Base().JoinPath("things").String(), "text/plain", bytes.NewReader(nil))
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	g.Expect(fault.IsAmbiguous(err)).To(BeTrue())
	g.Expect(service.calls.Load()).To(BeEquivalentTo(3))
	g.Expect(countsOf(t, secret)).To(Equal(map[string]float64{"log in: ok": 1, "GET: Transient": 1, "GET: ok": 1, "POST: Transient": 1}))
}

func TestSDK_isKeptFromAnAPIThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		dead := &host{answer: hanging}
		c := newToy(t, func(c *httpclient.Config) {
			c.Login = httpclient.Static("login", sessionHeader("one"), "one")
			c.HTTP, c.Circuits = &http.Client{Transport: dead}, circuit.New(pollInterval)
		}).Client
		vendor := sdk{c.HTTP(), c.Base().String()}
		get := func() error {
			return c.Do(t.Context(), &httpclient.Call{Op: "get thing"}, func(ctx context.Context) error {
				_, err := vendor.get(ctx, "things")
				return err
			})
		}
		began := time.Now()
		g.Expect(get()).To(MatchError("get thing: no answer in time: context deadline exceeded"))
		g.Expect(time.Since(began)).To(Equal(20*time.Second), "the deadline of a read")
		g.Expect(get()).To(MatchError(HavePrefix("get thing: not sent: the toy API at https://toy.example.com hasn't answered")))
		g.Expect(dead.calls()).To(Equal(1))
		g.Expect(c.Silent()).To(HaveOccurred())
	})
}

// A layer of the system's own sees each call once, logged in and let through.
func TestSDK_mayHaveALayerOfItsSystems(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var seen []string
	failures := 2
	c, vendor, service := vendor(t, func(w http.ResponseWriter, r *http.Request) {
		if failures--; failures >= 0 {
			httpclienttest.Reply(410, "")(w, r)
			return
		}
		httpclienttest.Reply(200, `{"zone":"`+r.Header.Get("Zone")+`"}`)(w, r)
	}, func(c *httpclient.Config) {
		c.Layer = func(next http.RoundTripper) http.RoundTripper {
			return step(func(r *http.Request) (*http.Response, error) {
				seen = append(seen, r.Header.Get("Authorization"))
				r = r.Clone(r.Context())
				r.Header.Set("Zone", "a")
				resp, err := next.RoundTrip(r)
				if status, _ := httpclient.Failed(err); status == 410 {
					return next.RoundTrip(r)
				}
				return resp, err
			})
		}
	})
	get := func() (map[string]any, error) { return vendor.get(t.Context(), "/things") }
	_, err := get()
	g.Expect(err).To(MatchError(ContainSubstring("410 Gone")))
	g.Expect(get()).To(HaveKeyWithValue("zone", "a"))
	g.Expect(seen).To(Equal([]string{sessionHeader("session-1"), sessionHeader("session-1")}))
	g.Expect(service.calls.Load()).To(BeEquivalentTo(3))
	g.Expect(c.Silent()).NotTo(HaveOccurred())
}

// The links in an answer are what the server likes: the login isn't taken along where they lead to, not even by an SDK that follows them.
func TestSDK_takesItsLoginToItsEndpointOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var taken []string
	elsewhere := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		taken = append(taken, r.Header.Get("Authorization"))
		httpclienttest.Reply(200, `{"id":"two"}`)(w, r)
	}})
	c, vendor, service := vendor(t, httpclienttest.Reply(200, `{"next":"`+elsewhere.URL+`/things?start=2"}`))
	err := c.Do(t.Context(), &httpclient.Call{Op: "list things", Pages: true}, func(ctx context.Context) error {
		first, err := vendor.get(ctx, "/things")
		if err != nil {
			return err
		}
		vendor.url = first["next"].(string)
		_, err = vendor.get(ctx, "")
		return err
	})
	g.Expect(taken).To(BeEmpty())
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Invalid))
	g.Expect(err).To(MatchError(And(HavePrefix("list things: "), ContainSubstring("endpoint"))))
	g.Expect(service.calls.Load()).To(BeEquivalentTo(1))
}

// An SDK makes a thing and waits until it is ready: what was made isn't unmade by what comes of the look.
func TestDo_isAmbiguousOnceOneOfItsRequestsHasWritten(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		put, get  http.HandlerFunc
		ambiguous bool
	}{
		"made, and then refused":        {httpclienttest.Reply(200, `{}`), httpclienttest.Reply(400, `{}`), true},
		"made, and then not found":      {httpclienttest.Reply(200, `{}`), httpclienttest.Reply(410, `{}`), true},
		"perhaps made, and then absent": {httpclienttest.Reply(503, ``), httpclienttest.Reply(410, `{}`), true},
		"refused":                       {httpclienttest.Reply(409, `{}`), httpclienttest.Reply(410, `{}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c, vendor, _ := vendor(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut {
					row.put(w, r)
					return
				}
				row.get(w, r)
			})
			err := c.Do(t.Context(), &httpclient.Call{Op: "create thing"}, func(ctx context.Context) error {
				_, _ = vendor.put(ctx, "/things/one", "body")
				_, err := vendor.get(ctx, "/things/one")
				return err
			})
			g.Expect(err).To(HaveOccurred())
			g.Expect(fault.IsAmbiguous(err)).To(Equal(row.ambiguous), "%v", err)
		})
	}
}

func TestSDK_seesTheLengthThatAHeadSays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newToy(t, at(httpclienttest.Start(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "12345")
	}})))
	resp, err := c.http.Head(c.Base().JoinPath("image").String())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.ContentLength).To(BeEquivalentTo(12345))
}
