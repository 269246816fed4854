package httpclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// script is a server without a network, for simulated time: sleeps in a bubble of testing/synctest use a fake clock. It
// answers with one step after the other, then with the last one again and again.
type script struct {
	mu    sync.Mutex
	steps []step
	// at is when the requests came.
	at []time.Time
}

type step func(*http.Request) (*http.Response, error)

func (s step) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.at = append(s.at, time.Now())
	next := s.steps[min(len(s.at), len(s.steps))-1]
	s.mu.Unlock()
	return next(r)
}

// client returns a client of the script's.
func (s *script) client(t *testing.T, change ...func(*httpclient.Config)) *toy {
	t.Helper()
	return newToy(t, append([]func(*httpclient.Config){func(c *httpclient.Config) { c.HTTP = &http.Client{Transport: s} }}, change...)...)
}

// answers returns a step; headers are alternating names and values.
func answers(status int, body string, headers ...string) step {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		resp := w.Result()
		resp.Request = r
		return resp, nil
	}
}

func fails(err error) step {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var (
	found    = answers(200, `{"id":"`+id+`"}`)
	undialed = fails(&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")})
	dropped  = fails(&net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")})
	cut      = func(r *http.Request) (*http.Response, error) {
		resp, err := found(r)
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, &brokenReader{}))
		return resp, err
	}
	tooMany = answers(429, `{"message":"Request rate limit exceeded, please re-evaluate your request patterns"}`)
)

type brokenReader struct{}

func (*brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRepetitions_onlyWhereTheyAreSafeAndHelp(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault         step
		reads, writes int // requests that one call makes while the fault lasts
	}{
		"the connection can't be made":     {undialed, 3, 3},
		"the connection is dropped":        {dropped, 3, 1},
		"the answer is cut":                {cut, 3, 1},
		"the server isn't trusted":         {fails(&tls.CertificateVerificationError{Err: errors.New("unknown")}), 1, 1},
		"too many requests":                {tooMany, 3, 3},
		"bad gateway":                      {answers(502, ""), 3, 1},
		"unavailable":                      {answers(503, ""), 3, 1},
		"gateway timeout":                  {answers(504, ""), 3, 1},
		"internal error":                   {answers(500, ""), 1, 1},
		"not implemented":                  {answers(501, ""), 1, 1},
		"bad request":                      {answers(400, ""), 1, 1},
		"conflict":                         {answers(409, ""), 1, 1},
		"refused":                          {answers(401, ""), 1, 1},
		"too many requests for too long":   {answers(429, "", "Retry-After", "60"), 1, 1},
		"unavailable for longer than that": {answers(503, "", "Retry-After", "60"), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				reads := &script{steps: []step{row.fault}}
				_, err := reads.client(t).Get(t.Context())
				g.Expect(err).To(HaveOccurred())
				g.Expect(reads.at).To(HaveLen(row.reads), "reads")

				for _, write := range []func(*toy) error{
					func(c *toy) error {
						_, err := c.Create(t.Context())
						return err
					},
					func(c *toy) error { return c.Delete(t.Context(), "site", id) },
				} {
					writes := &script{steps: []step{row.fault}}
					g.Expect(write(writes.client(t))).NotTo(Succeed())
					g.Expect(writes.at).To(HaveLen(row.writes), "writes")
				}
			})
		})
	}
}

func TestRepetitions_succeedWithinTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := &script{steps: []step{dropped, answers(503, ""), found}}
		begin := time.Now()
		g.Expect(s.client(t).Get(t.Context())).To(HaveField("ID", id))
		g.Expect(s.at).To(HaveLen(3))
		g.Expect(time.Since(begin)).To(And(BeNumerically(">=", 300*time.Millisecond), BeNumerically("<", 600*time.Millisecond)))

		s = &script{steps: []step{undialed, tooMany, answers(201, `{"id":"`+id+`"}`)}}
		g.Expect(s.client(t).Create(t.Context())).To(HaveField("ID", id), "a write that wasn't begun")
	})
}

func TestRepetitions_endWithTheCallsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := &script{steps: []step{answers(503, "")}}
		begin := time.Now()
		_, err := s.client(t, func(c *httpclient.Config) { c.Timeout = 150 * time.Millisecond }).Get(t.Context())
		g.Expect(err).To(MatchError("get thing: 503 Service Unavailable"), "what went wrong, not that there was no time to try again")
		g.Expect(time.Since(begin)).To(BeNumerically("<=", 150*time.Millisecond))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s = &script{steps: []step{dropped}}
		_, err = s.client(t).Get(ctx)
		g.Expect(err).To(HaveOccurred())
		g.Expect(s.at).To(BeEmpty(), "no caller waits for it any more")
	})
}

func TestRetryAfter_holdsTheWholeClientBack(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]func() string{
		"seconds": func() string { return "2" },
		"a date":  func() string { return time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				s := &script{steps: []step{answers(429, "", "Retry-After", header()), found}}
				c := s.client(t)
				var first sync.WaitGroup
				first.Go(func() { _, _ = c.Get(t.Context()) })
				synctest.Wait()
				_, err := c.Get(t.Context()) // another call of the same client
				g.Expect(err).NotTo(HaveOccurred())
				first.Wait()
				g.Expect(s.at).To(HaveLen(3))
				for _, later := range s.at[1:] {
					g.Expect(later.Sub(s.at[0])).To(And(BeNumerically(">=", 2*time.Second), BeNumerically("<", 3*time.Second)))
				}
			})
		})
	}
}

func TestRetryAfter_ofMinutesIsNotWaitedForInACall(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]func() string{
		"a day":    func() string { return strconv.Itoa(24 * 60 * 60) },
		"tomorrow": func() string { return time.Now().AddDate(0, 0, 1).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				s := &script{steps: []step{answers(429, `{"message":"slow down"}`, "Retry-After", header()), found}}
				c := s.client(t)
				_, err := c.Get(t.Context())
				g.Expect(err).To(MatchError("get thing: 429 Too Many Requests: slow down"))
				_, err = c.Create(t.Context())
				g.Expect(err).To(MatchError("create thing: the API has asked to send no calls for now (429)"))
				g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
				g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "it wasn't sent")
				g.Expect(s.at).To(HaveLen(1))

				time.Sleep(5 * time.Minute)
				g.Expect(c.Get(t.Context())).To(HaveField("ID", id), "and no server stops a client for longer than that")
			})
		})
	}
}

func TestTooManyRequests_soonHoldNobodyAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := &script{steps: []step{tooMany}}
		c := s.client(t)
		begin := time.Now()
		for range 10 {
			_, err := c.Get(t.Context())
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
		}
		g.Expect(time.Since(begin)).To(BeNumerically("<", 8*time.Second))
		g.Expect(len(s.at)).To(BeNumerically("<=", 6))

		s.steps = []step{found}
		time.Sleep(16 * time.Second)
		g.Expect(c.Get(t.Context())).To(HaveField("ID", id))
		s.steps, s.at = []step{tooMany, found}, nil
		begin = time.Now()
		g.Expect(c.Get(t.Context())).To(HaveField("ID", id))
		g.Expect(time.Since(begin)).To(BeNumerically("<", 2*time.Second), "a success ends the old story")
	})
}

func TestTooManyRequests_ofThoseWhoCameTogetherCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		const together = 20
		var came atomic.Int32
		crowded := step(func(r *http.Request) (*http.Response, error) {
			if came.Add(1) > together {
				return found(r)
			}
			time.Sleep(100 * time.Millisecond)
			return tooMany(r)
		})
		c := newToy(t, func(c *httpclient.Config) { c.HTTP = &http.Client{Transport: crowded} })
		begin := time.Now()
		var all sync.WaitGroup
		for range together {
			all.Go(func() {
				if _, err := c.Get(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		g.Expect(time.Since(begin)).To(BeNumerically("<", 2*time.Second))
	})
}

func TestRate_isLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := &script{steps: []step{found}}
		c := s.client(t, func(config *httpclient.Config) { config.QPS, config.Burst = 2, 3 })
		begin := time.Now()
		for range 3 + 8 {
			_, err := c.Get(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
		}
		g.Expect(time.Since(begin)).To(BeNumerically("~", 4*time.Second, 100*time.Millisecond))

		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := c.Create(ctx)
		g.Expect(err).To(MatchError("create thing: too many calls are waiting for the client-side rate limit"))
		g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "it wasn't sent")
	})
}
