package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/callmetrics"
	"github.com/bedplate/bedplate/internal/fault"
)

const (
	// hesitation is how long an answer may take until other calls don't wait for it any more.
	hesitation = time.Second
	// slow is how long an answer may take until it counts as slow.
	slow = 5 * time.Second
	// trialIntervals is how long an endpoint has to be healthy until it is trusted again.
	trialIntervals = 10

	// Limits of concurrent calls to endpoints that aren't trusted: of one namespace, and of all. A tenant can name any
	// number of endpoints.
	maxOfTenant = 3
	maxOfAll    = 8
	// Limit of concurrent reads of one namespace, at any endpoints: an endpoint that is always a little slow is trusted, too.
	maxReads = 5
	// Limits of its concurrent writes, at any sites: a tenant's own endpoint may have any number of those. And of all its
	// calls: of ten workers two are left to others.
	maxWrites = 6
	maxHeld   = 8
	// A write takes as long as its site does. Limits of concurrent writes at one site: only one, if the site has let
	// another one wait.
	maxOfSite = 5
)

// Circuits keep calls from endpoints that don't answer, and the workers of others from being held by such calls. All clients
// of a process share one; a nil one lets every call through.
//
// An endpoint is silent when a call to it wasn't answered in time, or there was no connection, and no other call was answered
// since that one began: so a create that hangs at one site doesn't count where the API answers others. What is silent rests
// for a while, and calls fail at once. Then one read at a time is let through, until one is answered. A call that isn't let
// through has certainly not been sent.
//
// An endpoint is trusted if it has answered, and hasn't been silent or slow lately. Of the calls to others only a few are
// let through at once; the rest wait for a moment, and then fail.
type Circuits struct {
	// interval between two polls of the same object: a silent endpoint rests for at most half of it.
	interval time.Duration

	mu        sync.Mutex
	endpoints map[string]*circuit
	passes    map[*pass]struct{}
	// changed is closed, and replaced, when a call ends or is answered.
	changed chan struct{}
}

// circuit is what is known of an endpoint.
type circuit struct {
	// used is when the newest call started, answered when the newest answer came, offended when the endpoint was last silent
	// or slow.
	used, answered, offended time.Time
	// silent is when the first of those calls began that got no answer; zero if the endpoint isn't silent.
	silent time.Time
	cause  error
	// rests is until when no call is sent, and rest how long that was.
	rests time.Time
	rest  time.Duration
	// waited is when sites behind the endpoint last let a write wait.
	waited map[string]time.Time
}

// purpose describes a call.
type purpose struct {
	tenant string
	// site of a write; empty for a read.
	site string
	// holds: a worker waits for the answer.
	holds bool
}

// pass is a call that was let through.
type pass struct {
	purpose
	at    *circuit
	began time.Time
	// asked is when the newest request of a list began; of others it is when they began.
	asked time.Time
}

// visit is one pass for all pages of a list: a worker waits for all of them.
type visit struct{ pass *pass }

// NewCircuits returns the circuits of a program that polls each of its objects once per interval.
func NewCircuits(interval time.Duration) *Circuits {
	return &Circuits{
		interval: interval, endpoints: map[string]*circuit{}, passes: map[*pass]struct{}{}, changed: make(chan struct{}),
	}
}

// enter lets a call to an endpoint through, or returns a Transient error. A call that was let through has to leave. A call
// that blocks no worker isn't limited, only kept from a resting endpoint.
func (c *Circuits) enter(ctx context.Context, endpoint, op string, of purpose) (*pass, error) {
	if c == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hesitation)
	defer cancel()
	for {
		p, changed, err := c.admit(endpoint, of)
		if p != nil {
			return p, nil
		}
		if err == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				err = errCrowded
			}
		}
		callmetrics.Withheld(system)
		return nil, &fault.Error{Class: fault.Transient, Op: op, Err: err}
	}
}

var errCrowded = errors.New("not sent, because other calls are still waiting for an answer")

// admit lets a call through, or says why it may not, or returns what to wait for.
func (c *Circuits) admit(endpoint string, of purpose) (_ *pass, changed <-chan struct{}, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	at := c.at(endpoint, now)
	p := &pass{purpose: of, at: at, began: now, asked: now}
	// A change may take as long as its site does, even if the API answers again: so a read is used to probe it.
	if now.Before(at.rests) || of.site != "" && !at.silent.IsZero() {
		return nil, nil, at.silence(endpoint)
	}
	if crowd := c.crowd(p); of.holds && crowd.number > 0 {
		switch {
		case !at.silent.IsZero():
			return nil, nil, at.silence(endpoint)
		case now.Sub(crowd.since) >= hesitation:
			return nil, nil, errCrowded
		}
		return nil, c.changed, nil
	}
	at.used = now
	c.passes[p] = struct{}{}
	return p, nil, nil
}

// at is the circuit of an endpoint. Those that aren't used any more are forgotten. c.mu is held.
func (c *Circuits) at(endpoint string, now time.Time) *circuit {
	at, known := c.endpoints[endpoint]
	if !known {
		forgotten := 2 * max(c.trial(), DefaultTimeout)
		maps.DeleteFunc(c.endpoints, func(_ string, at *circuit) bool { return now.Sub(at.used) > forgotten })
		at = &circuit{used: now}
		c.endpoints[endpoint] = at
	}
	return at
}

func (c *Circuits) trial() time.Duration { return trialIntervals * c.interval }

// trusts reports whether any number of workers may call an endpoint. c.mu is held.
func (c *Circuits) trusts(at *circuit, now time.Time) bool {
	return !at.answered.IsZero() && at.silent.IsZero() && now.Sub(at.offended) > c.trial() && !c.hangs(at, now)
}

// hangs reports whether a read has been waiting for too long, and no answer is newer than it: how long a write takes depends on
// its site. c.mu is held.
func (c *Circuits) hangs(at *circuit, now time.Time) bool {
	for p := range c.passes {
		if p.at == at && p.holds && p.site == "" && !p.asked.Before(at.answered) && now.Sub(p.asked) >= hesitation {
			return true
		}
	}
	return false
}

// heard records an answer to a request that was sent at the given time. How long a write takes depends on its site.
func (c *Circuits) heard(endpoint string, sent time.Time, read bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	at := c.at(endpoint, now)
	at.answered, at.silent, at.rests, at.rest = now, time.Time{}, time.Time{}, 0
	if read && now.Sub(sent) > slow {
		at.offended = now
	}
	c.wake()
}

// goOn notes that the next request of a list begins.
func (c *Circuits) goOn(p *pass) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.asked = time.Now()
}

// leave ends a call, with its outcome.
func (c *Circuits) leave(p *pass, outcome error) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.passes, p)
	c.wake()
	now := time.Now()
	took := now.Sub(p.asked)
	p.at.note(p.site, took, now)
	unanswered := outcome != nil && !isNotAllowed(outcome) && !p.at.answered.After(p.asked) && (took > slow || unconnected(outcome))
	if !unanswered || p.asked.Before(p.at.offended) { // several that fail together count once
		return
	}
	at := p.at
	at.offended, at.cause = now, causeOf(outcome)
	if at.silent.IsZero() {
		at.silent = p.asked
	}
	at.rest = min(max(2*at.rest, took, hesitation), c.interval/2)
	at.rests = now.Add(at.rest)
}

// note how long a write at a site took. Sites are forgotten with their endpoint.
func (a *circuit) note(site string, took time.Duration, now time.Time) {
	switch {
	case site == "":
	case took > slow:
		if a.waited == nil {
			a.waited = map[string]time.Time{}
		}
		a.waited[site] = now
	case took < hesitation:
		delete(a.waited, site)
	}
}

// wake lets waiting calls check again. c.mu is held.
func (c *Circuits) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// silence is the error of a call that isn't let through to a silent endpoint. It is in a condition of each object there,
// so it doesn't change while nothing else does.
func (a *circuit) silence(endpoint string) error {
	since := a.silent.UTC().Format(time.TimeOnly + " MST")
	return fmt.Errorf("not sent, because %s hasn't answered since %s, and is asked by one at a time (%w)", endpoint, since, a.cause)
}

// state is the error of an endpoint that is silent, or lets others wait; nil if it isn't.
func (c *Circuits) state(endpoint string) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch at, known := c.endpoints[endpoint]; {
	case !known:
		return nil
	case !at.silent.IsZero():
		return at.silence(endpoint)
	case c.hangs(at, time.Now()):
		return errCrowded
	}
	return nil
}

// unconnected reports whether there was no connection to send a request on.
func unconnected(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return ok && network.Op == "dial"
}

// namespaceOf a Secret, by its namespace/name.
func namespaceOf(secret string) string {
	namespace, _, _ := strings.Cut(secret, "/")
	return namespace
}

// causeOf an error, without the operation: it is reported to other operations, too.
func causeOf(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Err != nil {
		return f.Err
	}
	return err
}
