// Package circuit keeps calls from endpoints that don't answer, and the workers of others from being held by such calls.
package circuit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/callmetrics"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
)

const (
	// hesitation is how long an answer may take until other calls don't wait for it any more.
	hesitation = time.Second
	// slow is how long an answer may take until it counts as slow.
	slow = 5 * time.Second
	// trialIntervals is how long an endpoint has to be healthy until it is trusted again.
	trialIntervals = 10
	// keepFor is how long an endpoint is known that isn't called, at least.
	keepFor = 150 * time.Second

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

// Circuits of all endpoints that a process calls. All its clients share one; a nil one lets every call through.
//
// An endpoint is silent when a call to it wasn't answered in time, or there was no connection, and no other call was answered
// since that one began: so a create that hangs at one site doesn't count where the API answers others. What is silent rests
// for a while, and calls fail at once. Then one read at a time is let through, until one is answered. A call that isn't let
// through has certainly not been sent.
//
// An endpoint is trusted if it has answered, and hasn't been silent or slow lately. Of the calls to others only a few are
// let through at once; the rest wait for a moment, and then fail.
type Circuits struct {
	// Rest is how long a silent endpoint rests at most, and FirstRest at least.
	Rest, FirstRest time.Duration
	// interval between two polls of the same object.
	interval time.Duration

	mu        sync.Mutex
	endpoints map[string]*circuit
	passes    map[*Pass]struct{}
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

// Call describes a call.
type Call struct {
	// System is the service's short name, for metrics.
	System string
	// Endpoint names the server in messages. All that is known of it is known of this name.
	Endpoint string
	// Op is what is being done, such as "create VPC".
	Op string
	// Tenant whose workers the call may hold.
	Tenant string
	// Change means that a worker waits until something is changed, at a Site behind the endpoint; without sites it is the tenant's
	// own matter. That takes as long as the site does. What isn't a change is a read, or holds no worker.
	Change bool
	Site   string
	// Unattended means that no worker waits for the answer.
	Unattended bool
}

// place is whose slowness a change shows.
func (c Call) place() string {
	if c.Site == "" {
		return "of " + c.Tenant
	}
	return c.Site
}

// Pass is a call that was let through.
type Pass struct {
	Call
	at    *circuit
	began time.Time
	// asked is when the newest request of a list began; of others it is when they began.
	asked time.Time
}

// New returns the circuits of a program that polls each of its objects once per interval. A silent endpoint rests for at most half of it.
func New(interval time.Duration) *Circuits {
	return &Circuits{
		Rest: interval / 2, interval: interval, endpoints: map[string]*circuit{}, passes: map[*Pass]struct{}{}, changed: make(chan struct{}),
	}
}

// Enter lets a call through, or returns a Transient error. A call that was let through has to leave. A call that blocks no
// worker isn't limited, only kept from a resting endpoint.
func (c *Circuits) Enter(ctx context.Context, call Call) (*Pass, error) {
	if c == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hesitation)
	defer cancel()
	for {
		p, changed, err := c.admit(call)
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
		callmetrics.Withheld(call.System)
		return nil, &fault.Error{Class: fault.Transient, Op: call.Op, Err: err}
	}
}

var errCrowded = errors.New("not sent: other calls to this endpoint are still waiting for an answer")

// admit lets a call through, or says why it may not, or returns what to wait for.
func (c *Circuits) admit(call Call) (_ *Pass, changed <-chan struct{}, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	at := c.at(call.Endpoint, now)
	p := &Pass{Call: call, at: at, began: now, asked: now}
	// A change may take as long as its site does, even if the API answers again: so a read is used to probe it.
	if now.Before(at.rests) || call.Change && !at.silent.IsZero() {
		return nil, nil, at.silence(call.Endpoint)
	}
	if crowd := c.crowd(p); !call.Unattended && crowd.number > 0 {
		switch {
		case !at.silent.IsZero():
			return nil, nil, at.silence(call.Endpoint)
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
		forgotten := max(2*c.trial(), keepFor)
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
		if p.at == at && !p.Unattended && !p.Change && !p.asked.Before(at.answered) && now.Sub(p.asked) >= hesitation {
			return true
		}
	}
	return false
}

// Heard records an answer to a request that was sent at the given time. How long a write takes depends on its site.
func (c *Circuits) Heard(endpoint string, sent time.Time, read bool) {
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

// Resume notes that the next request of a list begins.
func (c *Circuits) Resume(p *Pass) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.asked = time.Now()
}

// Leave ends a call, with its outcome.
func (c *Circuits) Leave(p *Pass, outcome error) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.passes, p)
	c.wake()
	now := time.Now()
	took := now.Sub(p.asked)
	if p.Change {
		p.at.note(p.place(), took, now)
	}
	unanswered := outcome != nil && !notAllowed(outcome) && !p.at.answered.After(p.asked) && (took > slow || unconnected(outcome))
	if !unanswered || p.asked.Before(p.at.offended) { // several that fail together count once
		return
	}
	at := p.at
	at.offended, at.cause = now, causeOf(outcome)
	if at.silent.IsZero() {
		at.silent = p.asked
	}
	at.rest = min(max(2*at.rest, took, hesitation, c.FirstRest), c.Rest)
	at.rests = now.Add(at.rest)
}

// note how long a write at a site took. Sites are forgotten with their endpoint.
func (a *circuit) note(place string, took time.Duration, now time.Time) {
	switch {
	case took > slow:
		if a.waited == nil {
			a.waited = map[string]time.Time{}
		}
		a.waited[place] = now
	case took < hesitation:
		delete(a.waited, place)
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
	return fmt.Errorf("not sent: %s hasn't answered since %s, and until it does, only one call at a time is sent to it (%w)", endpoint, since, a.cause)
}

// State is the error of an endpoint that is silent, or lets others wait; nil if it isn't.
func (c *Circuits) State(endpoint string) error {
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

// ErrUnreached is the answer of a gateway that has reached no server.
var ErrUnreached = errors.New("answered by a gateway, which has reached no server")

// unconnected reports whether there was no connection to send a request on.
func unconnected(err error) bool {
	if errors.Is(err, ErrUnreached) {
		return true
	}
	network, ok := errors.AsType[*net.OpError](err)
	return ok && network.Op == "dial"
}

// notAllowed reports whether a request wasn't sent because of its destination.
func notAllowed(err error) bool {
	_, refused := errors.AsType[*egress.Refused](err)
	return refused
}

// causeOf an error, without the operation: it is reported to other operations, too.
func causeOf(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Err != nil {
		return f.Err
	}
	return err
}
