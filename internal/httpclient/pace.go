package httpclient

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bedplate/bedplate/internal/fault"
)

const (
	// patience bounds how long a call waits for its turn. A call that would have to wait longer fails as Busy, so that no
	// worker is blocked.
	patience = 3 * time.Second
	// firstPause follows the first 429; it doubles with each further one, up to lastPause.
	firstPause = 500 * time.Millisecond
	lastPause  = 16 * time.Second
	// maxPause bounds how long a server can make a client wait.
	maxPause = 5 * time.Minute
)

// pace limits the rate of a client's calls, and holds them back after a 429.
type pace struct {
	limiter *rate.Limiter

	mu      sync.Mutex
	resumes time.Time
	// next is the pause after the next 429 that counts: one to a request that was sent after the last that did.
	next  time.Duration
	since time.Time
}

func newPace(qps float64, burst int) *pace {
	return &pace{limiter: rate.NewLimiter(rate.Limit(qps), burst), next: firstPause}
}

// wait returns when a request may be sent.
func (p *pace) wait(ctx context.Context, op string) error {
	p.mu.Lock()
	pause := time.Until(p.resumes)
	p.mu.Unlock()
	if pause > patience {
		return &fault.Error{Class: fault.Transient, Op: op, Err: errors.New("the API has asked to send no calls for now (429)")}
	}
	if pause > 0 {
		pause += jitter(shortBackoff) // so that waiting calls aren't all sent at once
	}
	ctx, cancel := context.WithTimeout(ctx, max(pause, 0)+patience)
	defer cancel()
	if !sleep(ctx, pause) || p.limiter.Wait(ctx) != nil {
		return &fault.Error{Class: fault.Transient, Op: op, Err: errors.New("too many calls are waiting for the client-side rate limit")}
	}
	return nil
}

// heed records what an answer says about the pace, for a request that was sent at the given time, and returns how
// long all calls are held back.
func (p *pace) heed(sent time.Time, status int, retryAfter time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := retryAfter
	switch {
	case status == http.StatusTooManyRequests && pause > 0:
	case status == http.StatusTooManyRequests && sent.Before(p.since): // sent together with one that counted
		pause = time.Until(p.resumes)
	case status == http.StatusTooManyRequests:
		pause = jitter(p.next)
		p.next, p.since = min(2*p.next, lastPause), time.Now()
	case status > 0:
		p.next = firstPause
	}
	if until := time.Now().Add(pause); pause > 0 && until.After(p.resumes) {
		p.resumes = until
	}
	return pause
}

// paced is the layer of the pace: each attempt waits for its turn.
func (c *Client) paced(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		if err := c.pace.wait(r.Context(), callOf(r).Op); err != nil {
			return nil, &failure{err: err, withheld: true}
		}
		sent := time.Now()
		resp, err := next.RoundTrip(r)
		if err == nil {
			c.pace.heed(sent, resp.StatusCode, 0)
			return resp, nil
		}
		failed := failureOf(err)
		failed.pause = c.pace.heed(sent, failed.status, failed.retryAfter)
		return nil, failed
	})
}

// shortBackoff is where the waiting before a repetition begins; it doubles with each.
const shortBackoff = 200 * time.Millisecond

func backoff(repeats int) time.Duration { return jitter(shortBackoff << repeats) }

// jitter takes off up to half, so that calls that failed together aren't retried together.
func jitter(d time.Duration) time.Duration { return wait.Jitter(d/2, 1) }

// sleep reports whether the time has passed before the context was done.
func sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retryAfter is the Retry-After of an answer, in seconds or with a date, up to maxPause; 0 without one.
func retryAfter(a Answer) time.Duration {
	if a.Status != http.StatusTooManyRequests && a.Status != http.StatusServiceUnavailable {
		return 0
	}
	value := a.Header.Get("Retry-After")
	date, err := http.ParseTime(value)
	if seconds, notANumber := strconv.ParseUint(value, 10, 32); notANumber == nil {
		date, err = time.Now().Add(time.Duration(seconds)*time.Second), nil
	}
	if err != nil {
		return 0
	}
	return min(max(time.Until(date), 0), maxPause)
}
