package graph

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Service is one outside API, with an endpoint, limits and outages of its own: one that refuses credentials or doesn't answer stops
// the nodes of its kinds, and no others. What is zero is as the Engine has it.
type Service struct {
	// Endpoint is where it is: creates at the same one are limited together, whatever their credentials. By default it is the
	// credentials.
	Endpoint string
	// Creates is how many are at work at the endpoint at once, at most.
	Creates int
	// Poll, CreateTimeout and Settle are as in Engine. Settle is at least twice CreateTimeout.
	Poll, CreateTimeout, Settle time.Duration
}

// inside is where gates look: Kubernetes. Several stands for all services that something was looked for at.
var inside, several = &Service{}, &Service{}

// service with what it doesn't say itself.
func (e *Engine) service(s *Service) Service {
	var all Service
	if s != nil {
		all = *s
	}
	all.Poll, all.CreateTimeout = cmp.Or(all.Poll, e.Poll), cmp.Or(all.CreateTimeout, e.CreateTimeout)
	all.Settle = max(cmp.Or(all.Settle, e.Settle), 2*all.CreateTimeout)
	return all
}

// slowly is how often something is looked at that won't change by itself soon.
func (s Service) slowly() time.Duration { return 10 * s.Poll }

// ask a service, unless it has let a call wait in vain in this reconcile: then the error is that one's.
func (g *Graph) ask(s *Service, call func() error) error {
	if err := g.stopped[s]; err != nil {
		return err
	}
	err := call()
	if errors.Is(err, context.DeadlineExceeded) {
		if g.stopped == nil {
			g.stopped = map[*Service]error{}
		}
		g.stopped[s] = err
	}
	return err
}
